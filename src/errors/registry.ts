import type { ErrorCode, ErrorDefinition, RetryClass } from './codes.js'
import { templates } from './messages.js'

/** Every code with its definition. */
export type Registry = { readonly [C in ErrorCode]: ErrorDefinition<C> }

/**
 * The reaction of a controller to each code: the reason of its condition, and when it retries.
 */
const reactions: { readonly [C in ErrorCode]: readonly [conditionReason: string, retry: RetryClass] } = {
  MALFORMED_ADDRESS: ['InvalidAddress', 'never'],
  MALFORMED_PREFIX: ['InvalidPrefix', 'never'],
  MALFORMED_RANGE: ['InvalidRange', 'never'],
  MALFORMED_RANGE_SET_ENTRY: ['InvalidRange', 'never'],
  MALFORMED_REVERSE_NAME: ['InvalidReverseName', 'never'],
  MALFORMED_URL_HOST: ['InvalidHost', 'never'],
  MALFORMED_BYTES: ['InvalidBytes', 'never'],
  INVALID_PREFIX_LENGTH: ['InvalidPrefix', 'never'],
  INVALID_RANGE: ['InvalidRange', 'never'],
  INVALID_ARGUMENT: ['InvalidArgument', 'never'],
  FAMILY_MISMATCH: ['FamilyMismatch', 'never'],
  ADDRESS_OUT_OF_RANGE: ['AddressOutOfRange', 'never'],
  INDEX_OUT_OF_RANGE: ['IndexOutOfRange', 'never'],
  INVALID_OBJECT: ['InvalidObject', 'never'],
  OBJECT_KIND_MISMATCH: ['InvalidObject', 'never'],
  INVALID_POOL_SPEC: ['PoolNotReady', 'on-pool-change'],
  STORE_NOT_FOUND: ['NotFound', 'now'],
  STORE_ALREADY_EXISTS: ['AlreadyExists', 'now'],
  STORE_CONFLICT: ['Conflict', 'now'],
  STORE_INVALID: ['InvalidObject', 'never'],
  STORE_OBJECT_TOO_LARGE: ['ObjectTooLarge', 'never'],
  STORE_VERSION_GONE: ['Expired', 'now'],
  STORE_IO: ['StoreUnavailable', 'after'],
  STORE_OUTCOME_UNKNOWN: ['StoreUnavailable', 'now'],
  STORE_WRITE_WITHHELD: ['WriteWithheld', 'after'],
  RUN_LIMIT_EXCEEDED: ['RunLimitExceeded', 'after'],
  CLAIM_NAME_CONFLICT: ['InvalidObject', 'never'],
  INVALID_CLAIM_NAME: ['InvalidObject', 'never'],
  INVARIANT_BROKEN: ['InternalError', 'never'],
  INVALID_CONVERSION: ['InvalidObject', 'never'],
  INVALID_OBJECT_NAME: ['InvalidObject', 'never'],
  MALFORMED_EMBEDDED_JSON: ['InvalidJSON', 'never'],
  MALFORMED_NETWORK_SELECTION: ['InvalidNetworkSelection', 'never'],
  INVALID_ROW_ADDRESS: ['AddressOutOfRange', 'never'],
  INVALID_IPAM_CONFIG: ['InvalidConfiguration', 'never'],
  MALFORMED_JSON: ['InvalidConfiguration', 'never'],
  INVALID_CNI_ENVIRONMENT: ['InvalidEnvironment', 'never'],
  INVALID_CNI_CONFIG: ['InvalidConfiguration', 'never'],
  CNI_VERSION_MISMATCH: ['UnsupportedVersion', 'never'],
  CNI_INPUT_LIMIT_EXCEEDED: ['InputLimitExceeded', 'after'],
  CNI_RESULT_MISMATCH: ['UnsupportedVersion', 'never'],
  INVALID_SLICE_SIZE: ['InvalidSliceSize', 'never'],
  INVALID_NETWORK: ['InvalidNetwork', 'never'],
}

/** All codes, in the order of the registry. */
export const codes: readonly ErrorCode[] = /* @__PURE__ */ Object.freeze(
  /* @__PURE__ */ Object.keys(templates),
) as readonly ErrorCode[]

/**
 * Every code with its message, its retry class and the reason of its condition.
 * docs/reference/errors.md is made from it.
 */
export const registry: Registry = /* @__PURE__ */ Object.fromEntries(
  /* @__PURE__ */ codes.map((code) => {
    const [conditionReason, retry] = reactions[code]
    return [code, { template: templates[code], retry, conditionReason }]
  }),
) as unknown as Registry

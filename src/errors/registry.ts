import type { ErrorCode, ErrorDefinition } from './codes.js'
import { cause, list, plain, quote } from './quote.js'

/** Every code with its definition. */
export type Registry = { readonly [C in ErrorCode]: ErrorDefinition<C> }

/** Every code with its message, its retry class and the reason a condition gives. docs/reference/errors.md is made from it. */
export const registry: Registry = {
  MALFORMED_ADDRESS: {
    template: (c) =>
      `not an IP address: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c.suggestion)}`,
    retry: 'never',
    conditionReason: 'InvalidAddress',
  },
  MALFORMED_PREFIX: {
    template: (c) => `not a CIDR: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c.suggestion)}`,
    retry: 'never',
    conditionReason: 'InvalidPrefix',
  },
  MALFORMED_RANGE: {
    template: (c) => `not an address range: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
    retry: 'never',
    conditionReason: 'InvalidRange',
  },
  MALFORMED_RANGE_SET_ENTRY: {
    template: (c) =>
      `entry ${c.index} is not an address, range or CIDR: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
    retry: 'never',
    conditionReason: 'InvalidRange',
  },
  MALFORMED_REVERSE_NAME: {
    template: (c) => `not a reverse name: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
    retry: 'never',
    conditionReason: 'InvalidReverseName',
  },
  MALFORMED_URL_HOST: {
    template: (c) => `no IP address as host: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
    retry: 'never',
    conditionReason: 'InvalidHost',
  },
  MALFORMED_BYTES: {
    template: (c) => `not the bytes of ${plain(c.what)}: ${plain(c.problem)} (at position ${c.position})`,
    retry: 'never',
    conditionReason: 'InvalidBytes',
  },
  INVALID_PREFIX_LENGTH: {
    template: (c) => `prefix length ${c.length} is not a whole number from ${c.min ?? 0} to ${c.max}`,
    retry: 'never',
    conditionReason: 'InvalidPrefix',
  },
  INVALID_RANGE: {
    template: (c) => `range ends before it begins: ${c.first}-${c.last}`,
    retry: 'never',
    conditionReason: 'InvalidRange',
  },
  INVALID_ARGUMENT: {
    template: (c) => `argument ${plain(c.argument)}: expected ${plain(c.expected)}, got ${quote(c.got)}`,
    retry: 'never',
    conditionReason: 'InvalidArgument',
  },
  FAMILY_MISMATCH: {
    template: (c) => `IPv4 and IPv6 do not mix: ${quote(c.left)} and ${quote(c.right)}`,
    retry: 'never',
    conditionReason: 'FamilyMismatch',
  },
  ADDRESS_OUT_OF_RANGE: {
    template: (c) => `${c.address} plus ${plain(c.offset, 50)} leaves the address space`,
    retry: 'never',
    conditionReason: 'AddressOutOfRange',
  },
  INDEX_OUT_OF_RANGE: {
    template: (c) => `index ${plain(c.index, 50)} is outside 0 to size - 1 of a set of ${c.size}`,
    retry: 'never',
    conditionReason: 'IndexOutOfRange',
  },
  INVALID_OBJECT: {
    template: (c) =>
      `${plain(c.kind)} ${quote(c.name)} is invalid: ${list(c.issues.map((issue) => `${issue.path}: ${issue.message}`))}`,
    retry: 'never',
    conditionReason: 'InvalidObject',
  },
  OBJECT_KIND_MISMATCH: {
    template: (c) => `expected ${plain(c.expected)}, got ${quote(c.got)}`,
    retry: 'never',
    conditionReason: 'InvalidObject',
  },
  INVALID_POOL_SPEC: {
    template: (c) => `pool spec is invalid: ${list(c.problems)}`,
    retry: 'on-pool-change',
    conditionReason: 'PoolNotReady',
  },
  STORE_NOT_FOUND: {
    template: (c) => `${plain(c.object)} not found`,
    retry: 'now',
    conditionReason: 'NotFound',
  },
  STORE_ALREADY_EXISTS: {
    template: (c) => `${plain(c.object)} already exists`,
    retry: 'now',
    conditionReason: 'AlreadyExists',
  },
  STORE_CONFLICT: {
    template: (c) => `${plain(c.object)} has changed: expected ${plain(c.expected)}, found ${cause(c.actual)}`,
    retry: 'now',
    conditionReason: 'Conflict',
  },
  STORE_INVALID: {
    template: (c) => `${plain(c.object)} refused: ${plain(c.path)}: ${cause(c.problem)}`,
    retry: 'never',
    conditionReason: 'InvalidObject',
  },
  STORE_OBJECT_TOO_LARGE: {
    template: (c) => `${plain(c.object)} is too large: ${c.sizeBytes} bytes, at most ${c.maxBytes} are stored`,
    retry: 'never',
    conditionReason: 'ObjectTooLarge',
  },
  STORE_VERSION_GONE: {
    template: (c) => `resource version ${quote(c.resourceVersion)} is gone, the oldest kept is ${c.oldest}: list again`,
    retry: 'now',
    conditionReason: 'Expired',
  },
  STORE_IO: {
    template: (c) => `${plain(c.operation)} failed: ${cause(c.problem)}`,
    retry: 'after',
    conditionReason: 'StoreUnavailable',
  },
  STORE_OUTCOME_UNKNOWN: {
    template: (c) => `${plain(c.operation)} of ${plain(c.object)} may or may not have been done: ${cause(c.problem)}`,
    retry: 'now',
    conditionReason: 'StoreUnavailable',
  },
  STORE_WRITE_WITHHELD: {
    template: (c) =>
      `${plain(c.operation)} of ${plain(c.object)} was not sent: this controller is no longer allowed to write`,
    retry: 'after',
    conditionReason: 'WriteWithheld',
  },
  RUN_LIMIT_EXCEEDED: {
    template: (c) => `not at rest after ${c.max} ${c.limit}, still busy: ${list(c.stillBusy.slice(0, 5))}`,
    retry: 'after',
    conditionReason: 'RunLimitExceeded',
  },
  CLAIM_NAME_CONFLICT: {
    template: (c) => `two claims named ${quote(c.name)}: ${plain(c.first)} and ${plain(c.second)}`,
    retry: 'never',
    conditionReason: 'InvalidObject',
  },
  INVALID_CLAIM_NAME: {
    template: (c) => `not a claim name: ${quote(c.name)}: ${plain(c.problem)}`,
    retry: 'never',
    conditionReason: 'InvalidObject',
  },
  INVARIANT_BROKEN: {
    template: (c) => `broken invariant, please report: ${c.what}`,
    retry: 'never',
    conditionReason: 'InternalError',
  },
  INVALID_CONVERSION: {
    template: (c) => `${plain(c.object)} has no form in ${plain(c.to)}: ${plain(c.path)}: ${plain(c.problem)}`,
    retry: 'never',
    conditionReason: 'InvalidObject',
  },
}

/** All codes, in the order of the registry. */
export const codes: readonly ErrorCode[] = /* @__PURE__ */ Object.freeze(
  /* @__PURE__ */ Object.keys(registry),
) as readonly ErrorCode[]

/** What to write instead, as the end of a sentence. */
function instead(suggestion: string | undefined): string {
  return suggestion === undefined ? '' : `: write ${quote(suggestion)}`
}

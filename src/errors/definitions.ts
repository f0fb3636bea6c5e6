import type { ErrorDefinition, MalformedText } from './codes.js'
import { hintOf } from './hints.js'
import { cause, list, plain, quote } from './quote.js'

// One constant for each code, so that a bundle has only the definitions of the failures that its
// functions make.

export const MALFORMED_ADDRESS: ErrorDefinition<'MALFORMED_ADDRESS'> = {
  code: 'MALFORMED_ADDRESS',
  template: (c) =>
    `${given(c)}not an IP address: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c, eitherForm)}`,
  retry: 'never',
  conditionReason: 'InvalidAddress',
}

export const MALFORMED_PREFIX: ErrorDefinition<'MALFORMED_PREFIX'> = {
  code: 'MALFORMED_PREFIX',
  template: (c) => `not a CIDR: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c, cidr)}`,
  retry: 'never',
  conditionReason: 'InvalidPrefix',
}

export const MALFORMED_RANGE: ErrorDefinition<'MALFORMED_RANGE'> = {
  code: 'MALFORMED_RANGE',
  template: (c) => `not an address range: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c)}`,
  retry: 'never',
  conditionReason: 'InvalidRange',
}

export const MALFORMED_RANGE_SET_ENTRY: ErrorDefinition<'MALFORMED_RANGE_SET_ENTRY'> = {
  code: 'MALFORMED_RANGE_SET_ENTRY',
  template: (c) => {
    const { index, others = [], more } = c
    const first = `${given(c)}${index === undefined ? '' : `entry ${index} is `}not an address, range or CIDR: ${entry(c)}`
    const all = [first, ...others.map((other) => `entry ${other.index}: ${entry(other)}`)]
    return `${all.join('; ')}${more === undefined ? '' : `; and ${more} more`}`
  },
  retry: 'never',
  conditionReason: 'InvalidRange',
}

export const MALFORMED_REVERSE_NAME: ErrorDefinition<'MALFORMED_REVERSE_NAME'> = {
  code: 'MALFORMED_REVERSE_NAME',
  template: (c) => `not a reverse name: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
  retry: 'never',
  conditionReason: 'InvalidReverseName',
}

export const MALFORMED_URL_HOST: ErrorDefinition<'MALFORMED_URL_HOST'> = {
  code: 'MALFORMED_URL_HOST',
  template: (c) => `no IP address as host: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
  retry: 'never',
  conditionReason: 'InvalidHost',
}

export const MALFORMED_BYTES: ErrorDefinition<'MALFORMED_BYTES'> = {
  code: 'MALFORMED_BYTES',
  template: (c) => `not the bytes of ${plain(c.what)}: ${plain(c.problem)} (at position ${c.position})`,
  retry: 'never',
  conditionReason: 'InvalidBytes',
}

export const INVALID_PREFIX_LENGTH: ErrorDefinition<'INVALID_PREFIX_LENGTH'> = {
  code: 'INVALID_PREFIX_LENGTH',
  template: (c) => `prefix length ${c.length} is not a whole number from ${c.min ?? 0} to ${c.max}`,
  retry: 'never',
  conditionReason: 'InvalidPrefix',
}

export const INVALID_RANGE: ErrorDefinition<'INVALID_RANGE'> = {
  code: 'INVALID_RANGE',
  template: (c) => `range ends before it begins: ${c.first}-${c.last}`,
  retry: 'never',
  conditionReason: 'InvalidRange',
}

export const INVALID_ARGUMENT: ErrorDefinition<'INVALID_ARGUMENT'> = {
  code: 'INVALID_ARGUMENT',
  template: (c) =>
    c.function === undefined
      ? `argument ${plain(c.argument)}: expected ${plain(c.expected)}, got ${quote(c.got)}`
      : `${plain(c.function)}: argument ${plain(c.argument)}: expected ${plain(c.expected)}, got ${plain(c.got, 100)}${first(c.call)}`,
  retry: 'never',
  conditionReason: 'InvalidArgument',
}

export const FAMILY_MISMATCH: ErrorDefinition<'FAMILY_MISMATCH'> = {
  code: 'FAMILY_MISMATCH',
  template: (c) => `IPv4 and IPv6 do not mix: ${quote(c.left)} and ${quote(c.right)}`,
  retry: 'never',
  conditionReason: 'FamilyMismatch',
}

export const ADDRESS_OUT_OF_RANGE: ErrorDefinition<'ADDRESS_OUT_OF_RANGE'> = {
  code: 'ADDRESS_OUT_OF_RANGE',
  template: (c) => `${c.address} plus ${plain(c.offset, 50)} leaves the address space`,
  retry: 'never',
  conditionReason: 'AddressOutOfRange',
}

export const INDEX_OUT_OF_RANGE: ErrorDefinition<'INDEX_OUT_OF_RANGE'> = {
  code: 'INDEX_OUT_OF_RANGE',
  template: (c) => `index ${plain(c.index, 50)} is not from 0 to size - 1, where the size is ${c.size}`,
  retry: 'never',
  conditionReason: 'IndexOutOfRange',
}

export const INVALID_OBJECT: ErrorDefinition<'INVALID_OBJECT'> = {
  code: 'INVALID_OBJECT',
  template: (c) =>
    `${plain(c.kind)} ${quote(c.name)} is invalid: ${list(c.issues.map((issue) => `${issue.path}: ${issue.message}`))}`,
  retry: 'never',
  conditionReason: 'InvalidObject',
}

export const OBJECT_KIND_MISMATCH: ErrorDefinition<'OBJECT_KIND_MISMATCH'> = {
  code: 'OBJECT_KIND_MISMATCH',
  template: (c) => `expected ${plain(c.expected)}, got ${quote(c.got)}`,
  retry: 'never',
  conditionReason: 'InvalidObject',
}

export const INVALID_POOL_SPEC: ErrorDefinition<'INVALID_POOL_SPEC'> = {
  code: 'INVALID_POOL_SPEC',
  template: (c) => `pool spec is invalid: ${list(c.problems)}`,
  retry: 'on-pool-change',
  conditionReason: 'PoolNotReady',
}

export const STORE_NOT_FOUND: ErrorDefinition<'STORE_NOT_FOUND'> = {
  code: 'STORE_NOT_FOUND',
  template: (c) => `${plain(c.object)} not found`,
  retry: 'now',
  conditionReason: 'NotFound',
}

export const STORE_ALREADY_EXISTS: ErrorDefinition<'STORE_ALREADY_EXISTS'> = {
  code: 'STORE_ALREADY_EXISTS',
  template: (c) => `${plain(c.object)} already exists`,
  retry: 'now',
  conditionReason: 'AlreadyExists',
}

export const STORE_CONFLICT: ErrorDefinition<'STORE_CONFLICT'> = {
  code: 'STORE_CONFLICT',
  template: (c) => `${plain(c.object)} has changed: expected ${plain(c.expected)}, found ${cause(c.actual)}`,
  retry: 'now',
  conditionReason: 'Conflict',
}

export const STORE_INVALID: ErrorDefinition<'STORE_INVALID'> = {
  code: 'STORE_INVALID',
  template: (c) => `${plain(c.object)} refused: ${plain(c.path)}: ${cause(c.problem)}`,
  retry: 'never',
  conditionReason: 'InvalidObject',
}

export const STORE_OBJECT_TOO_LARGE: ErrorDefinition<'STORE_OBJECT_TOO_LARGE'> = {
  code: 'STORE_OBJECT_TOO_LARGE',
  template: (c) => `${plain(c.object)} is too large: ${c.sizeBytes} bytes, at most ${c.maxBytes} are stored`,
  retry: 'never',
  conditionReason: 'ObjectTooLarge',
}

export const STORE_VERSION_GONE: ErrorDefinition<'STORE_VERSION_GONE'> = {
  code: 'STORE_VERSION_GONE',
  template: (c) => `resource version ${quote(c.resourceVersion)} is gone, the oldest kept is ${c.oldest}: list again`,
  retry: 'now',
  conditionReason: 'Expired',
}

export const STORE_IO: ErrorDefinition<'STORE_IO'> = {
  code: 'STORE_IO',
  template: (c) => `${plain(c.operation)} failed: ${cause(c.problem)}`,
  retry: 'after',
  conditionReason: 'StoreUnavailable',
}

export const STORE_OUTCOME_UNKNOWN: ErrorDefinition<'STORE_OUTCOME_UNKNOWN'> = {
  code: 'STORE_OUTCOME_UNKNOWN',
  template: (c) => `${plain(c.operation)} of ${plain(c.object)} may or may not have been done: ${cause(c.problem)}`,
  retry: 'now',
  conditionReason: 'StoreUnavailable',
}

export const STORE_WRITE_WITHHELD: ErrorDefinition<'STORE_WRITE_WITHHELD'> = {
  code: 'STORE_WRITE_WITHHELD',
  template: (c) =>
    `${plain(c.operation)} of ${plain(c.object)} was not sent: this controller is no longer allowed to write`,
  retry: 'after',
  conditionReason: 'WriteWithheld',
}

export const RUN_LIMIT_EXCEEDED: ErrorDefinition<'RUN_LIMIT_EXCEEDED'> = {
  code: 'RUN_LIMIT_EXCEEDED',
  template: (c) => `not at rest after ${c.max} ${c.limit}, still busy: ${list(c.stillBusy.slice(0, 5))}`,
  retry: 'after',
  conditionReason: 'RunLimitExceeded',
}

export const CLAIM_NAME_CONFLICT: ErrorDefinition<'CLAIM_NAME_CONFLICT'> = {
  code: 'CLAIM_NAME_CONFLICT',
  template: (c) => `two claims named ${quote(c.name)}: ${plain(c.first)} and ${plain(c.second)}`,
  retry: 'never',
  conditionReason: 'InvalidObject',
}

export const INVALID_CLAIM_NAME: ErrorDefinition<'INVALID_CLAIM_NAME'> = {
  code: 'INVALID_CLAIM_NAME',
  template: (c) => `not a claim name: ${quote(c.name)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'InvalidObject',
}

export const INVARIANT_BROKEN: ErrorDefinition<'INVARIANT_BROKEN'> = {
  code: 'INVARIANT_BROKEN',
  template: (c) => `broken invariant, please report: ${c.what}`,
  retry: 'never',
  conditionReason: 'InternalError',
}

export const INVALID_CONVERSION: ErrorDefinition<'INVALID_CONVERSION'> = {
  code: 'INVALID_CONVERSION',
  template: (c) => `${plain(c.object)} has no form in ${plain(c.to)}: ${plain(c.path)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'InvalidObject',
}

export const INVALID_OBJECT_NAME: ErrorDefinition<'INVALID_OBJECT_NAME'> = {
  code: 'INVALID_OBJECT_NAME',
  template: (c) => `not a name of ${plain(c.kind)}: ${quote(c.name)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'InvalidObject',
}

export const MALFORMED_EMBEDDED_JSON: ErrorDefinition<'MALFORMED_EMBEDDED_JSON'> = {
  code: 'MALFORMED_EMBEDDED_JSON',
  template: (c) => `${plain(c.what)} is not JSON: ${quote(c.text)}`,
  retry: 'never',
  conditionReason: 'InvalidJSON',
}

export const MALFORMED_NETWORK_SELECTION: ErrorDefinition<'MALFORMED_NETWORK_SELECTION'> = {
  code: 'MALFORMED_NETWORK_SELECTION',
  template: (c) => `not a list of networks: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
  retry: 'never',
  conditionReason: 'InvalidNetworkSelection',
}

export const INVALID_ROW_ADDRESS: ErrorDefinition<'INVALID_ROW_ADDRESS'> = {
  code: 'INVALID_ROW_ADDRESS',
  template: (c) => `${plain(c.address)} has no row in a pool of ${plain(c.range)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'AddressOutOfRange',
}

export const INVALID_IPAM_CONFIG: ErrorDefinition<'INVALID_IPAM_CONFIG'> = {
  code: 'INVALID_IPAM_CONFIG',
  template: (c) =>
    c.text === undefined
      ? `IPAM configuration is invalid: ${list(c.issues.map((issue) => `${issue.path}: ${issue.message}`))}`
      : plain(c.text, 2000),
  retry: 'never',
  conditionReason: 'InvalidConfiguration',
}

export const MALFORMED_JSON: ErrorDefinition<'MALFORMED_JSON'> = {
  code: 'MALFORMED_JSON',
  template: (c) => `${plain(c.what)} is not valid JSON: ${plain(c.problem)} (at position ${c.position})`,
  retry: 'never',
  conditionReason: 'InvalidConfiguration',
}

export const INVALID_CNI_ENVIRONMENT: ErrorDefinition<'INVALID_CNI_ENVIRONMENT'> = {
  code: 'INVALID_CNI_ENVIRONMENT',
  template: (c) => `${list(c.variables)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'InvalidEnvironment',
}

export const INVALID_CNI_CONFIG: ErrorDefinition<'INVALID_CNI_CONFIG'> = {
  code: 'INVALID_CNI_CONFIG',
  template: (c) => `network configuration is invalid: ${plain(c.path)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'InvalidConfiguration',
}

export const CNI_VERSION_MISMATCH: ErrorDefinition<'CNI_VERSION_MISMATCH'> = {
  code: 'CNI_VERSION_MISMATCH',
  template: (c) => `cniVersion ${quote(c.version)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'UnsupportedVersion',
}

export const CNI_INPUT_LIMIT_EXCEEDED: ErrorDefinition<'CNI_INPUT_LIMIT_EXCEEDED'> = {
  code: 'CNI_INPUT_LIMIT_EXCEEDED',
  template: (c) =>
    c.limit === 'bytes'
      ? `the network configuration on stdin is longer than ${c.max} bytes`
      : `stdin was not closed within ${c.max} ms`,
  retry: 'after',
  conditionReason: 'InputLimitExceeded',
}

export const CNI_RESULT_MISMATCH: ErrorDefinition<'CNI_RESULT_MISMATCH'> = {
  code: 'CNI_RESULT_MISMATCH',
  template: (c) => `CNI ${plain(c.version)} cannot express the result: ${plain(c.path)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'UnsupportedVersion',
}

export const INVALID_SLICE_SIZE: ErrorDefinition<'INVALID_SLICE_SIZE'> = {
  code: 'INVALID_SLICE_SIZE',
  template: (c) => `no slices of size ${quote(c.sliceSize)} in ${plain(c.range)}: ${plain(c.problem)}`,
  retry: 'never',
  conditionReason: 'InvalidSliceSize',
}

export const INVALID_NETWORK: ErrorDefinition<'INVALID_NETWORK'> = {
  code: 'INVALID_NETWORK',
  template: (c) => `network ${plain(c.network)}: ${plain(c.problem, 1000)}`,
  retry: 'never',
  conditionReason: 'InvalidNetwork',
}

/** The call that makes the expected value, as the end of a message. */
function first(call: string | undefined): string {
  return call === undefined ? '' : `: call ${plain(call)} first`
}

/** The argument that a text was given for, as the beginning of a message. */
function given(c: { readonly function?: string; readonly argument?: string }): string {
  return c.argument === undefined ? '' : `${plain(c.function ?? '')}: argument ${plain(c.argument)}: `
}

/** What is wrong with an entry of a list. */
function entry(c: MalformedText & { readonly suggestion?: string }): string {
  return `${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c, cidr)}`
}

/** What to write instead, as the end of a sentence. */
function instead(
  { text, suggestion }: { readonly text: string; readonly suggestion?: string },
  masked?: (address: string, length: number) => string,
): string {
  return suggestion === undefined ? hintOf(text, masked) : `: write ${quote(suggestion)}`
}

function cidr(address: string, length: number): string {
  return `"${address}/${length}"`
}

function eitherForm(address: string, length: number): string {
  return `"${address}", or read ${cidr(address, length)} as a CIDR`
}

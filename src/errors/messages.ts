import type { ErrorCode, ErrorDefinition } from './codes.js'
import { cause, list, plain, quote } from './quote.js'

/**
 * The message of each code. Programs that only throw and catch errors do not bundle the reactions
 * beside them in the registry.
 */
export const templates: { readonly [C in ErrorCode]: ErrorDefinition<C>['template'] } = {
  MALFORMED_ADDRESS: (c) =>
    `not an IP address: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c.suggestion)}`,
  MALFORMED_PREFIX: (c) =>
    `not a CIDR: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c.suggestion)}`,
  MALFORMED_RANGE: (c) =>
    `not an address range: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c.suggestion)}`,
  MALFORMED_RANGE_SET_ENTRY: (c) =>
    `entry ${c.index} is not an address, range or CIDR: ${quote(c.text)}: ${c.problem} (at position ${c.position})${instead(c.suggestion)}`,
  MALFORMED_REVERSE_NAME: (c) => `not a reverse name: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
  MALFORMED_URL_HOST: (c) => `no IP address as host: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
  MALFORMED_BYTES: (c) => `not the bytes of ${plain(c.what)}: ${plain(c.problem)} (at position ${c.position})`,
  INVALID_PREFIX_LENGTH: (c) => `prefix length ${c.length} is not a whole number from ${c.min ?? 0} to ${c.max}`,
  INVALID_RANGE: (c) => `range ends before it begins: ${c.first}-${c.last}`,
  INVALID_ARGUMENT: (c) =>
    c.function === undefined
      ? `argument ${plain(c.argument)}: expected ${plain(c.expected)}, got ${quote(c.got)}`
      : `${plain(c.function)}: argument ${plain(c.argument)}: expected ${plain(c.expected)}, got ${plain(c.got, 100)}${first(c.call)}`,
  FAMILY_MISMATCH: (c) => `IPv4 and IPv6 do not mix: ${quote(c.left)} and ${quote(c.right)}`,
  ADDRESS_OUT_OF_RANGE: (c) => `${c.address} plus ${plain(c.offset, 50)} leaves the address space`,
  INDEX_OUT_OF_RANGE: (c) => `index ${plain(c.index, 50)} is not from 0 to size - 1, where the size is ${c.size}`,
  INVALID_OBJECT: (c) =>
    `${plain(c.kind)} ${quote(c.name)} is invalid: ${list(c.issues.map((issue) => `${issue.path}: ${issue.message}`))}`,
  OBJECT_KIND_MISMATCH: (c) => `expected ${plain(c.expected)}, got ${quote(c.got)}`,
  INVALID_POOL_SPEC: (c) => `pool spec is invalid: ${list(c.problems)}`,
  STORE_NOT_FOUND: (c) => `${plain(c.object)} not found`,
  STORE_ALREADY_EXISTS: (c) => `${plain(c.object)} already exists`,
  STORE_CONFLICT: (c) => `${plain(c.object)} has changed: expected ${plain(c.expected)}, found ${cause(c.actual)}`,
  STORE_INVALID: (c) => `${plain(c.object)} refused: ${plain(c.path)}: ${cause(c.problem)}`,
  STORE_OBJECT_TOO_LARGE: (c) =>
    `${plain(c.object)} is too large: ${c.sizeBytes} bytes, at most ${c.maxBytes} are stored`,
  STORE_VERSION_GONE: (c) =>
    `resource version ${quote(c.resourceVersion)} is gone, the oldest kept is ${c.oldest}: list again`,
  STORE_IO: (c) => `${plain(c.operation)} failed: ${cause(c.problem)}`,
  STORE_OUTCOME_UNKNOWN: (c) =>
    `${plain(c.operation)} of ${plain(c.object)} may or may not have been done: ${cause(c.problem)}`,
  STORE_WRITE_WITHHELD: (c) =>
    `${plain(c.operation)} of ${plain(c.object)} was not sent: this controller is no longer allowed to write`,
  RUN_LIMIT_EXCEEDED: (c) => `not at rest after ${c.max} ${c.limit}, still busy: ${list(c.stillBusy.slice(0, 5))}`,
  CLAIM_NAME_CONFLICT: (c) => `two claims named ${quote(c.name)}: ${plain(c.first)} and ${plain(c.second)}`,
  INVALID_CLAIM_NAME: (c) => `not a claim name: ${quote(c.name)}: ${plain(c.problem)}`,
  INVARIANT_BROKEN: (c) => `broken invariant, please report: ${c.what}`,
  INVALID_CONVERSION: (c) => `${plain(c.object)} has no form in ${plain(c.to)}: ${plain(c.path)}: ${plain(c.problem)}`,
  INVALID_OBJECT_NAME: (c) => `not a name of ${plain(c.kind)}: ${quote(c.name)}: ${plain(c.problem)}`,
  MALFORMED_EMBEDDED_JSON: (c) => `${plain(c.what)} is not JSON: ${quote(c.text)}`,
  MALFORMED_NETWORK_SELECTION: (c) =>
    `not a list of networks: ${quote(c.text)}: ${c.problem} (at position ${c.position})`,
  INVALID_ROW_ADDRESS: (c) => `${plain(c.address)} has no row in a pool of ${plain(c.range)}: ${plain(c.problem)}`,
  INVALID_IPAM_CONFIG: (c) =>
    c.text === undefined
      ? `IPAM configuration is invalid: ${list(c.issues.map((issue) => `${issue.path}: ${issue.message}`))}`
      : plain(c.text, 2000),
  MALFORMED_JSON: (c) => `${plain(c.what)} is not valid JSON: ${plain(c.problem)} (at position ${c.position})`,
  INVALID_CNI_ENVIRONMENT: (c) => `${list(c.variables)}: ${plain(c.problem)}`,
  INVALID_CNI_CONFIG: (c) => `network configuration is invalid: ${plain(c.path)}: ${plain(c.problem)}`,
  CNI_VERSION_MISMATCH: (c) => `cniVersion ${quote(c.version)}: ${plain(c.problem)}`,
  CNI_INPUT_LIMIT_EXCEEDED: (c) =>
    c.limit === 'bytes'
      ? `the network configuration on stdin is longer than ${c.max} bytes`
      : `stdin was not closed within ${c.max} ms`,
  CNI_RESULT_MISMATCH: (c) =>
    `CNI ${plain(c.version)} cannot express the result: ${plain(c.path)}: ${plain(c.problem)}`,
  INVALID_SLICE_SIZE: (c) => `no slices of size ${quote(c.sliceSize)} in ${plain(c.range)}: ${plain(c.problem)}`,
  INVALID_NETWORK: (c) => `network ${plain(c.network)}: ${plain(c.problem, 1000)}`,
}

/** The call that makes the expected value, as the end of a message. */
function first(call: string | undefined): string {
  return call === undefined ? '' : `: call ${plain(call)} first`
}

/** What to write instead, as the end of a sentence. */
function instead(suggestion: string | undefined): string {
  return suggestion === undefined ? '' : `: write ${quote(suggestion)}`
}

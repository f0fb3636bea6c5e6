import { errorText } from '../errors/cause.js'
import { check } from '../errors/check.js'
import { type ErrorCode, type Failure, type RetryClass, registry } from '../errors/index.js'
import { plain } from '../errors/quote.js'
import type { CniCommand } from './environment.js'

/** An error as a plugin writes it to stdout. */
export interface CniError {
  /** One of {@link CNI_ERRORS}, or a code above 100 that the plugin documents. */
  readonly code: number
  /** One sentence. */
  readonly msg: string
  readonly details?: string | undefined
}

/** A row of {@link CNI_ERRORS}. */
export interface CniErrorDefinition {
  readonly code: number
  readonly name: string
  readonly meaning: string
  /** When a retry of the runtime can help. */
  readonly retry: RetryClass
}

/**
 * The error codes of CNI. 0 to 99 are those of the specification, but for 8, which its Go library
 * has added; 999 is the code of that library for an error without a code. Plugins are free to use
 * codes from 100: this module uses 100 and 101.
 */
export const CNI_ERRORS: readonly CniErrorDefinition[] = /* @__PURE__ */ Object.freeze([
  row(1, 'IncompatibleVersion', 'The plugin does not support this version of CNI, or the version lacks the command.'),
  row(2, 'UnsupportedField', 'A field of the configuration is not supported. The message has the field and its value.'),
  row(3, 'UnknownContainer', 'The container does not exist. The runtime does not need to call DEL.'),
  row(4, 'InvalidEnvironment', 'An environment variable is missing or wrong. The message has its name.'),
  row(5, 'IoFailure', 'Reading or writing failed, such as reading stdin.', 'after'),
  row(6, 'DecodingFailure', 'The configuration is not JSON.'),
  row(7, 'InvalidConfiguration', 'The network configuration is JSON and breaks a rule.'),
  row(8, 'InvalidNetworkNamespace', 'The network namespace is not one of a container.'),
  row(11, 'TryAgainLater', 'A condition that ends by itself, such as an API server that does not answer.', 'after'),
  row(50, 'NotAvailable', 'STATUS: the plugin cannot serve ADD.', 'after'),
  row(51, 'LimitedConnectivity', 'STATUS: as 50, and containers of the network can have lost connectivity.', 'after'),
  row(100, 'Refused', 'An object in the store or in the request must change first.'),
  row(101, 'PoolExhausted', 'The pool has no free address, or is not valid.', 'on-pool-change'),
  row(999, 'Internal', 'A bug, or an error that has no code.'),
])

function row(code: number, name: string, meaning: string, retry: RetryClass = 'never'): CniErrorDefinition {
  return Object.freeze({ code, name, meaning, retry })
}

/** Errors of this library that have a CNI code of their own. */
export const OWN_CODES: { readonly [C in ErrorCode]?: number } = {
  CNI_VERSION_MISMATCH: 1,
  INVALID_CNI_ENVIRONMENT: 4,
  CNI_INPUT_LIMIT_EXCEEDED: 5,
  MALFORMED_JSON: 6,
  INVALID_CNI_CONFIG: 7,
  INVALID_IPAM_CONFIG: 7,
  CNI_RESULT_MISMATCH: 7,
  INVALID_ARGUMENT: 999,
  INVARIANT_BROKEN: 999,
}

/** The CNI codes of all other errors. */
export const CODE_BY_RETRY: { readonly [retry in RetryClass]: number } = {
  now: 11,
  after: 11,
  'on-pool-change': 101,
  never: 100,
}

/** What is wrong with the request has its own code also in an answer to STATUS. */
const ABOUT_THE_REQUEST: readonly number[] = [1, 2, 4, 5, 6, 7]

export interface CniErrorOptions {
  /**
   * The command of the request. STATUS answers 50 for each error that is not about the request.
   */
  readonly command?: CniCommand | undefined
}

/**
 * The CNI error of a failure of this library, of an `IpamError`, or of anything else that was
 * thrown. The details name the code of this library and its retry class. It never throws for what
 * `failure` is.
 *
 * | error | CNI code |
 * |---|---|
 * | of this entry | 1, 4, 5, 6, 7 |
 * | retry class `now` or `after` | 11 |
 * | retry class `on-pool-change` | 101 |
 * | retry class `never` | 100 |
 * | a bug, or no error of this library | 999 |
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options
 * @example
 * const failed = readCniRequest({ env: {}, stdin: '' })
 * if (!failed.ok) cniErrorOf(failed.failure).code // 4
 */
export function cniErrorOf(failure: unknown, options?: CniErrorOptions): CniError {
  check('cniErrorOf', 'options', options, ['options?', { command: ['one?', COMMAND_CHOICES] }])
  const known = knownError(failure)
  const code = known === undefined ? INTERNAL : (OWN_CODES[known.code] ?? CODE_BY_RETRY[registry[known.code].retry])
  const isStatus = options?.command === 'STATUS' && !ABOUT_THE_REQUEST.includes(code)
  return {
    code: isStatus ? NOT_AVAILABLE : code,
    msg: known?.message ?? plain(errorText(failure)),
    ...(known === undefined ? {} : { details: `${known.code}, retry: ${registry[known.code].retry}` }),
  }
}

const INTERNAL = 999
const NOT_AVAILABLE = 50

/** Choices for checks of arguments. */
const COMMAND_CHOICES = { ADD: 1, DEL: 1, CHECK: 1, GC: 1, STATUS: 1, VERSION: 1 } as const

/** The code and the message of a failure or an `IpamError`; `undefined` for anything else. */
function knownError(failure: unknown): { readonly code: ErrorCode; readonly message: string } | undefined {
  try {
    const { code, context } = failure as Failure
    // also of a failure that was JSON
    return { code, message: (registry[code].template as (context: unknown) => string)(context) }
  } catch {
    return undefined
  }
}

/**
 * When a retry can help, by the code of a CNI error. Codes that are not in {@link CNI_ERRORS} are
 * `never`, as they say nothing about it.
 */
export function retryOfCniError(code: number): RetryClass {
  check('retryOfCniError', 'code', code, 'number')
  return CNI_ERRORS.find((each) => each.code === code)?.retry ?? 'never'
}

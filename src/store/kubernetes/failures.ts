import { causeText, errorText } from '../../errors/cause.js'
import {
  STORE_ALREADY_EXISTS,
  STORE_CONFLICT,
  STORE_INVALID,
  STORE_IO,
  STORE_NOT_FOUND,
  STORE_OBJECT_TOO_LARGE,
  STORE_OUTCOME_UNKNOWN,
  STORE_VERSION_GONE,
} from '../../errors/definitions.js'
import { failure } from '../../errors/failure.js'
import { problemOfCauses } from '../rules/causes.js'
import { NEVER_CONNECTED } from '../rules/unsent.js'
import type { StoreFailure } from '../store.js'
import { type Answer, readStatus, type Status } from './answers.js'

/** A request, as failures tell of it. */
export interface Asked {
  readonly operation: 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete' | 'watch'
  /** What it is about, in words. */
  readonly shown: string
  /** The bytes that were sent, and how many an object may have. */
  readonly sizeBytes: number
  readonly maxBytes: number
  /** Of a watch its version, of a list the token of the next page. */
  readonly from?: string | undefined
  /** What a write was made for. */
  readonly expected?: string | undefined
}

/**
 * What an answer that is no success comes to. A write that the server has refused was not done; if
 * it broke, or if a proxy has answered in its place, the write may have been done.
 */
export function failureOf(answer: Answer, asked: Asked): StoreFailure {
  const status = readStatus(answer.json)
  const code = answer.httpStatus
  const told = status === undefined ? undefined : toldFailure(code, status, asked)
  if (told !== undefined) return told
  const problem = `${code}: ${problemIn(answer, status)}`
  if (code === 413) return tooLarge(asked)
  const isRefused = code >= 300 && code < 500 && code !== REQUEST_TIMEOUT
  return isRefused ? notDone(asked, problem) : lost(asked, problem)
}

/** What the server says itself. `undefined`: nothing that is certain. */
function toldFailure(code: number, status: Status, asked: Asked): StoreFailure | undefined {
  if (isDenied(code, status)) return invalid(status, asked)
  switch (code) {
    case 400:
    case 422:
      return invalid(status, asked)
    case 404:
      return notFound(status, asked)
    case 409:
      return status.reason === 'AlreadyExists'
        ? failure(STORE_ALREADY_EXISTS, { object: asked.shown })
        : failure(STORE_CONFLICT, conflictContext(status, asked))
    case 410:
      return asked.from === undefined ? undefined : gone(asked.from, status.message)
    case 500:
      return brokenRefusal(status, asked)
    default:
      return undefined
  }
}

function conflictContext({ message }: Status, { shown, expected = 'an object at rest' }: Asked) {
  return { object: shown, expected, actual: causeText(message) || 'another one' }
}

/** A webhook may deny with any code: it is asked before anything is written. */
function isDenied(code: number, { message }: Status): boolean {
  return (code === 403 || code >= 500) && /^admission webhook ".*?" denied the request/.test(message)
}

/**
 * Without a name in it, it is the resource that was not found: saying that the object is gone would
 * be wrong.
 */
function notFound({ name, kind, reason }: Status, { shown }: Asked): StoreFailure | undefined {
  if (reason !== 'NotFound' || name === undefined) return undefined
  const isAboutNamespace = kind === 'namespaces' && !shown.startsWith('Namespace ')
  return failure(STORE_NOT_FOUND, { object: isAboutNamespace ? `Namespace ${name}` : shown })
}

/**
 * Refusals of what is behind the server, and some of its own, that it tells as errors. All of them
 * come before the write.
 */
function brokenRefusal(status: Status, asked: Asked): StoreFailure | undefined {
  const { message } = status
  if (/request is too large|message larger than max/.test(message)) return tooLarge(asked)
  // of a version that no object has
  if (message.startsWith('strconv.ParseUint: parsing ')) return failure(STORE_CONFLICT, conflictContext(status, asked))
  // of what a patch has left
  const [, lost] = /^Internal error occurred: Object '(apiVersion|Kind)' is missing /.exec(message) ?? []
  if (lost !== undefined)
    return failure(STORE_INVALID, { object: asked.shown, path: lost.replace('K', 'k'), problem: 'is missing' })
  const isBeforeWrite = /^Internal error occurred: failed calling webhook /.test(message)
  return isBeforeWrite ? notDone(asked, `500: ${causeText(message)}`) : undefined
}

/** The failure of a request without an answer. */
export function failureOfError(error: unknown, asked: Asked): StoreFailure {
  const problem = errorText(error)
  return isUnsent(error) ? notDone(asked, problem, error) : lost(asked, problem, error)
}

/**
 * A version from which a watch or a list cannot continue. The server may tell which is the oldest:
 * `too old resource version: 1 (206)`.
 */
export function gone(resourceVersion: string, message = ''): StoreFailure {
  const [, oldest = '0'] = /\((\d{1,20})\)\s*$/.exec(message) ?? []
  return failure(STORE_VERSION_GONE, { resourceVersion, oldest })
}

function invalid({ message, causes }: Status, { shown }: Asked): StoreFailure {
  return failure(STORE_INVALID, { object: shown, ...problemOfCauses(causes, message || 'is refused') })
}

/** How large an object would have become is not known: at least larger than it may be. */
function tooLarge({ shown, sizeBytes, maxBytes }: Asked): StoreFailure {
  return failure(STORE_OBJECT_TOO_LARGE, { object: shown, sizeBytes: Math.max(sizeBytes, maxBytes + 1), maxBytes })
}

export function notDone({ operation }: Asked, problem: string, cause?: unknown): StoreFailure {
  return failure(STORE_IO, { operation: `${operation} (kubernetes)`, problem }, cause)
}

/** The result of a write is not known. Reads have no effect. */
export function lost(asked: Asked, problem: string, cause?: unknown): StoreFailure {
  if (!WRITES.has(asked.operation)) return notDone(asked, problem, cause)
  const context = { operation: `${asked.operation} (kubernetes)`, object: asked.shown, problem }
  return failure(STORE_OUTCOME_UNKNOWN, context, cause)
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete'])

const REQUEST_TIMEOUT = 408
const MAX_CAUSES = 5

function problemIn({ text }: Answer, status: Status | undefined): string {
  return causeText(status === undefined ? text : status.message || status.reason || text)
}

/** Whether an error tells that nothing was sent. */
function isUnsent(error: unknown): boolean {
  return [...causesOf(error)].some((each) => {
    const { code, syscall, message } = each as { readonly [field in 'code' | 'syscall' | 'message']?: unknown }
    if (typeof code !== 'string') return false
    const isOfConnecting = CONNECTING.has(syscall) || (typeof message === 'string' && CONNECTING_FAILED.test(message))
    return isOfConnecting || NEVER_CONNECTED.has(code) || UNSENT.test(code)
  })
}

/** An error and what caused it, as far as that can be read. */
function* causesOf(error: unknown): Generator<unknown, void> {
  let each = error
  for (let depth = 0; depth < MAX_CAUSES && each !== undefined && each !== null; depth++) {
    yield each
    each = (each as { readonly cause?: unknown }).cause
  }
}

/**
 * What Node was about when it failed: before that nothing can be sent, whatever the code. Other
 * fetches keep of it only the words.
 */
const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])
const CONNECTING_FAILED = /(^|, reason: )(connect|getaddrinfo) E[A-Z_]+\b/

/**
 * Codes of a certificate that is not taken, and what a client says itself. Not codes that an open
 * connection can end with too: a time-out, an unreachable network.
 */
const UNSENT =
  /^(NOT_SENT|CERT_\w+|ERR_TLS_CERT_ALTNAME_INVALID|(DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF)\w*)$/

import { NEVER_CONNECTED } from '../rules/unsent.js'

/** The classes of errors of a client, by the outcome of the call. */
export type ErrorClass =
  /** The requested revision is compacted. */
  | 'compacted'
  /** The request is larger than the limit of the server. */
  | 'too-large'
  /** Nothing was written. */
  | 'refused'
  /** It may have been written. */
  | 'unknown'

export function classOf(error: unknown): ErrorClass {
  const { code, message, cause } = (error ?? {}) as Parts
  const text = typeof message === 'string' ? message : ''
  // also for clients without codes: a call with a revision has only read
  if (text.includes('required revision has been compacted')) return 'compacted'
  if (typeof code === 'number') return classOfStatus(code, text)
  // fetch has the system code in its cause
  const codes = [code, (cause as Parts | undefined)?.code]
  return codes.some((each) => NEVER_CONNECTED.has(each)) ? 'refused' : 'unknown'
}

interface Parts {
  readonly code?: unknown
  readonly message?: unknown
  readonly cause?: unknown
}

/** The gRPC statuses that are sent before anything is written. */
const REFUSALS: ReadonlySet<number> = new Set([
  ...[3, 5, 6, 7, 8, 9, 11, 12, 16],
  // not included: cancelled (1), unknown (2), deadline exceeded (4), aborted (10), internal (13),
  // unavailable (14), data loss (15). A server also answers unavailable for a write that it has
  // forwarded without an answer.
])

function classOfStatus(code: number, message: string): ErrorClass {
  if (/request is too large|message larger than max/.test(message)) return 'too-large'
  return REFUSALS.has(code) ? 'refused' : 'unknown'
}

/** An error that etcd has answered. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError'
  /** The gRPC status. `undefined`: a proxy has answered. */
  readonly code: number | undefined

  constructor(message: string, code: number | undefined) {
    super(message)
    this.code = code
  }
}

/** An answer that cannot be read. It would be the same the next time. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer'
}

/** @throws UnreadableAnswer with the message of the error */
export function readable<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new UnreadableAnswer(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

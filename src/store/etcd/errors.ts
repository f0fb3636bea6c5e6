import { NEVER_CONNECTED } from '../rules/unsent.js'

/** What an error of a client says about the call that it ended. */
export type ErrorClass =
  /** The revision that was asked for is no longer kept. */
  | 'compacted'
  /** The request is larger than the server takes. */
  | 'too-large'
  /** Nothing was written. */
  | 'refused'
  /** It may have been written. */
  | 'unknown'

export function classOf(error: unknown): ErrorClass {
  const { code, message, cause } = (error ?? {}) as Parts
  const text = typeof message === 'string' ? message : ''
  // also of a client that has no codes: what has asked for a revision has only read
  if (text.includes('required revision has been compacted')) return 'compacted'
  if (typeof code === 'number') return classOfStatus(code, text)
  // fetch has the code of the system in its cause
  const codes = [code, (cause as Parts | undefined)?.code]
  return codes.some((each) => NEVER_CONNECTED.has(each)) ? 'refused' : 'unknown'
}

interface Parts {
  readonly code?: unknown
  readonly message?: unknown
  readonly cause?: unknown
}

/** The statuses of gRPC that are given before anything is written. */
const REFUSALS: ReadonlySet<number> = new Set([
  ...[3, 5, 6, 7, 8, 9, 11, 12, 16],
  // not in it: cancelled (1), unknown (2), deadline exceeded (4), aborted (10), internal (13),
  // unavailable (14), data loss (15). Unavailable is also what a server says of a write that it has
  // handed on and not seen come back.
])

function classOfStatus(code: number, message: string): ErrorClass {
  if (/request is too large|message larger than max/.test(message)) return 'too-large'
  return REFUSALS.has(code) ? 'refused' : 'unknown'
}

/** An answer of etcd that is an error. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError'
  /** The status of gRPC. `undefined`: something between has answered. */
  readonly code: number | undefined

  constructor(message: string, code: number | undefined) {
    super(message)
    this.code = code
  }
}

/** An answer that has come and cannot be read: it would be the same the next time. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer'
}

/** @throws UnreadableAnswer with the words of what was thrown */
export function readable<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new UnreadableAnswer(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

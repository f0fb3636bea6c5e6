import type { ErrorCode, ErrorContexts } from './codes.js'
import { templates } from './messages.js'

/**
 * What went wrong, as plain data: a code, what the code carries, and what caused it.
 *
 * A union of codes gives a union of failures, so that `switch (failure.code)` narrows
 * `failure.context`.
 */
export type Failure<C extends ErrorCode = ErrorCode> = C extends ErrorCode
  ? { readonly code: C; readonly context: ErrorContexts[C]; readonly cause?: unknown }
  : never

/** Either a value or a {@link Failure}: what `safeX` functions and stores answer. */
export type Result<T, C extends ErrorCode = ErrorCode> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure<C> }

/**
 * A failure as an exception: thrown by `parse` and by every function that is called with a wrong
 * argument.
 */
export class IpamError<C extends ErrorCode = ErrorCode> extends Error {
  /**
   * Tell errors by `code` or by {@link isIpamError}: `instanceof` fails across two copies of a
   * package.
   */
  readonly code: C
  readonly context: ErrorContexts[C]

  constructor(failure: Failure<C>) {
    super(describe(failure), failure.cause === undefined ? undefined : { cause: failure.cause })
    this.code = failure.code as C
    this.context = failure.context as ErrorContexts[C]
  }

  override get name(): string {
    return 'IpamError'
  }
}

/** A failure from its code and context. */
export function failure<C extends ErrorCode>(code: C, context: ErrorContexts[C], cause?: unknown): Failure<C> {
  return (cause === undefined ? { code, context } : { code, context, cause }) as Failure<C>
}

/** A successful {@link Result}. */
export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value }
}

/** A failed {@link Result}. */
export function fail<C extends ErrorCode>(
  code: C,
  context: ErrorContexts[C],
  cause?: unknown,
): { readonly ok: false; readonly failure: Failure<C> } {
  return { ok: false, failure: failure(code, context, cause) }
}

/** An error to throw, from its code and context. */
export function ipamError<C extends ErrorCode>(code: C, context: ErrorContexts[C], cause?: unknown): IpamError<C> {
  return new IpamError<C>(failure(code, context, cause) as Failure<C>)
}

/**
 * The value of a result, or its failure thrown as an {@link IpamError}: for callers that have
 * nothing better to do with a failure than to end.
 *
 * It also takes what `runPlan`, `runKey` and `runTask` of `ipam-kit/run` answer: one without a
 * failure is returned as it is.
 *
 * @throws IpamError with the code of the failure; `INVALID_ARGUMENT` for a value that is not a
 *   result, such as a promise: `unwrap(await store.get(ref))`
 * @example
 * unwrap(ok(3)) // 3
 */
export function unwrap<A extends Result<unknown> | { readonly kind: string; readonly failure?: Failure | undefined }>(
  result: A,
): Unwrapped<A> {
  const { ok, kind, failure: failed, value, then } = (result ?? {}) as { readonly [member: string]: unknown }
  if (ok === true) return value as Unwrapped<A>
  if (typeof failed === 'object' && failed !== null) throw new IpamError(failed as Failure)
  if (ok === undefined && typeof kind === 'string') return result as Unwrapped<A>
  const got = typeof then === 'function' ? 'a promise' : typeof result
  throw ipamError('INVALID_ARGUMENT', { argument: 'result', expected: 'a result, after `await`', got })
}

/** What {@link unwrap} gives: the value of a result, or an answer that has no failure. */
export type Unwrapped<A> = A extends { readonly ok: true; readonly value: infer T }
  ? T
  : A extends { readonly ok: false } | { readonly failure: Failure }
    ? never
    : A

/**
 * Whether `error` is an {@link IpamError}, of one code if `code` is given. Works across copies and
 * realms, because it looks at the code and not at the class.
 */
export function isIpamError<C extends ErrorCode = ErrorCode>(error: unknown, code?: C): error is IpamError<C> {
  if (typeof error !== 'object' || error === null || (error as { name?: unknown }).name !== 'IpamError') return false
  const own = (error as { code?: unknown }).code
  return typeof own === 'string' && Object.hasOwn(templates, own) && (code === undefined || own === code)
}

/** The sentence for a failure. */
export function describe(failed: Failure): string {
  const known = typeof failed?.code === 'string' && Object.hasOwn(templates, failed.code)
  if (!known) throw notAFailure(failed)
  try {
    return (templates[failed.code] as (context: unknown) => string)(failed.context)
  } catch {
    // the context is not that of its code
    throw notAFailure(failed.context)
  }
}

function notAFailure(given: unknown) {
  const expected = 'a failure: a code of the registry, with its context'
  return ipamError('INVALID_ARGUMENT', { argument: 'failure', expected, got: typeof given })
}

import type { ErrorCode, ErrorContexts, ErrorDefinition } from './codes.js'
import { INVALID_ARGUMENT } from './definitions.js'

/**
 * What went wrong, as plain data: a code, what the code carries, and what caused it.
 *
 * A union of codes gives a union of failures, so that `switch (failure.code)` narrows
 * `failure.context`.
 */
export type Failure<C extends ErrorCode = ErrorCode> = C extends ErrorCode
  ? {
      readonly code: C
      readonly context: ErrorContexts[C]
      readonly cause?: unknown
      /**
       * One English sentence, made when it is read. It is not enumerable: JSON, `structuredClone`
       * and a spread have the other members alone, from which it follows.
       */
      readonly message: string
    }
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

  /** @param cause what caused the failure. Default: its cause */
  constructor(failure: Failure<C>, cause: unknown = failure?.cause) {
    super(messageOf(failure), cause === undefined ? undefined : { cause })
    this.code = failure.code as C
    this.context = failure.context as ErrorContexts[C]
  }

  override get name(): string {
    return 'IpamError'
  }
}

/**
 * A {@link Failure}. The getter is of the class: a property of its own for each failure takes a
 * microsecond.
 */
class FailureData<C extends ErrorCode> {
  readonly code: C
  readonly context: ErrorContexts[C]
  declare readonly cause?: unknown
  readonly #template: ErrorDefinition<C>['template']

  constructor({ code, template }: ErrorDefinition<C>, context: ErrorContexts[C], cause: unknown) {
    this.code = code
    this.context = context
    if (cause !== undefined) this.cause = cause
    this.#template = template
  }

  get message(): string {
    return this.#template(this.context)
  }
}

/** A failure that was copied has no sentence: its code has to do. */
function messageOf(given: Failure): string {
  if (typeof given?.code !== 'string') {
    throw ipamError(INVALID_ARGUMENT, { argument: 'failure', expected: 'a failure', got: typeof given })
  }
  return given.message ?? given.code
}

/** A failure from the definition of its code, and its context. */
export function failure<C extends ErrorCode>(
  definition: ErrorDefinition<C>,
  context: ErrorContexts[C],
  cause?: unknown,
): Failure<C> {
  return new FailureData(definition, context, cause) as unknown as Failure<C>
}

/** A successful {@link Result}. */
export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value }
}

/** A failed {@link Result}, from the definition of its code. */
export function failWith<C extends ErrorCode>(
  definition: ErrorDefinition<C>,
  context: ErrorContexts[C],
  cause?: unknown,
): { readonly ok: false; readonly failure: Failure<C> } {
  return { ok: false, failure: failure(definition, context, cause) }
}

/** An error to throw, from the definition of its code. */
export function ipamError<C extends ErrorCode>(
  definition: ErrorDefinition<C>,
  context: ErrorContexts[C],
  cause?: unknown,
): IpamError<C> {
  return new IpamError<C>(failure(definition, context, cause))
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
  throw ipamError(INVALID_ARGUMENT, { argument: 'result', expected: 'a result, after `await`', got })
}

/** What {@link unwrap} gives: the value of a result, or an answer that has no failure. */
export type Unwrapped<A> = A extends { readonly ok: true; readonly value: infer T }
  ? T
  : A extends { readonly ok: false } | { readonly failure: Failure }
    ? never
    : A

/**
 * Whether `error` is an {@link IpamError}, of one code if `code` is given. Works across copies,
 * versions and realms, because it looks at the name and the code and not at the class.
 */
export function isIpamError<C extends ErrorCode = ErrorCode>(error: unknown, code?: C): error is IpamError<C> {
  if (typeof error !== 'object' || error === null || (error as { name?: unknown }).name !== 'IpamError') return false
  const own = (error as { code?: unknown }).code
  return typeof own === 'string' && (code === undefined ? /^[A-Z]+(_[A-Z0-9]+)+$/.test(own) : own === code)
}

import type { ErrorCode, ErrorContexts, ErrorDefinition } from './codes.js'
import * as definitions from './definitions.js'
import { type Failure, failWith } from './failure.js'
import { refuseIn } from './refuse.js'

/** Every code with its definition. */
export type Registry = { readonly [C in ErrorCode]: ErrorDefinition<C> }

/**
 * Every code with its message, its retry class and the reason of its condition.
 * docs/reference/errors.md is made from it.
 */
export const registry: Registry = definitions

/**
 * A failed `Result`, for stores and other code outside this library.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a code that is not in the registry, and for a context
 *   that is not of the code
 * @example
 * fail('STORE_NOT_FOUND', { object: 'IPAddress default/web-0' }).failure.message // 'IPAddress default/web-0 not found'
 */
export function fail<C extends ErrorCode>(
  code: C,
  context: ErrorContexts[C],
  cause?: unknown,
): { readonly ok: false; readonly failure: Failure<C> } {
  if (typeof code !== 'string' || !Object.hasOwn(registry, code)) {
    refuseIn('fail', 'code', 'a code of the registry', code)
  }
  const failed = failWith(registry[code], context, cause)
  try {
    // a message that cannot be made is an error here, and not where it is read
    void failed.failure.message
  } catch {
    refuseIn('fail', 'context', `the context of ${code}`, context)
  }
  return failed
}

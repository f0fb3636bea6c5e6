import type { Failure, Result } from 'ipam-kit/errors'

/** The failure of a result that has to be one, whole: with its cause. */
export function failureOf(result: Result<unknown>): Failure {
  if (result.ok) throw new Error('no failure')
  return result.failure
}

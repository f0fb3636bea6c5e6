import { type Failure, fail, isIpamError, type Result } from 'ipam-kit/errors'
import { type Answer, type Answers, answerKeys, within } from './answer.js'

/**
 * What can be asked of the value of a call, by key. Without a value, `ok` is false and the rest
 * `null`.
 */
export interface Readings<T> {
  readonly [key: string]: (value: T, asked: unknown) => unknown
}

export interface OutcomeOptions {
  /** What came in the place of a text, where that is the question. */
  readonly came?: unknown
}

/**
 * Answers what a case asks of a call and its failure: the typed one that it returns or throws. Any
 * other exception is the adapter's end.
 */
export function outcome<T>(
  expect: unknown,
  call: () => Result<T>,
  readings: Readings<T>,
  options: OutcomeOptions = {},
): Answer {
  const { result, message, ms } = measured(call)
  const answers: { [key: string]: Answers[string] } = {
    ok: () => result.ok,
    error: (asked) => (result.ok ? false : asked === true ? true : errorOf(result.failure, options.came)),
    suggest: () => (result.ok ? null : suggestionOf(result.failure)),
    maxMs: (asked) => within(asked, ms),
    errorTextMaxLength: (asked) => within(asked, message.length),
  }
  for (const [key, reading] of Object.entries(readings)) {
    answers[key] = (asked) => (result.ok ? reading(result.value, asked) : key === 'ok' ? false : null)
  }
  return answerKeys(expect, answers)
}

const RUNS = 3

/**
 * The result, its message if it is a failure, and how long the two take: the best of some runs, so
 * that no pause of the machine counts.
 */
function measured<T>(call: () => Result<T>): {
  readonly result: Result<T>
  readonly message: string
  readonly ms: number
} {
  let ms = Number.POSITIVE_INFINITY
  for (let run = 1; ; run++) {
    const startMs = performance.now()
    const result = caught(call)
    const message = result.ok ? '' : result.failure.message
    ms = Math.min(ms, performance.now() - startMs)
    if (run === RUNS) return { result, message, ms }
  }
}

/** The result of a call that may also throw its failure. */
export function caught<T>(call: () => Result<T>): Result<T> {
  try {
    return call()
  } catch (error) {
    if (!isIpamError(error)) throw error
    return { ok: false, failure: fail(error.code, error.context).failure }
  }
}

/**
 * The words of the cases for a typed error that says what came instead of a text; for any other one
 * its sentence.
 */
function errorOf(failure: Failure, came: unknown): string {
  const type = came === null ? 'null' : Array.isArray(came) ? 'array' : typeof came
  const said = 'problem' in failure.context ? failure.context.problem : failure.context
  const namesIt = said === `not a text, but ${type}`
  return namesIt ? 'typed, names the type that came' : failure.message
}

function suggestionOf(failure: Failure): string | null {
  return ('suggestion' in failure.context && failure.context.suggestion) || null
}

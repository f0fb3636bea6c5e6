import { check, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'

export interface BackoffOptions {
  /** The wait after a first failure, in milliseconds, above 0. Default 5. */
  readonly firstMs?: number | undefined
  /** The longest wait, in milliseconds. Default 1,000,000: sixteen minutes and a half. */
  readonly maxMs?: number | undefined
  /**
   * The part of a wait that is random, from 0 to 1, so that callers that failed together do not
   * retry together. Default 0. Needs `random`.
   */
  readonly jitter?: number | undefined
  /** Returns a number from 0 up to 1: `Math.random`, or a seeded generator. */
  readonly random?: (() => number) | undefined
}

const BACKOFF_OPTIONS: KindOf<BackoffOptions> = {
  firstMs: 'number?',
  maxMs: 'number?',
  jitter: 'number?',
  random: 'function?',
}

/**
 * Exponential back-off: the wait before a failed operation is tried again doubles with every
 * failure in a row, as in the work queues of Kubernetes controllers (5 ms to 1,000 s). It only
 * computes the wait. The caller sets the timer.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * const backoff = new Backoff()
 * backoff.failed('default/web-1') // 5
 * backoff.failed('default/web-1') // 10
 * backoff.succeeded('default/web-1')
 * backoff.failed('default/web-1') // 5
 */
export class Backoff {
  readonly #firstMs: number
  readonly #maxMs: number
  readonly #jitter: number
  readonly #random: () => number
  /** Failures in a row, by key. */
  readonly #failures = new Map<string, number>()

  constructor(options: BackoffOptions = {}) {
    check('Backoff', 'options', options, BACKOFF_OPTIONS)

    const { firstMs = 5, maxMs = 1_000_000, jitter = 0, random } = options
    assertNumber('firstMs', firstMs, firstMs > 0, 'a number above 0')
    assertNumber('maxMs', maxMs, maxMs >= firstMs, 'a number from firstMs')
    assertNumber('jitter', jitter, jitter >= 0 && jitter <= 1, 'a number from 0 to 1')
    if (jitter > 0 && random === undefined) {
      refuse('Backoff', 'random', 'a function', 'undefined')
    }
    this.#firstMs = firstMs
    this.#maxMs = maxMs
    this.#jitter = jitter
    this.#random = random ?? (() => 0)
  }

  /** The number of keys that have failed and not succeeded since. */
  get size(): number {
    return this.#failures.size
  }

  /** Whether a key has failed and not succeeded since. */
  has(key: string): boolean {
    return this.#failures.has(key)
  }

  /** Notes a failure. @returns the wait, in whole milliseconds */
  failed(key: string): number {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    // beyond 2^1023 there is only infinity, which is above every limit
    const waitMs = Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(failures, 1023))
    return Math.round(waitMs * (1 - this.#jitter * this.#random()))
  }

  /** Removes the failures of a key. */
  succeeded(key: string): void {
    this.#failures.delete(key)
  }
}

function assertNumber(argument: string, value: number, isFine: boolean, expected: string): void {
  if (typeof value === 'number' && Number.isFinite(value) && isFine) return
  refuse('Backoff', argument, expected, value)
}

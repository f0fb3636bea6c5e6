import { check, type KindOf } from '../../errors/check.js'
import { assertFunction, assertInteger, assertObject } from '../rules/arguments.js'
import type { DocumentChange, DocumentScope, EngineEvent, Stop } from './engine.js'

/** How a watch gets the changes of an engine that has to be polled. */
export interface PollingOptions {
  /**
   * Waits: `(ms) => new Promise((done) => setTimeout(done, ms))`. It cannot be cancelled: after the
   * end of a watch, its last pause lasts up to `pollMs`. If that must not keep Node from exiting:
   * `setTimeout(done, ms).unref()`.
   */
  readonly sleep: (milliseconds: number) => Promise<unknown>
  /** The wait between two polls of a watch, in milliseconds from 1 to a day. Default 500. */
  readonly pollMs?: number | undefined
  /**
   * Calls back when something may have changed, so that watches need not wait: `LISTEN`, a
   * subscription. It is only a hint: changes without a call are found by polling. Returns the
   * function that ends it. `return` of the watch rejects with what that function throws.
   */
  readonly subscribe?: ((wake: () => void) => () => void) | undefined
}

const POLLING_OPTIONS: KindOf<PollingOptions> = { sleep: 'function', pollMs: 'number?', subscribe: 'function?' }

/** The changes that an engine keeps. */
export interface ChangeLog {
  /**
   * Changes of a scope after a revision, oldest first, as they were at one moment. Without `after`:
   * none, only the revision.
   *
   * @param limit the largest number of changes
   */
  changes(scope: DocumentScope, after: string | undefined, limit: number): Promise<ChangePage>
}

export type ChangePage =
  | {
      readonly kind: 'page'
      readonly changes: readonly DocumentChange[]
      /**
       * The revision up to which the answer is complete: that of its last change, or of the last
       * write to the store if there are no more.
       */
      readonly revision: string
      readonly hasMore: boolean
    }
  | { readonly kind: 'gone'; readonly oldest: string }

const DEFAULT_POLL_MS = 500
const MAX_POLL_MS = 86_400_000

/** The number of changes that are read at once. */
const CHUNK = 500

/**
 * Those of the options of a store that are about polling.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function pollingOf(options: PollingOptions): PollingOptions {
  assertObject('options', options)
  const { sleep, pollMs, subscribe } = options
  assertFunction('options.sleep', sleep)
  if (pollMs !== undefined) assertInteger('options.pollMs', pollMs, { min: 1, max: MAX_POLL_MS })
  if (subscribe !== undefined) assertFunction('options.subscribe', subscribe)
  return { sleep, pollMs, subscribe }
}

/**
 * Implements `follow` of an engine over a {@link ChangeLog}: polls, waits, and polls again.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options
 */
export function pollChanges(
  log: ChangeLog,
  place: { readonly scope: DocumentScope; readonly after: string | undefined; readonly stop: Stop },
  options: PollingOptions,
): AsyncGenerator<EngineEvent, undefined> {
  check('pollChanges', 'options', options, POLLING_OPTIONS)

  return polledChanges(log, place, options)
}

async function* polledChanges(
  log: ChangeLog,
  place: { readonly scope: DocumentScope; readonly after: string | undefined; readonly stop: Stop },
  options: PollingOptions,
): AsyncGenerator<EngineEvent, undefined> {
  const { scope, stop } = place
  const alarm = new Alarm(options, stop)
  let after = place.after
  let isTold = false
  while (!stop.isStopped) {
    // a wake while the changes are read counts for the next poll
    alarm.reset()
    const page = await log.changes(scope, after, CHUNK)
    if (page.kind === 'gone') {
      yield page
      return
    }
    for (const change of page.changes) yield { kind: 'change', ...change }
    const isNewer = page.revision !== after && page.changes.length === 0
    after = page.revision
    if (page.hasMore) continue
    if (isNewer || !isTold) yield { kind: 'at', revision: page.revision }
    isTold = true
    await alarm.ring()
  }
}

/** Rings after a time, when it is woken, and when the consumer has stopped. */
class Alarm {
  readonly #sleep: PollingOptions['sleep']
  readonly #pollMs: number
  readonly #stop: Stop
  #isDue = false
  #isPausing = false
  #resolve: () => void = () => {}
  #reject: (error: unknown) => void = () => {}

  constructor({ sleep, pollMs = DEFAULT_POLL_MS, subscribe }: PollingOptions, stop: Stop) {
    this.#sleep = sleep
    this.#pollMs = pollMs
    this.#stop = stop
    const wake = () => {
      this.#isDue = true
      this.#resolve()
    }
    const unsubscribe = subscribe?.(wake)
    stop.onStop(() => {
      wake()
      unsubscribe?.()
    })
  }

  reset(): void {
    this.#isDue = this.#stop.isStopped
  }

  ring(): Promise<void> {
    if (this.#isDue) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#pause()
    })
  }

  /**
   * One pause at a time: it cannot be cancelled, and a watch that is woken often would have many of
   * them.
   */
  #pause(): void {
    if (this.#isPausing) return
    const pause = this.#sleep(this.#pollMs)
    this.#isPausing = true
    pause.then(
      () => {
        this.#isPausing = false
        this.#resolve()
      },
      (error) => {
        this.#isPausing = false
        this.#reject(error)
      },
    )
  }
}

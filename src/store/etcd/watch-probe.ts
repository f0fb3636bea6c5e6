import type { EtcdClient, EtcdWatch } from './client.js'
import { UnreadableAnswer } from './errors.js'
import type { KeyRange } from './keys.js'

/** The progress of a watch. A reader that has stopped may never signal it, so it can be closed. */
export class Reading {
  /** The number of answers. */
  answers = 0
  /** Whether the reader waits for an answer, and processes none. */
  isWaiting = true
  isOver = false
  /** The revision up to which all events were delivered. */
  reached: string
  #goOn: () => void = () => {}

  constructor(reached: string) {
    this.reached = reached
  }

  begin(): void {
    this.answers++
    this.isWaiting = false
  }

  end(reached: string): void {
    this.reached = reached
    this.isWaiting = true
    this.#goOn()
  }

  close(): void {
    this.isOver = true
    this.#goOn()
  }

  /** Resolves when the reader waits for an answer, or the reading has ended. */
  untilWaiting(): Promise<void> {
    return new Promise((resolve) => {
      this.#goOn = resolve
      if (this.isWaiting || this.isOver) resolve()
    })
  }
}

/** What another watch reports about the time since a revision. */
type Finding = 'quiet' | 'missed' | 'compacted'

/**
 * The result of a look. `nothing`: no new revision, or no server to ask. `unanswered`: there is a
 * new revision, and no watch is answered.
 */
type Look = Finding | 'nothing' | 'unanswered'

const STEP_MS = 1_000
/** The number of silent steps before a look. */
const LOOK_STEPS = 15
/** The steps that a probe has to report a missed event: to begin, and again once it has begun. */
const PROBE_STEPS = 5
/** The number of unanswered looks in a row before the watch fails: some minutes. */
const MAX_UNANSWERED = 14

/**
 * Finds out whether a watch without events has missed some: a connection can become silent without
 * an end.
 *
 * A newer revision of etcd does not prove it: the revision counts writes of all keys, and a watch
 * of other keys reports it every ten minutes, from its own beginning. A watch that was restarted
 * after each such write would never report it, and fall behind the compacted revision. So the watch
 * is ended only if a second watch, the probe, has an event, or if the history is compacted.
 *
 * If a probe has no event, there was none, unless the connection of the probe became silent just
 * after it had begun. So two probes check each revision, as long as it is not compacted:
 *
 *     reached       seenTwice        seenOnce          now
 *        |---- two ------|---- one ------|---- none ----|
 *                        |------- the next probe ------>|
 *                                        |------------->| if seenTwice is compacted; if seenOnce is, too, the watch is ended
 *
 * A revision that two probes have checked is verified: a new watch may start after it. If seenTwice
 * was compacted, two probes can no longer check what follows it. The watch continues, but
 * `verifiedRevision` does not change until the watch itself has an event.
 *
 * A probe that is refused or not answered proves nothing. After many of those in a row, the watch
 * fails, because it may have missed events.
 */
export class WatchProbe {
  readonly #client: EtcdClient
  readonly #range: KeyRange
  readonly #sleep: (milliseconds: number) => Promise<unknown>
  #unanswered = 0
  #problem: unknown
  #verifiedRevision = 0n
  #seenTwice = 0n
  #seenOnce = 0n

  constructor(client: EtcdClient, range: KeyRange, sleep: (milliseconds: number) => Promise<unknown>) {
    this.#client = client
    this.#range = range
    this.#sleep = sleep
  }

  /** The revision up to which no event was missed. */
  get verifiedRevision(): bigint {
    return this.#verifiedRevision
  }

  /** @throws the last error of a probe, if too many in a row were not answered */
  assertAnswered(): void {
    if (this.#unanswered >= MAX_UNANSWERED) throw this.#problem
  }

  /**
   * Resolves when the reading has ended, or when the watch was ended because it has missed an event
   * or may have.
   */
  async guard(watch: EtcdWatch, reading: Reading): Promise<void> {
    const isOver = () => reading.isOver
    while (!reading.isOver) {
      await reading.untilWaiting()
      const { answers } = reading
      const isSilent = () => !reading.isOver && reading.isWaiting && reading.answers === answers
      await this.#wait(LOOK_STEPS, isOver)
      const look = isSilent() ? await this.#look(reading) : 'quiet'
      if (reading.isOver) return
      if (look !== 'nothing') this.#unanswered = look === 'unanswered' ? this.#unanswered + 1 : 0
      const isUnanswered = this.#unanswered >= MAX_UNANSWERED
      if (look !== 'missed' && look !== 'compacted' && !isUnanswered) continue
      // the event may be in flight
      await this.#wait(1, isOver)
      if (isSilent()) return watch.cancel()
      this.#unanswered = 0
    }
  }

  async #look(reading: Reading): Promise<Look> {
    let isAnswered = false
    try {
      const { revision } = await this.#client.range({ key: this.#range.key, limit: 1, keysOnly: true })
      isAnswered = true
      const reached = BigInt(reading.reached)
      this.#verifiedRevision = later(this.#verifiedRevision, reached)
      this.#seenTwice = later(this.#seenTwice, reached)
      if (reading.isOver || BigInt(revision) <= this.#seenTwice) return 'nothing'
      const finding = await this.#probe(this.#seenTwice, reading)
      const hasOther = finding === 'compacted' && this.#seenOnce > this.#seenTwice
      return hasOther ? await this.#probe(this.#seenOnce, reading) : finding
    } catch (error) {
      // an unreadable answer is an event; a server that does not answer proves nothing
      if (error instanceof UnreadableAnswer) return 'missed'
      this.#problem = error
      return isAnswered ? 'unanswered' : 'nothing'
    }
  }

  /**
   * Begins a probe, and waits for its events. It begins with the last revision that was seen, not
   * the one after it. If that one were compacted, etcd 3.4 and 3.5 would silently skip a deletion
   * in it.
   *
   * @throws the error of the client, or that there was no answer
   */
  async #probe(seen: bigint, reading: Reading): Promise<Finding> {
    // 0 would mean now
    const watch = this.#client.watch({ ...this.#range, startRevision: String(later(seen, 1n)) })
    const end = () => watch.cancel()
    let left = PROBE_STEPS
    let isEnough = false
    let now: bigint | undefined
    const count = async () => {
      for (; left > 0 && !isEnough && !reading.isOver; left--) await this.#sleep(STEP_MS)
    }
    count().then(end, end)
    try {
      for await (const { canceled, compactRevision = '0', cancelReason, events, revision } of watch) {
        if (canceled && compactRevision === '0') throw new Error(`a watch was canceled: ${cancelReason}`)
        if (canceled) return 'compacted'
        if (events.some(({ kv }) => BigInt(kv.modRevision) > seen)) return 'missed'
        if (now !== undefined) continue
        // it has begun: its time counts from here
        now = BigInt(revision)
        left = PROBE_STEPS
      }
    } finally {
      isEnough = true
      end()
    }
    if (now === undefined || left > 0) throw new Error('a watch was not answered')
    const seenTwice = now < this.#seenOnce ? now : this.#seenOnce
    if (seen <= this.#verifiedRevision) this.#verifiedRevision = later(this.#verifiedRevision, seenTwice)
    this.#seenTwice = later(this.#seenTwice, seenTwice)
    this.#seenOnce = later(this.#seenOnce, now)
    return 'quiet'
  }

  /** Waits in steps, so that it ends soon after the reading. */
  async #wait(steps: number, isOver: () => boolean): Promise<void> {
    for (let step = 0; step < steps && !isOver(); step++) await this.#sleep(STEP_MS)
  }
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

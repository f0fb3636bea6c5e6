import type { EtcdClient, EtcdWatch } from './client.js'
import { UnreadableAnswer } from './errors.js'
import type { KeyRange } from './keys.js'

/**
 * How far a watch was read. A reader that has stopped may never signal it: it is closed then.
 */
export class Reading {
  /** How many answers have come. */
  answers = 0
  /** Whether an answer is waited for, and none is being told. */
  isWaiting = true
  isOver = false
  /** The revision up to which all was told. */
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

  /** Resolves when an answer is waited for, or the reading has ended. */
  untilWaiting(): Promise<void> {
    return new Promise((resolve) => {
      this.#goOn = resolve
      if (this.isWaiting || this.isOver) resolve()
    })
  }
}

/** What another watch says of the time since a revision. */
type Finding = 'quiet' | 'missed' | 'compacted'

/**
 * What a look finds. `nothing`: there is nothing new, or there is no server to ask. `unanswered`:
 * there is, and no watch is answered.
 */
type Look = Finding | 'nothing' | 'unanswered'

const STEP_MS = 1_000
/** How many steps of silence there are before something is looked at. */
const LOOK_STEPS = 15
/**
 * How many steps another watch has to be told of what this one has missed: to begin, and once it
 * has begun.
 */
const PROBE_STEPS = 5
/** How many looks in a row may find out nothing: some minutes. */
const MAX_UNANSWERED = 14

/**
 * Looks whether a watch to which nothing comes has missed something: a connection can go silent
 * without an end.
 *
 * That etcd has a newer revision does not say so: it is one for all keys, and a watch of others is
 * told of it every ten minutes, counted from its own beginning. One that was begun anew whenever
 * others have written would never be told, and fall behind what is compacted. So it is ended only
 * if another watch, a probe, has something to tell, or if it cannot be known any more.
 *
 * What a probe was not told of has not happened, unless its own connection went silent just after
 * it had begun. So each revision is looked at by two of them, as long as it is not compacted:
 *
 *     reached       seenTwice        seenOnce          now
 *        |---- two ------|---- one ------|---- none ----|
 *                        |------- the next probe ------>|
 *                                        |------------->| if seenTwice is compacted; if seenOnce is, too, the watch is ended
 *
 * Revisions that two have checked are verified: a new watch may start after them. If seenTwice was
 * compacted, what follows it will never be looked at by two. The watch continues, but
 * `verifiedRevision` stays where it is, until the watch itself is told something.
 *
 * A probe that is not answered, or refused, says nothing. If many in a row do, something may be
 * missed without an end, and it is time to say so.
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

  /** Up to where nothing has happened that was not told. */
  get verifiedRevision(): bigint {
    return this.#verifiedRevision
  }

  /** @throws what the last one of many watches had to say, if none of them was answered */
  assertAnswered(): void {
    if (this.#unanswered >= MAX_UNANSWERED) throw this.#problem
  }

  /**
   * Until the reading has ended, or the watch was ended because it has missed something or may
   * have.
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
      // it may be on its way
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
      // one that answers has something to tell; a server that cannot be asked says nothing of what
      // was missed
      if (error instanceof UnreadableAnswer) return 'missed'
      this.#problem = error
      return isAnswered ? 'unanswered' : 'nothing'
    }
  }

  /**
   * Begins another watch, and looks what comes. It begins with the last revision that was seen, and
   * not with the next: were that one compacted, etcd 3.4 and 3.5 would forget a deletion in it, and
   * not say so.
   *
   * @throws what the client does, or that there was no answer
   */
  async #probe(seen: bigint, reading: Reading): Promise<Finding> {
    // 0 would be now
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

  /** In steps, so that nothing waits for long after the end. */
  async #wait(steps: number, isOver: () => boolean): Promise<void> {
    for (let step = 0; step < steps && !isOver(); step++) await this.#sleep(STEP_MS)
  }
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

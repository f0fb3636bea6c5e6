import type { EtcdClient, EtcdWatch } from './client.js'
import { UnreadableAnswer } from './errors.js'
import type { KeyRange } from './keys.js'

/** A watch as it is read. */
export interface Reading {
  readonly isOver: boolean
  /** Whether an answer is waited for, and none is being told. */
  readonly isWaiting: boolean
  /** How many answers have come. */
  readonly answers: number
  /** The revision up to which all was told. */
  readonly reached: string
  /** Resolves when an answer is waited for, or the reading is over. */
  untilWaiting(): Promise<void>
}

/** What another watch says of the time since a revision. */
type Finding = 'quiet' | 'missed' | 'compacted' | 'unknown'

const STEP_MS = 1_000
/** How many steps of silence there are before something is looked at. */
const LOOK_STEPS = 15
/** How many steps another watch has to be told of what this one has missed: to begin, and once it has begun. */
const PROBE_STEPS = 5

/**
 * Looks whether a watch to which nothing comes has missed something: a connection can go silent without an end.
 *
 * That etcd has a newer revision does not say so: it is one for all keys, and a watch of others is told of it every ten minutes, counted from
 * its own beginning. One that was begun anew whenever others have written would never be told, and fall behind what is compacted. So it is
 * ended only if another watch, a probe, has something to tell, or if nobody can know any more.
 *
 * What a probe was not told of has not happened, unless its own connection went silent just after it had begun. So each revision is looked at
 * by two of them, as long as it is not compacted:
 *
 *     reached         #twice          #once           now
 *        |---- two ------|---- one ------|---- none ----|
 *                        |------- the next probe ------>|
 *                                        |------------->| if #twice is compacted; if #once is, too, the watch is ended
 */
export class Lookout {
  readonly #client: EtcdClient
  readonly #range: KeyRange
  readonly #sleep: (milliseconds: number) => Promise<unknown>
  #twice = 0n
  #once = 0n

  constructor(client: EtcdClient, range: KeyRange, sleep: (milliseconds: number) => Promise<unknown>) {
    this.#client = client
    this.#range = range
    this.#sleep = sleep
  }

  /** Until the reading is over, or the watch was ended because it has missed something. */
  async guard(watch: EtcdWatch, reading: Reading): Promise<void> {
    while (!reading.isOver) {
      await reading.untilWaiting()
      const { answers } = reading
      const isSilent = () => !reading.isOver && reading.isWaiting && reading.answers === answers
      await this.#wait(LOOK_STEPS, () => reading.isOver)
      if (!isSilent() || !(await this.#hasMissed(reading))) continue
      // it may be on its way
      await this.#wait(1, () => reading.isOver)
      if (isSilent()) return watch.cancel()
    }
  }

  /** Whether there is something that the watch was not told, or no way to know it. */
  async #hasMissed(reading: Reading): Promise<boolean> {
    try {
      const { revision } = await this.#client.range({ key: this.#range.key, limit: 1, keysOnly: true })
      const reached = BigInt(reading.reached)
      this.#twice = later(this.#twice, reached)
      this.#once = later(this.#once, reached)
      if (reading.isOver || BigInt(revision) <= this.#twice) return false
      for (const place of new Set([this.#twice, this.#once])) {
        const finding = await this.#probe(place, reading)
        if (finding !== 'compacted') return finding === 'missed'
      }
      return true
    } catch (error) {
      // a server that can not be asked says nothing of what was missed; one that answers has something to tell
      return error instanceof UnreadableAnswer
    }
  }

  /**
   * Begins another watch, and looks what comes. It begins with the last revision that was seen, and not with the next: were that one compacted,
   * etcd 3.4 and 3.5 would forget a deletion in it, and not say so.
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
      for await (const { canceled, compactRevision = '0', events, revision } of watch) {
        if (canceled) return compactRevision === '0' ? 'unknown' : 'compacted'
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
    if (now === undefined || left > 0 || reading.isOver) return 'unknown'
    this.#twice = later(this.#twice, now < this.#once ? now : this.#once)
    this.#once = later(this.#once, now)
    return 'quiet'
  }

  /** In steps, so that nothing is left waiting for long when it is over. */
  async #wait(steps: number, isOver: () => boolean): Promise<void> {
    for (let step = 0; step < steps && !isOver(); step++) await this.#sleep(STEP_MS)
  }
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

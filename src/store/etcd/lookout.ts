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
}

const STEP_MS = 1_000
/** How many steps of silence there are before something is looked at. */
const LOOK_STEPS = 15
/** How many steps another watch has to be told of what this one has missed. */
const PROBE_STEPS = 5

/**
 * Looks whether a watch to which nothing comes has missed something: a connection can go silent without an end.
 *
 * That etcd has a newer revision does not say so: it is one for all keys, and a watch of others is told of it every ten minutes, counted from
 * its own beginning. One that was begun anew whenever others have written would never be told, and fall behind what is compacted. So it is
 * ended only if another watch that begins where it is has something to tell.
 */
export class Lookout {
  readonly #client: EtcdClient
  readonly #range: KeyRange
  readonly #sleep: (milliseconds: number) => Promise<unknown>
  /** The oldest revision that can be watched, as far as it was told. */
  #oldest = 0n

  constructor(client: EtcdClient, range: KeyRange, sleep: (milliseconds: number) => Promise<unknown>) {
    this.#client = client
    this.#range = range
    this.#sleep = sleep
  }

  /** Until the reading is over, or the watch was ended because it has missed something. */
  async guard(watch: EtcdWatch, reading: Reading): Promise<void> {
    while (!reading.isOver) {
      const { answers } = reading
      const isSilent = () => !reading.isOver && reading.isWaiting && reading.answers === answers
      await this.#wait(LOOK_STEPS, () => reading.isOver)
      if (!isSilent() || !(await this.#hasMissed(reading))) continue
      // it may be on its way
      await this.#wait(1, () => reading.isOver)
      if (isSilent()) return watch.cancel()
    }
  }

  async #hasMissed(reading: Reading): Promise<boolean> {
    try {
      const { revision } = await this.#client.range({ key: this.#range.key, limit: 1, keysOnly: true })
      if (reading.isOver || BigInt(revision) <= BigInt(reading.reached)) return false
      return await this.#isTold(reading)
    } catch (error) {
      // a server that can not be asked says nothing of what was missed; one that answers has something to tell
      return error instanceof UnreadableAnswer
    }
  }

  /** Whether another watch is told of something that this one was not told. */
  async #isTold(reading: Reading): Promise<boolean> {
    const next = BigInt(reading.reached) + 1n
    const startRevision = String(next > this.#oldest ? next : this.#oldest)
    const watch = this.#client.watch({ ...this.#range, startRevision })
    const end = () => watch.cancel()
    let isEnough = false
    this.#wait(PROBE_STEPS, () => isEnough || reading.isOver).then(end, end)
    try {
      for await (const { events, canceled, compactRevision = '0' } of watch) {
        if (canceled) {
          this.#oldest = BigInt(compactRevision)
          return false
        }
        if (events.length > 0) return true
      }
      return false
    } finally {
      isEnough = true
      end()
    }
  }

  /** In steps, so that nothing is left waiting for long when it is over. */
  async #wait(steps: number, isOver: () => boolean): Promise<void> {
    for (let step = 0; step < steps && !isOver(); step++) await this.#sleep(STEP_MS)
  }
}

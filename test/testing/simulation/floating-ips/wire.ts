import type { Dice } from 'ipam-kit/testing'
import type { ProcessClock, WorldClock } from './clock.js'

/** What goes wrong with a call on its way. */
export interface Trouble<T> {
  /** For the trace. */
  readonly name: string
  /** How long the call takes to arrive. Left out: it does not arrive. */
  readonly arrivesMs?: number | undefined
  /** When the caller is answered, in milliseconds after the call was sent, and with what. */
  readonly answer?: { readonly afterMs: number; readonly value: T } | undefined
}

/** A moment at which a process can be suspended or end: around a call. */
export type Moment = 'before' | 'after'

export interface WireOptions {
  readonly world: WorldClock
  readonly clock: ProcessClock
  readonly dice: Dice
  /** Suspends or ends the process, if that is to happen at this moment of a call. */
  readonly disturb: (moment: Moment, label: string) => void
}

/**
 * The way from one process to a server and back. A call takes time in both directions. While its
 * process is suspended, a call that is on its way arrives, and its answer waits.
 */
export class Wire {
  readonly #options: WireOptions

  constructor(options: WireOptions) {
    this.#options = options
  }

  /** @param mostMs the longest time of one direction */
  async send<T>(label: string, mostMs: number, arrive: () => Promise<T>, trouble: Trouble<T> | undefined): Promise<T> {
    const { world, clock, dice, disturb } = this.#options
    disturb('before', label)
    await clock.running()
    const sentMs = world.nowMs
    const there = trouble === undefined ? 1 + dice.below(mostMs) : trouble.arrivesMs
    const arrived = there === undefined ? undefined : world.wait(there).then(arrive)
    const answer = trouble?.answer
    if (answer !== undefined) {
      disturb('after', label)
      await world.wait(sentMs + answer.afterMs - world.nowMs)
      await clock.running()
      return answer.value
    }
    const value = await (arrived as Promise<T>)
    disturb('after', label)
    await world.wait(1 + dice.below(mostMs))
    await clock.running()
    return value
  }
}

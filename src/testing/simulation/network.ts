import type { Dice } from './dice.js'
import type { Scheduler } from './scheduler.js'

/** A write that its writer has given up, and that is still on its way. */
interface LateCall {
  readonly actor: string
  readonly object: string
  readonly label: string
  readonly arrive: () => Promise<void>
}

/**
 * Writes that arrive when no writer waits for them any more: their connection has died, and the
 * server still does them. At any time, but before the next write of the same object, because a
 * server does those one after the other, and before their writer has a successor, because a server
 * that is set up well has given them up by then.
 */
export class Network {
  readonly #dice: Dice
  readonly #scheduler: Scheduler
  /**
   * How probable it is in each of its turns that something arrives: in some simulations much has
   * been done before it does.
   */
  readonly #haste: number
  #late: LateCall[] = []

  constructor(dice: Dice, scheduler: Scheduler) {
    this.#dice = dice
    this.#scheduler = scheduler
    this.#haste = dice.chance(0.5) ? 1 : 0.03
  }

  delay(call: LateCall): void {
    this.#late.push(call)
  }

  /** Lets late calls arrive when it is their turn, for as long as the simulation runs. */
  async live(): Promise<void> {
    for (;;) {
      await this.#scheduler.turn('network', 'what is late arrives', () => this.#late.length > 0)
      if (this.#late.length > 0 && this.#dice.chance(this.#haste)) await this.#arrive(this.#dice.pick(this.#late))
    }
  }

  /** Before a write of an object is done. */
  async passes(object: string): Promise<void> {
    for (const call of this.#late.filter((late) => late.object === object)) await this.#arrive(call)
  }

  /**
   * When the term of a writer has ended: what it had in flight arrives now, or never. @param
   * operation only calls of this kind
   */
  async ends(actor: string, operation = ''): Promise<void> {
    for (const call of this.#late.filter((late) => late.actor === actor && late.label.startsWith(operation))) {
      if (this.#dice.chance(0.5)) await this.#arrive(call)
      else this.#late = this.#late.filter((late) => late !== call)
    }
  }

  async #arrive(call: LateCall): Promise<void> {
    this.#late = this.#late.filter((late) => late !== call)
    this.#scheduler.note('network', `  late: ${call.label} of ${call.actor}`)
    await call.arrive()
  }
}

import type { Dice } from './dice.js'

/** An actor that waits for its turn. */
interface Turn {
  readonly actor: string
  readonly label: string
  readonly isEnabled: () => boolean
  readonly resolve: () => void
}

/**
 * Lets actors take turns, one at a time, in an order that a seed decides. An actor is an async
 * function that awaits nothing but its turns and what is done within them: so a run is the same
 * each time, without timers.
 */
export class Scheduler {
  readonly #dice: Dice
  readonly #waiting: Turn[] = []
  /**
   * The positions in `#waiting` of workers that can continue: its first entries, written anew in
   * each step.
   */
  readonly #enabled: number[] = []
  /** Called when the actor whose turn it is waits again, or has ended. */
  #yielded: () => void = () => {}
  #error: { readonly error: unknown } | undefined
  /** Whose turn it was for what, in order. */
  readonly schedule: string[] = []

  constructor(dice: Dice) {
    this.#dice = dice
  }

  /** Lets an actor begin; it runs until its first turn. */
  async start(body: () => Promise<void>): Promise<void> {
    await this.#untilYield(() => {
      body().then(
        () => this.#yielded(),
        (error: unknown) => {
          this.#error = { error }
          this.#yielded()
        },
      )
    })
    if (this.#error !== undefined) throw this.#error.error
  }

  /** Resolves when it is the turn of the actor, which may be never. */
  turn(actor: string, label: string, isEnabled: () => boolean = always): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ actor, label, isEnabled, resolve })
      this.#yielded()
    })
  }

  /** Gives a turn to a worker that can continue. False if none can. */
  async step(): Promise<boolean> {
    let count = 0
    for (let at = 0; at < this.#waiting.length; at++) if (this.#waiting[at]!.isEnabled()) this.#enabled[count++] = at
    if (count === 0) return false
    const [turn] = this.#waiting.splice(this.#enabled[this.#dice.below(count)]!, 1) as [Turn]
    this.note(turn.actor, turn.label)
    await this.#untilYield(turn.resolve)
    if (this.#error !== undefined) throw this.#error.error
    return true
  }

  /**
   * Lets one actor run until it waits again or has ended. What it has thrown is in `#error` then,
   * and ends the run.
   */
  #untilYield(begin: () => void): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#yielded = resolve
      begin()
    })
  }

  note(actor: string, text: string): void {
    this.schedule.push(`${actor}: ${text}`)
  }
}

function always(): boolean {
  return true
}

import { check } from '../../errors/check.js'

/**
 * A seeded random number generator: the same seed gives the same numbers on every machine
 * (mulberry32).
 */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 up to `limit`. */
  below(limit: number): number {
    check('Dice.below', 'limit', limit, 'number')

    return Math.floor(this.next() * limit)
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** One of several. */
  pick<T>(items: readonly T[]): T {
    check('Dice.pick', 'items', items, 'list')

    return items[this.below(items.length)]!
  }
}

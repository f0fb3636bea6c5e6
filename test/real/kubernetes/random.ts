/** Numbers that look random, and are the same for the same seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  value(depth: number): unknown {
    const kinds = depth > 0 ? 7 : 4
    switch (this.below(kinds)) {
      case 0:
        return null
      case 1:
        return this.pick([0, 1, -1.5, 7e9])
      case 2:
        return this.pick(['', 'x', 'ü ✓', '\u2028'])
      case 3:
        return this.chance(0.5)
      case 4:
        return Array.from({ length: this.below(4) }, () => this.value(depth - 1))
      default:
        return this.fields(depth - 1)
    }
  }

  fields(depth = 1): { [key: string]: unknown } {
    const keys = ['x', 'y', 'list', 'z'].filter(() => this.chance(0.5))
    const fields = Object.fromEntries(keys.map((key) => [key, this.value(depth)]))
    return this.chance(0.2) ? { ...fields, color: this.pick(['red', 'blue']) } : fields
  }
}

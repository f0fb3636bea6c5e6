/**
 * What is often written into an operator by hand: a `Set` of address texts, and a loop from the
 * first address to the first that is not in it. The same for children of a prefix, which are so
 * many addresses apart and whose texts end in their length.
 */
export class SetAndLoop {
  readonly used = new Set<string>()
  readonly #first: number
  readonly #last: number
  readonly #step: number
  readonly #suffix: string

  constructor(first: number, last: number, { step = 1, suffix = '' }: { step?: number; suffix?: string } = {}) {
    this.#first = first
    this.#last = last
    this.#step = step
    this.#suffix = suffix
  }

  allocate(): string | undefined {
    for (let value = this.#first; value <= this.#last; value += this.#step) {
      const text = `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}${this.#suffix}`
      if (this.used.has(text)) continue
      this.used.add(text)
      return text
    }
    return undefined
  }

  release(text: string): void {
    this.used.delete(text)
  }
}

/**
 * What is often written into an operator by hand: a `Set` of address texts, and a loop from the first address to the first that is not in
 * it.
 */
export class SetAndLoop {
  readonly used = new Set<string>()
  readonly #first: number
  readonly #last: number

  constructor(first: number, last: number) {
    this.#first = first
    this.#last = last
  }

  allocate(): string | undefined {
    for (let value = this.#first; value <= this.#last; value++) {
      const text = `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
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

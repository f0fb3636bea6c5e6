/**
 * A model of how go-ipam acquires an address of a prefix with its storage in memory: a copy of the
 * prefix with the map of all its addresses is read, walked from the first address to the first that
 * is not in it, and written back as another copy. A release reads and writes it as well. Without
 * its locks and versions: an estimate on the fast side.
 */
export class GoIpamModel {
  #stored = new Map<string, boolean>()
  readonly #first: number
  readonly #last: number

  constructor(first: number, last: number) {
    this.#first = first
    this.#last = last
  }

  acquire(): string | undefined {
    const addresses = new Map(this.#stored)
    for (let value = this.#first; value <= this.#last; value++) {
      const text = `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
      if (addresses.has(text)) continue
      addresses.set(text, true)
      this.#stored = new Map(addresses)
      return text
    }
    return undefined
  }

  release(text: string): void {
    const addresses = new Map(this.#stored)
    addresses.delete(text)
    this.#stored = new Map(addresses)
  }
}

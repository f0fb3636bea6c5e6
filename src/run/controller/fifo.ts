/**
 * First in, first out; an item is in it once at most.
 *
 * With `rankOf` the items that wait when none is left of those before are taken in the order of
 * their rank. So every item is taken before any that comes after that moment, and two processes
 * with different ranks begin at different items. O(1) amortised; with ranks O(log n).
 */
export class Fifo<T extends { isQueued: boolean }> {
  readonly #rankOf: ((item: T) => number) | undefined
  #items: T[] = []
  #head = 0
  /** Where in `#items` those end that are in the order of their rank. */
  #sortedEnd = 0

  constructor(rankOf?: ((item: T) => number) | undefined) {
    this.#rankOf = rankOf
  }

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    item.isQueued = true
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.#rankOf !== undefined && this.#head >= this.#sortedEnd) this.#sort(this.#rankOf)
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    item.isQueued = false
    this.#head++
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#sortedEnd -= this.#head
      this.#head = 0
    }
    return item
  }

  peek(count: number): readonly T[] {
    return this.#items.slice(this.#head, this.#head + count)
  }

  #sort(rankOf: (item: T) => number): void {
    const ranked = this.#items.slice(this.#head).map((item) => ({ item, rank: rankOf(item) }))
    this.#items = ranked.sort((left, right) => left.rank - right.rank).map(({ item }) => item)
    this.#head = 0
    this.#sortedEnd = this.#items.length
  }
}

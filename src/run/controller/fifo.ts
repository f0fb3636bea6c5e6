/** An item of queues, and the queue that it is in. */
export interface Queued {
  queue: object | undefined
}

/**
 * First in, first out. An item is in one queue at most: a push moves it. A queue skips the items
 * that were moved, and an item that comes back may be taken in its earlier place.
 *
 * With `rankOf` the items that wait when none is left of those before are taken in the order of
 * their rank. So every item is taken before any that comes after that moment, and two processes
 * with different ranks begin at different items. O(1) amortised; with ranks O(log n), and a long
 * list is sorted in parts, when they are reached.
 */
export class Fifo<T extends Queued> {
  readonly #rankOf: ((item: T) => number) | undefined
  /** The items that are taken next, and how many of them were taken. */
  #items: T[] = []
  #head = 0
  /** With ranks: what is taken after them, by the first bits of the rank, the next part last. */
  #parts: Ranked<T>[][] = []
  /** With ranks: what comes after all these. */
  #later: Ranked<T>[] = []

  constructor(rankOf?: ((item: T) => number) | undefined) {
    this.#rankOf = rankOf
  }

  push(item: T): void {
    item.queue = this
    if (this.#rankOf === undefined) this.#items.push(item)
    else this.#later.push({ item, rank: this.#rankOf(item) })
  }

  shift(): T | undefined {
    for (let item = this.#next(); item !== undefined; item = this.#next()) {
      if (item.queue !== this) continue
      item.queue = undefined
      return item
    }
    return undefined
  }

  #next(): T | undefined {
    if (this.#rankOf !== undefined && this.#head >= this.#items.length) this.#sort()
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#head++
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /** Some of the items. Without ranks: the next ones. */
  peek(count: number): readonly T[] {
    return this.#items.slice(this.#head, this.#head + count)
  }

  /** Sorts the next part. Without one, begins with the items that came since. */
  #sort(): void {
    if (this.#later.length > 0 && this.#parts.length === 0) {
      const count = this.#later.length > MOST_AT_ONCE ? PARTS : 1
      this.#parts = Array.from({ length: count }, () => [])
      for (const ranked of this.#later) {
        this.#parts[count - 1 - Math.floor((ranked.rank / 2 ** 32) * count)]!.push(ranked)
      }
      this.#later = []
    }
    while (this.#parts.length > 0 && this.#head >= this.#items.length) {
      const part = this.#parts.pop()!.sort((left, right) => left.rank - right.rank)
      this.#items = part.map(({ item }) => item)
      this.#head = 0
    }
    if (this.#head >= this.#items.length && this.#later.length > 0) this.#sort()
  }
}

interface Ranked<T> {
  readonly item: T
  readonly rank: number
}

/** How many items are sorted at once, and the number of parts of a longer list. */
const MOST_AT_ONCE = 1000
const PARTS = 256

/** First in, first out; an item is in it once at most. */
export class Fifo<T extends { isQueued: boolean }> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    item.isQueued = true
    this.#items.push(item)
  }

  shift(): T | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    item.isQueued = false
    this.#head++
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  peek(count: number): readonly T[] {
    return this.#items.slice(this.#head, this.#head + count)
  }
}

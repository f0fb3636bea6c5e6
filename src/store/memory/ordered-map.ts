/**
 * Values by keys that are texts, to be walked through in code-unit order of the keys from anywhere.
 */
export class OrderedMap<V> {
  readonly #entries = new Map<string, Slot<V>>()
  /** Every entry of `#entries`, and removed ones that have not been swept out yet. */
  #ordered: Slot<V>[] = []
  #isOrdered = true

  get size(): number {
    return this.#entries.size
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value
  }

  set(key: string, value: V): void {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      known.value = value
      return
    }
    const entry = { key, value, isRemoved: false }
    const last = this.#ordered.at(-1)
    if (last !== undefined && last.key > key) this.#isOrdered = false
    this.#entries.set(key, entry)
    this.#ordered.push(entry)
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    entry.isRemoved = true
    this.#entries.delete(key)
    // at most as many removed entries as others: a constant share of a deletion
    if (this.#ordered.length > 2 * this.#entries.size + 16) this.#sweep()
  }

  /** The values of {@link entries}. */
  *values(from?: string): Generator<V, void> {
    for (const { value } of this.entries(from)) yield value
  }

  /**
   * The entries of the keys that are not before `from`. Where it begins is found in O(log n), if no
   * key was added out of order since the last time; otherwise the keys are sorted first. Not to be
   * changed meanwhile.
   */
  *entries(from = ''): Generator<Entry<V>, void> {
    this.#order()
    for (let index = this.#firstNotBefore(from); index < this.#ordered.length; index++) {
      const entry = this.#ordered[index]!
      if (!entry.isRemoved) yield entry
    }
  }

  #order(): void {
    if (this.#isOrdered) return
    this.#sweep()
    this.#ordered.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
    this.#isOrdered = true
  }

  /** Removed entries lie where they were: they are in order too. */
  #firstNotBefore(key: string): number {
    let [low, high] = [0, this.#ordered.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ordered[middle]!.key < key) low = middle + 1
      else high = middle
    }
    return low
  }

  #sweep(): void {
    this.#ordered = this.#ordered.filter(({ isRemoved }) => !isRemoved)
  }
}

export interface Entry<V> {
  readonly key: string
  readonly value: V
}

interface Slot<V> extends Entry<V> {
  value: V
  isRemoved: boolean
}

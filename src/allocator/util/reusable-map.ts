/**
 * A map for keys that are added and removed repeatedly, such as the lowest address of a pool.
 *
 * The `Map` of V8 keeps a deleted entry in its hash chain until the table is rebuilt, so setting
 * and deleting one key repeatedly walks an ever longer chain: 26 µs for each operation in place of
 * 30 ns. Here a deleted key keeps an empty entry, which is filled again. When two thirds of the
 * entries are empty, the table is rebuilt. All operations are O(1) amortised, with one look-up
 * each: a caller reads a key before it writes, and knows whether it exists.
 */
export class ReusableMap<K, V> {
  #places = new Map<K, V | undefined>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: K): V | undefined {
    return this.#places.get(key)
  }

  /** Adds a key that is not there. */
  add(key: K, value: V & {}): void {
    this.#size++
    this.#places.set(key, value)
  }

  /** Gives a key that is there another value. */
  replace(key: K, value: V & {}): void {
    this.#places.set(key, value)
  }

  /** Removes a key that is there. */
  remove(key: K): void {
    this.#places.set(key, undefined)
    this.#size--
    if (this.#places.size > 3 * this.#size + 32) this.#rebuild()
  }

  /** The values, in no order to rely on. */
  *values(): IterableIterator<V> {
    for (const value of this.#places.values()) if (value !== undefined) yield value
  }

  #rebuild(): void {
    const kept = new Map<K, V | undefined>()
    for (const [key, value] of this.#places) if (value !== undefined) kept.set(key, value)
    this.#places = kept
  }
}

import { ReusableMap } from './reusable-map.js'

/**
 * The storage of a {@link MultiMap}. A caller reads a key before it writes, so it calls `add` or
 * `replace` correctly.
 */
export interface Entries<K, V> {
  get(key: K): V | undefined
  /** Adds a key that is not there. */
  add(key: K, value: V & {}): void
  /** Gives a key that is there another value. */
  replace(key: K, value: V & {}): void
  /** Removes a key that is there. */
  remove(key: K): void
  /** The values, in no order to rely on. */
  values(): IterableIterator<V>
}

/**
 * A map from a key to one value, rarely to several values, which have keys of their own.
 *
 * One value is stored as it is, and several are stored as a `Map`. Nearly every address has one
 * owner, and nearly every owner one address: half a million small lists would slow down the garbage
 * collector. O(1) amortised, except for `get` and `values`.
 */
export class MultiMap<K, I, T extends object> {
  readonly #places: Entries<K, T | Map<I, T>>
  readonly #keyOf: (value: T) => I

  /**
   * @param keyOf the key that identifies a value among the values of one key
   * @param places empty ones
   */
  constructor(keyOf: (value: T) => I, places: Entries<K, T | Map<I, T>> = new ReusableMap()) {
    this.#keyOf = keyOf
    this.#places = places
  }

  /** The values under a key, in the order in which they were added. */
  get(key: K): T[] {
    const place = this.#places.get(key)
    if (place === undefined) return []
    return place instanceof Map ? [...place.values()] : [place]
  }

  /** One value under a key, or `undefined`. */
  find(key: K, inner: I): T | undefined {
    const place = this.#places.get(key)
    if (place === undefined) return undefined
    if (place instanceof Map) return place.get(inner)
    return this.#keyOf(place) === inner ? place : undefined
  }

  /** Whether there is any value under a key. */
  hasAny(key: K): boolean {
    return this.#places.get(key) !== undefined
  }

  /** Adds a value that is not there yet. Returns whether it is the only one under its key. */
  add(key: K, value: T): boolean {
    const place = this.#places.get(key)
    if (place === undefined) {
      this.#places.add(key, value)
      return true
    }
    if (place instanceof Map) place.set(this.#keyOf(value), value)
    else {
      const both = new Map<I, T>()
      both.set(this.#keyOf(place), place)
      both.set(this.#keyOf(value), value)
      this.#places.replace(key, both)
    }
    return false
  }

  /** Adds a value under a key that has none. One look-up. */
  addFirst(key: K, value: T): void {
    this.#places.add(key, value)
  }

  /**
   * Removes a value, or the one with its key, if it is there. Returns whether there is none under
   * its key any more.
   */
  delete(key: K, value: T): boolean {
    const place = this.#places.get(key)
    if (place !== value) {
      if (place === undefined) return true
      const inner = this.#keyOf(value)
      if (!(place instanceof Map)) {
        if (this.#keyOf(place) !== inner) return false
      } else {
        place.delete(inner)
        if (place.size > 0) return false
      }
    }
    this.#places.remove(key)
    return true
  }

  /** Removes all values under a key, and returns them, in the order in which they were added. */
  deleteAll(key: K): T[] {
    const values = this.get(key)
    if (values.length > 0) this.#places.remove(key)
    return values
  }

  /** Every value, in no order to rely on. */
  *values(): IterableIterator<T> {
    for (const place of this.#places.values()) {
      if (place instanceof Map) yield* place.values()
      else yield place
    }
  }
}

import type { Entries } from '../util/multi-map.js'
import { ReusableMap } from '../util/reusable-map.js'

/** The number of empty slots that a small map may have. */
const MOST_EMPTY = 1024

/**
 * A {@link ReusableMap} for keys that are mostly slots, which are numbers from 0. Slots are in an
 * array: engines store it densely while most of it is filled, and as a table otherwise. There is no
 * hashing, and no rebuild as it grows. All operations O(1) amortised.
 */
export class SlotMap<K, V> implements Entries<K, V> {
  /** `null` for a slot that was used and is empty, nothing for one that never was. */
  #slots: (V | null | undefined)[] = []
  readonly #others = new ReusableMap<K, V>()
  #size = 0
  #empty = 0

  get(key: K): V | undefined {
    return isSlot(key) ? (this.#slots[key] ?? undefined) : this.#others.get(key)
  }

  /** Adds a key that is not there. */
  add(key: K, value: V & {}): void {
    if (!isSlot(key)) {
      this.#others.add(key, value)
      return
    }
    if (this.#slots[key] === null) this.#empty--
    this.#slots[key] = value
    this.#size++
  }

  /** Gives a key that is there another value. */
  replace(key: K, value: V & {}): void {
    if (isSlot(key)) this.#slots[key] = value
    else this.#others.replace(key, value)
  }

  /** Removes a key that is there. */
  remove(key: K): void {
    if (!isSlot(key)) {
      this.#others.remove(key)
      return
    }
    this.#slots[key] = null
    this.#size--
    if (++this.#empty > 2 * this.#size + MOST_EMPTY) this.#rebuild()
  }

  /** The values, in no order to rely on. */
  *values(): IterableIterator<V> {
    // only slots that were ever used, however far they lie apart
    for (const slot in this.#slots) {
      const value = this.#slots[slot]
      if (value !== undefined && value !== null) yield value
    }
    yield* this.#others.values()
  }

  /** Many slots are empty. */
  #rebuild(): void {
    const kept: (V | null)[] = []
    for (const slot in this.#slots) {
      const value = this.#slots[slot]
      if (value !== undefined && value !== null) kept[Number(slot)] = value
    }
    this.#slots = kept
    this.#empty = 0
  }
}

function isSlot(key: unknown): key is number {
  return typeof key === 'number' && key >= 0
}

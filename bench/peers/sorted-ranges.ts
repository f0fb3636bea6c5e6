import type { SlotRange } from '../../src/allocator/slots/slots.js'

/**
 * What is often written by hand for a space with few allocations: the free ranges in two sorted
 * arrays, found by binary search. A range that comes or goes moves all behind it.
 */
export class SortedRanges {
  readonly size: number
  readonly #firsts: number[] = []
  readonly #lasts: number[] = []

  constructor(size: number, free: Iterable<SlotRange>) {
    this.size = size
    for (const { first, last } of free) {
      this.#firsts.push(first)
      this.#lasts.push(last)
    }
  }

  take(slot: number): boolean {
    const at = this.#atOrBehind(slot)
    const first = this.#firsts[at]
    const last = this.#lasts[at]!
    if (first === undefined || first > slot) return false
    if (first < slot && slot < last) {
      this.#firsts.splice(at + 1, 0, slot + 1)
      this.#lasts.splice(at, 0, slot - 1)
    } else if (first < slot) this.#lasts[at] = slot - 1
    else if (slot < last) this.#firsts[at] = slot + 1
    else {
      this.#firsts.splice(at, 1)
      this.#lasts.splice(at, 1)
    }
    return true
  }

  release(slot: number): boolean {
    const at = this.#atOrBehind(slot)
    if (this.#firsts[at]! <= slot) return false
    const isBehind = at > 0 && this.#lasts[at - 1] === slot - 1
    const isBefore = this.#firsts[at] === slot + 1
    if (isBehind && isBefore) {
      this.#firsts.splice(at, 1)
      this.#lasts.splice(at - 1, 1)
    } else if (isBehind) this.#lasts[at - 1] = slot
    else if (isBefore) this.#firsts[at] = slot
    else {
      this.#firsts.splice(at, 0, slot)
      this.#lasts.splice(at, 0, slot)
    }
    return true
  }

  nextFreeAround(from: number): number {
    const at = this.#atOrBehind(from)
    return at < this.#firsts.length ? Math.max(from, this.#firsts[at]!) : (this.#firsts[0] ?? -1)
  }

  /** The place of the lowest range that ends at a slot or behind it. */
  #atOrBehind(slot: number): number {
    let low = 0
    let high = this.#lasts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#lasts[middle]! < slot) low = middle + 1
      else high = middle
    }
    return low
  }
}

import type { FreeRunOptions, SlotRange, Slots } from 'ipam-kit/allocator'

/**
 * A simple model of slots: a `Set` and a `for` loop. Property tests compare every implementation
 * with it. Only for small sizes.
 */
export class ModelSlots implements Slots {
  readonly size: number
  readonly #taken: Set<number>

  constructor(size: number, taken: Iterable<number> = []) {
    this.size = size
    this.#taken = new Set(taken)
  }

  get used(): number {
    return this.#taken.size
  }

  has(index: number): boolean {
    return this.#taken.has(index)
  }

  take(index: number): boolean {
    if (this.#taken.has(index)) return false
    this.#taken.add(index)
    return true
  }

  release(index: number): boolean {
    return this.#taken.delete(index)
  }

  takeRange(first: number, last: number): number {
    let count = 0
    for (let index = first; index <= last; index++) if (this.take(index)) count++
    return count
  }

  releaseRange(first: number, last: number): number {
    let count = 0
    for (let index = first; index <= last; index++) if (this.release(index)) count++
    return count
  }

  nextFree(from: number): number {
    for (let index = from; index < this.size; index++) if (!this.#taken.has(index)) return index
    return -1
  }

  nextFreeAround(from: number): number {
    for (let step = 0; step < this.size; step++) {
      const index = (from + step) % this.size
      if (!this.#taken.has(index)) return index
    }
    return -1
  }

  nextUsed(from: number): number {
    for (let index = from; index < this.size; index++) if (this.#taken.has(index)) return index
    return -1
  }

  nextFreeRun(length: number, options: FreeRunOptions = {}): number {
    const { from = 0, alignment = 1, offset = 0 } = options
    for (let first = from; first + length <= this.size; first++) {
      if ((first + offset) % alignment !== 0) continue
      let index = first
      while (index < first + length && !this.#taken.has(index)) index++
      if (index === first + length) return first
    }
    return -1
  }

  countUsed(first: number, last: number): number {
    let count = 0
    for (let index = first; index <= last; index++) if (this.#taken.has(index)) count++
    return count
  }

  freeAt(rank: number): number {
    let left = rank
    for (let index = 0; index < this.size; index++) if (!this.#taken.has(index) && left-- === 0) return index
    return -1
  }

  freeRanges(): IterableIterator<SlotRange> {
    return this.#ranges(false)
  }

  usedRanges(): IterableIterator<SlotRange> {
    return this.#ranges(true)
  }

  *#ranges(taken: boolean): IterableIterator<SlotRange> {
    let first = -1
    for (let index = 0; index <= this.size; index++) {
      const inside = index < this.size && this.#taken.has(index) === taken
      if (inside && first < 0) first = index
      if (inside || first < 0) continue
      yield { first, last: index - 1 }
      first = -1
    }
  }

  fork(): ModelSlots {
    return new ModelSlots(this.size, this.#taken)
  }
}

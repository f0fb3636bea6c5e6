import { RangeLeaf } from './range-leaf.js'
import { RangeInner, type RangeNode } from './range-nodes.js'
import {
  alignedFrom,
  assertIndex,
  assertRange,
  assertWithin,
  checkedRun,
  type FreeRunOptions,
  MOST_SLOTS,
  type SlotRange,
  type Slots,
} from './slots.js'

/**
 * The free ranges of a space that is too large or too sparse for a bitmap, such as an IPv6 /64, in
 * a B+ tree.
 *
 *     |####|=====|##|=================|     # taken   = free
 *           5   9    12         2^52-1      what is kept: 5-9, 12-(2^52-1)
 *
 * Each node has the number of its free slots and the length of its longest free range. So a count,
 * the n-th free slot and the lowest run of a length need no walk over the ranges. Methods are O(log
 * r) for r free ranges, unless they say otherwise. A free range needs 10 bytes if ranges are added
 * in order, and 11 to 15 otherwise; with more than 2^32 slots, 18, and 19 to 24.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a size that is not a whole number from 0 to 2^52;
 * `INDEX_OUT_OF_RANGE`
 * @example
 * const tree = new RangeTree(2 ** 52)
 * tree.takeRange(0, 999_999) // 1000000
 * tree.nextFree(0) // 1000000
 */
export class RangeTree implements Slots {
  readonly #size: number
  #root: RangeNode

  constructor(size: number) {
    assertWithin('RangeTree', 'size', size, 0, MOST_SLOTS)
    // minus zero is a whole number too
    this.#size = size + 0
    this.#root = new RangeLeaf(size <= 2 ** 32 ? new Uint32Array(0) : new Float64Array(0))
    if (size > 0) this.#root.add(0, size - 1)
  }

  get size(): number {
    return this.#size
  }

  get used(): number {
    return this.size - this.#root.free
  }

  has(index: number): boolean {
    assertIndex(index, this.size)
    const leaf = this.#root.atOrAbove(index)
    return leaf === undefined || leaf.firstAt(leaf.at) > index
  }

  take(index: number): boolean {
    assertIndex(index, this.size)
    const before = this.#root.free
    this.#cut(index, index)
    return this.#root.free < before
  }

  release(index: number): boolean {
    assertIndex(index, this.size)
    return this.#release(index, index) === 1
  }

  /** O(log r) for each free range that it meets. */
  takeRange(first: number, last: number): number {
    assertRange('RangeTree.takeRange', first, last, this.size)
    return this.#take(first, last)
  }

  /** O(log r) for each free range that it meets. */
  releaseRange(first: number, last: number): number {
    assertRange('RangeTree.releaseRange', first, last, this.size)
    return this.#release(first, last)
  }

  nextFree(from: number): number {
    if (from === this.size) return -1
    assertIndex(from, this.size)
    const leaf = this.#root.atOrAbove(from)
    return leaf === undefined ? -1 : Math.max(from + 0, leaf.firstAt(leaf.at))
  }

  nextFreeAround(from: number): number {
    const found = this.nextFree(from)
    return found < 0 && from > 0 ? this.nextFree(0) : found
  }

  nextUsed(from: number): number {
    if (from === this.size) return -1
    assertIndex(from, this.size)
    const leaf = this.#root.atOrAbove(from)
    if (leaf === undefined || leaf.firstAt(leaf.at) > from) return from + 0
    const behind = leaf.lastAt(leaf.at) + 1
    return behind === this.size ? -1 : behind
  }

  /** O(log r) for each free range that is long enough but for the alignment. */
  nextFreeRun(length: number, options: FreeRunOptions = {}): number {
    const { from, alignment, offset } = checkedRun('RangeTree.nextFreeRun', length, options, this.size)
    for (let start = from; start < this.size; ) {
      const leaf = this.#root.longEnough(length, start)
      if (leaf === undefined) return -1
      const last = leaf.lastAt(leaf.at)
      const first = alignedFrom(Math.max(start, leaf.firstAt(leaf.at)), alignment, offset)
      if (last - first + 1 >= length) return first
      start = last + 1
    }
    return -1
  }

  countUsed(first: number, last: number): number {
    assertRange('RangeTree.countUsed', first, last, this.size)
    return last - first + 1 - (this.#root.freeBelow(last + 1) - this.#root.freeBelow(first))
  }

  freeAt(rank: number): number {
    assertWithin('RangeTree.freeAt', 'rank', rank, 0, Number.MAX_SAFE_INTEGER)
    return rank < this.#root.free ? this.#root.freeAt(rank) : -1
  }

  *freeRanges(): IterableIterator<SlotRange> {
    for (let leaf: RangeLeaf | undefined = this.#root.firstLeaf(); leaf !== undefined; leaf = leaf.next) {
      for (let at = 0; at < leaf.count; at++) yield { first: leaf.firstAt(at), last: leaf.lastAt(at) }
    }
  }

  *usedRanges(): IterableIterator<SlotRange> {
    let first = 0
    for (const free of this.freeRanges()) {
      if (free.first > first) yield { first, last: free.first - 1 }
      first = free.last + 1
    }
    if (first < this.size) yield { first, last: this.size - 1 }
  }

  /** O(r). */
  fork(): RangeTree {
    const twin = new RangeTree(this.size)
    twin.#root = this.#root.copy({ leaf: undefined })
    return twin
  }

  /**
   *     free      |------|     |--|   |-------|
   *     taken         |===================|
   *     left      |--|                     |--|
   */
  #take(first: number, last: number): number {
    const before = this.#root.free
    for (let from = first; from <= last; ) {
      const leaf = this.#root.atOrAbove(from)
      if (leaf === undefined) break
      const start = Math.max(from, leaf.firstAt(leaf.at))
      const end = Math.min(last, leaf.lastAt(leaf.at))
      if (start > last) break
      this.#cut(start, end)
      from = end + 1
    }
    return before - this.#root.free
  }

  /**
   *     free      |--|     |--|  |--|      |--|
   *     freed         |=============|               what it meets or touches becomes one with it
   *     then      |------------------|     |--|
   */
  #release(first: number, last: number): number {
    const before = this.#root.free
    let from = first + 0
    let to = last + 0
    for (;;) {
      const leaf = this.#root.atOrAbove(first)
      if (leaf === undefined) break
      const start = leaf.firstAt(leaf.at)
      const end = leaf.lastAt(leaf.at)
      if (start <= first && last <= end) return 0
      // a range that only touches is joined where it is, unless it begins a leaf: then it may be
      // another leaf than the one below
      if (start > last + 1 || (start === last + 1 && leaf.at > 0)) break
      this.#cut(start, end)
      from = Math.min(from, start)
      to = Math.max(to, end)
    }
    this.#changed(this.#root.add(from, to))
    return this.#root.free - before
  }

  #cut(first: number, last: number): void {
    this.#changed(this.#root.cut(first, last))
  }

  /**
   * The root has become too large for one node and gave away the part `above`, or has one child
   * left.
   */
  #changed(above: RangeNode | undefined): void {
    if (above !== undefined) this.#root = RangeInner.over(this.#root, above)
    else if (this.#root instanceof RangeInner) this.#root = this.#root.only ?? this.#root
  }
}

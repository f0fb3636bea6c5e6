/** Ranges of a leaf, at most. */
const MOST = 192
/**
 * A leaf that is left with fewer than this is joined with a neighbour, or given some of what that
 * has.
 */
const LEAST = 64
/**
 * The number of ranges by which the array of a leaf grows. It shrinks when it has room for twice
 * this number.
 */
const STEP = 16

/**
 * Where each range begins and ends: 8 bytes a range where every slot is below 2^32, and 16 beyond.
 */
type Ends = Uint32Array | Float64Array

/**
 * A leaf of a `RangeTree`.
 *
 *     |####|=====|##|=================|     # taken   = free
 *           5   9    12             28      what the array has: 5, 9, 12, 28
 *
 * The array is as long as it has to be, with room for a few ranges more: a leaf that is a third
 * full takes a third of the bytes.
 */
export class RangeLeaf {
  count = 0
  free = 0
  longest = 0
  next: RangeLeaf | undefined
  /** Where the last search ended. */
  at = -1
  #ends: Ends

  /** A leaf that has no ranges, whatever the array contains. */
  constructor(ends: Ends) {
    this.#ends = ends
  }

  get first(): number {
    return this.firstAt(0)
  }

  get isSparse(): boolean {
    return this.count < LEAST
  }

  firstAt(at: number): number {
    return this.#ends[2 * at]!
  }

  lastAt(at: number): number {
    return this.#ends[2 * at + 1]!
  }

  atOrAbove(index: number): RangeLeaf | undefined {
    const at = this.#floor(index)
    this.at = at >= 0 && this.lastAt(at) >= index ? at : at + 1
    if (this.at < this.count) return this
    if (this.next !== undefined) this.next.at = 0
    return this.next
  }

  longEnough(length: number, from: number): RangeLeaf | undefined {
    const ends = this.#ends
    const stop = 2 * this.count
    let i = 2 * Math.max(0, this.#floor(from))
    // only the first of these ranges may begin below
    if (ends[i + 1]! - from + 1 < length) i += 2
    while (i < stop && ends[i + 1]! - ends[i]! + 1 < length) i += 2
    this.at = i / 2
    return i < stop ? this : undefined
  }

  freeBelow(index: number): number {
    const at = this.#floor(index)
    if (at < 0) return 0
    // the shorter way, from below or from above
    const below = 2 * at < this.count ? this.#freeOf(0, at) : this.free - this.#freeOf(at, this.count)
    return below + Math.min(this.lastAt(at) + 1, index) - this.firstAt(at)
  }

  freeAt(rank: number): number {
    return 2 * rank < this.free ? this.#freeFromBelow(rank) : this.#freeFromAbove(this.free - 1 - rank)
  }

  /**
   *     ranges    |--|   |---|      |---|   |--|      |---|
   *     added         |=|        |=|     |=|     |=|
   *     then      |--||=||---|   |=||---||=||--| |=|  |---|     what touches is one range
   */
  add(first: number, last: number): RangeLeaf | undefined {
    const at = this.#floor(first)
    const touchesBelow = at >= 0 && this.lastAt(at) === first - 1
    const touchesAbove = at + 1 < this.count && this.firstAt(at + 1) === last + 1
    const end = touchesAbove ? this.lastAt(at + 1) : last
    if (touchesBelow) {
      this.#changeAt(at, this.firstAt(at), end)
      if (touchesAbove) this.#removeAt(at + 1)
    } else if (touchesAbove) this.#changeAt(at + 1, first, end)
    else return this.#insertAt(at + 1, first, last)
    return undefined
  }

  /**
   *     range     |-----------|   |-------|   |-------|   |---|
   *     cut           |===|           |===|   |===|       |===|
   *     then      |--|     |--|   |--|             |--|
   */
  cut(first: number, last: number): RangeLeaf | undefined {
    const at = this.#floor(first)
    if (at < 0 || this.lastAt(at) < last) return undefined
    const start = this.firstAt(at)
    const end = this.lastAt(at)
    if (start < first) {
      this.#changeAt(at, start, first - 1)
      if (last < end) return this.#insertAt(at + 1, last + 1, end)
    } else if (last < end) this.#changeAt(at, last + 1, end)
    else this.#removeAt(at)
    return undefined
  }

  join(above: RangeLeaf): boolean {
    const count = this.count + above.count
    if (count > MOST) {
      this.#evenOut(above)
      return false
    }
    this.#fit(count)
    this.#ends.set(above.#ends.subarray(0, 2 * above.count), 2 * this.count)
    this.count = count
    this.free += above.free
    this.longest = Math.max(this.longest, above.longest)
    this.next = above.next
    return true
  }

  firstLeaf(): RangeLeaf {
    return this
  }

  copy(copied: { leaf: RangeLeaf | undefined }): RangeLeaf {
    const twin = new RangeLeaf(this.#ends.slice())
    twin.count = this.count
    twin.free = this.free
    twin.longest = this.longest
    if (copied.leaf !== undefined) copied.leaf.next = twin
    copied.leaf = twin
    return twin
  }

  /** The place of the last range that begins at `index` or below, or -1. */
  #floor(index: number): number {
    const ends = this.#ends
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (ends[2 * middle]! <= index) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #freeFromBelow(rank: number): number {
    const ends = this.#ends
    let left = rank
    for (let i = 0; ; i += 2) {
      const size = ends[i + 1]! - ends[i]! + 1
      if (left < size) return ends[i]! + left
      left -= size
    }
  }

  #freeFromAbove(rank: number): number {
    const ends = this.#ends
    let left = rank
    for (let i = 2 * this.count - 2; ; i -= 2) {
      const size = ends[i + 1]! - ends[i]! + 1
      if (left < size) return ends[i + 1]! - left
      left -= size
    }
  }

  #insertAt(at: number, first: number, last: number): RangeLeaf | undefined {
    if (this.count === MOST) return this.#split(at, first, last)
    this.#fit(this.count + 1)
    this.#ends.copyWithin(2 * at + 2, 2 * at, 2 * this.count)
    this.#ends[2 * at] = first
    this.#ends[2 * at + 1] = last
    this.count++
    this.#resized(0, last - first + 1)
    return undefined
  }

  #changeAt(at: number, first: number, last: number): void {
    const before = this.#sizeAt(at)
    this.#ends[2 * at] = first
    this.#ends[2 * at + 1] = last
    this.#resized(before, last - first + 1)
  }

  #removeAt(at: number): void {
    const size = this.#sizeAt(at)
    this.#ends.copyWithin(2 * at, 2 * at + 2, 2 * this.count)
    this.count--
    this.#fit(this.count)
    this.#resized(size, 0)
  }

  /** Inserts into a full leaf: it keeps the lower half and returns the upper one. */
  #split(at: number, first: number, last: number): RangeLeaf {
    // what is added at the end continues there: ranges that come in order fill their leaves
    const left = at === MOST ? MOST : MOST / 2
    const above = new RangeLeaf(this.#ends.slice(2 * left))
    above.next = this.next
    this.next = above
    above.#has(this.count - left)
    this.#has(left)
    if (at <= left && left < MOST) this.#insertAt(at, first, last)
    else above.#insertAt(at - left, first, last)
    return above
  }

  #evenOut(above: RangeLeaf): void {
    const count = (this.count + above.count) >> 1
    const moved = count - this.count
    if (moved > 0) {
      this.#fit(count)
      this.#ends.set(above.#ends.subarray(0, 2 * moved), 2 * this.count)
      above.#ends.copyWithin(0, 2 * moved, 2 * above.count)
    } else {
      above.#fit(above.count - moved)
      above.#ends.copyWithin(-2 * moved, 0, 2 * above.count)
      above.#ends.set(this.#ends.subarray(2 * count, 2 * this.count))
    }
    above.#has(above.count - moved)
    this.#has(count)
  }

  /** The first ranges of the array are all that are left, or have come. */
  #has(count: number): void {
    this.count = count
    this.free = this.#freeOf(0, count)
    this.longest = this.#longestOf()
    this.#fit(count)
  }

  /** Resizes the array for a number of ranges, with room for a few more. */
  #fit(count: number): void {
    const room = this.#ends.length / 2
    if (count <= room && room < count + 2 * STEP) return
    const fitting = 2 * STEP * Math.max(1, Math.ceil(count / STEP))
    if (count <= room) {
      this.#ends = this.#ends.slice(0, fitting)
      return
    }
    const ends = this.#ends instanceof Uint32Array ? new Uint32Array(fitting) : new Float64Array(fitting)
    ends.set(this.#ends)
    this.#ends = ends
  }

  #sizeAt(at: number): number {
    return this.lastAt(at) - this.firstAt(at) + 1
  }

  #freeOf(from: number, to: number): number {
    const ends = this.#ends
    let free = 0
    for (let i = 2 * from; i < 2 * to; i += 2) free += ends[i + 1]! - ends[i]! + 1
    return free
  }

  #longestOf(): number {
    const ends = this.#ends
    const stop = 2 * this.count
    let longest = 0
    for (let i = 0; i < stop; i += 2) {
      const size = ends[i + 1]! - ends[i]! + 1
      if (size > longest) longest = size
    }
    return longest
  }

  #resized(before: number, after: number): void {
    this.free += after - before
    if (after >= this.longest) this.longest = after
    else if (before === this.longest) this.longest = this.#longestOf()
  }
}

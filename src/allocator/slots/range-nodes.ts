import type { RangeLeaf } from './range-leaf.js'

/** Children of an inner node, at most. */
const MOST = 64
/**
 * An inner node that is left with fewer than this is joined with a neighbour, or given some of what
 * that has.
 */
const LEAST = 16

/**
 * A part of a `RangeTree`: ranges in order that neither overlap nor touch. Searches return the leaf
 * that they end in, with the place in its `at`, and make no object.
 */
export interface RangeNode {
  /** Ranges, or children. */
  readonly count: number
  /** Where the first range begins. */
  readonly first: number
  /** How many slots the ranges have together. */
  readonly free: number
  /** The size of the longest range. */
  readonly longest: number
  /** Whether it has so few ranges, or children, that it should not stay as it is. */
  readonly isSparse: boolean
  /** The lowest range that ends at `index` or above. */
  atOrAbove(index: number): RangeLeaf | undefined
  /** The lowest range that has `length` slots from `from` on. */
  longEnough(length: number, from: number): RangeLeaf | undefined
  /** How many slots of the ranges lie below `index`. */
  freeBelow(index: number): number
  /** The slot with `rank` ones below it: there is one. */
  freeAt(rank: number): number
  /**
   * Adds a range that overlaps none, as one with those that it touches: but for one above that
   * begins another leaf. A node that becomes too large keeps the lower part and returns the upper
   * one.
   */
  add(first: number, last: number): RangeNode | undefined
  /**
   * Takes slots out of the range that has them all: without such a range nothing changes. Returns
   * what `add` returns.
   */
  cut(first: number, last: number): RangeNode | undefined
  /**
   * Takes all from the neighbour above, which is to be forgotten, and returns true. If that is too
   * much, they even out.
   */
  join(above: this): boolean
  firstLeaf(): RangeLeaf
  /** A copy, whose first leaf is the next one of the leaf that was copied last. */
  copy(copied: { leaf: RangeLeaf | undefined }): RangeNode
}

export class RangeInner implements RangeNode {
  count = 0
  free = 0
  longest = 0
  #children: RangeNode[] = []
  /** What the children are, in the order of these. */
  readonly #firsts = new Float64Array(MOST)
  readonly #frees = new Float64Array(MOST)
  readonly #longests = new Float64Array(MOST)

  /** A node with two children. */
  static over(below: RangeNode, above: RangeNode): RangeInner {
    const node = new RangeInner()
    node.#own([below, above])
    return node
  }

  get first(): number {
    return this.#firsts[0]!
  }

  get isSparse(): boolean {
    return this.count < LEAST
  }

  /** The only child that is left, if it is so. */
  get only(): RangeNode | undefined {
    return this.count === 1 ? this.#children[0] : undefined
  }

  atOrAbove(index: number): RangeLeaf | undefined {
    return this.#children[this.#childFor(index)]!.atOrAbove(index)
  }

  longEnough(length: number, from: number): RangeLeaf | undefined {
    for (let i = this.#childFor(from); i < this.count; i++) {
      if (this.#longests[i]! < length) continue
      const found = this.#children[i]!.longEnough(length, from)
      if (found !== undefined) return found
    }
    return undefined
  }

  freeBelow(index: number): number {
    const child = this.#childFor(index)
    let sum = 0
    for (let i = 0; i < child; i++) sum += this.#frees[i]!
    return sum + this.#children[child]!.freeBelow(index)
  }

  freeAt(rank: number): number {
    let left = rank
    let i = 0
    for (; left >= this.#frees[i]!; i++) left -= this.#frees[i]!
    return this.#children[i]!.freeAt(left)
  }

  add(first: number, last: number): RangeInner | undefined {
    const i = this.#childFor(first)
    const before = this.#children[i]!.count
    return this.#changed(i, before, this.#children[i]!.add(first, last))
  }

  cut(first: number, last: number): RangeInner | undefined {
    const i = this.#childFor(first)
    const before = this.#children[i]!.count
    return this.#changed(i, before, this.#children[i]!.cut(first, last))
  }

  join(above: RangeInner): boolean {
    const all = [...this.#children, ...above.#children]
    const left = all.length <= MOST ? all.length : all.length >> 1
    this.#own(all.slice(0, left))
    above.#own(all.slice(left))
    return above.count === 0
  }

  firstLeaf(): RangeLeaf {
    return this.#children[0]!.firstLeaf()
  }

  copy(copied: { leaf: RangeLeaf | undefined }): RangeInner {
    const twin = new RangeInner()
    twin.#own(this.#children.map((child) => child.copy(copied)))
    return twin
  }

  /** The last child that begins at `index` or below, or the first one. */
  #childFor(index: number): number {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#firsts[middle]! <= index) low = middle + 1
      else high = middle
    }
    return Math.max(0, low - 1)
  }

  /**
   * Handles the change of a child, which had `before` children and may have split off the part
   * `above`.
   */
  #changed(i: number, before: number, above: RangeNode | undefined): RangeInner | undefined {
    this.#refresh(i)
    if (above !== undefined) return this.#adopt(i + 1, above)
    const { count, isSparse } = this.#children[i]!
    // the last leaf may have few because it is new: it is left to grow
    if (count < before && isSparse) this.#balance(i)
    return undefined
  }

  #adopt(i: number, child: RangeNode): RangeInner | undefined {
    if (this.count < MOST) {
      this.#insertAt(i, child)
      return undefined
    }
    const right = new RangeInner()
    right.#own(this.#children.slice(MOST / 2))
    this.#own(this.#children.slice(0, MOST / 2))
    if (i <= this.count) this.#insertAt(i, child)
    else right.#insertAt(i - this.count, child)
    return right
  }

  #balance(i: number): void {
    // there is always a neighbour: an inner node has two children at least
    const at = i > 0 ? i - 1 : i
    const above = this.#children[at + 1]!
    if (this.#children[at]!.join(above)) {
      this.#own(this.#children.filter((other) => other !== above))
    } else {
      this.#refresh(at)
      this.#refresh(at + 1)
    }
  }

  #insertAt(i: number, child: RangeNode): void {
    for (const values of [this.#firsts, this.#frees, this.#longests]) values.copyWithin(i + 1, i, this.count)
    this.#children.splice(i, 0, child)
    this.count++
    this.#frees[i] = 0
    this.#longests[i] = 0
    this.#refresh(i)
  }

  /** Has these children, and no others. */
  #own(children: RangeNode[]): void {
    this.#children = children
    this.count = children.length
    this.free = 0
    for (let i = 0; i < this.count; i++) {
      const { first, free, longest } = children[i]!
      this.#firsts[i] = first
      this.#frees[i] = free
      this.#longests[i] = longest
      this.free += free
    }
    this.longest = this.#longestOf()
  }

  /** A child has changed. */
  #refresh(i: number): void {
    const { first, free, longest } = this.#children[i]!
    const before = this.#longests[i]!
    this.free += free - this.#frees[i]!
    this.#firsts[i] = first
    this.#frees[i] = free
    this.#longests[i] = longest
    if (longest >= this.longest) this.longest = longest
    else if (before === this.longest) this.longest = this.#longestOf()
  }

  #longestOf(): number {
    let longest = 0
    for (let i = 0; i < this.count; i++) {
      if (this.#longests[i]! > longest) longest = this.#longests[i]!
    }
    return longest
  }
}

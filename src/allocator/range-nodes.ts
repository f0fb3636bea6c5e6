/** Entries of a leaf, and children of an inner node, at most. */
const ORDER = 64
/** A part that is left with fewer than this is joined with a neighbour, or given some of what that has. */
const LEAST = 16

/**
 * A part of a `RangeTree`: ranges in order that neither overlap nor touch. Searches return the leaf that they end in, with the place in
 * its `at`, and make no object.
 */
export interface RangeNode {
  /** Entries, or children. */
  count: number
  /** Where the first range begins. */
  readonly first: number
  /** How many slots the ranges have together. */
  free: number
  /** The size of the longest range. */
  longest: number
  /** The lowest range that ends at `index` or above. */
  atOrAbove(index: number): RangeLeaf | undefined
  /** The lowest range that has `length` slots from `from` on. */
  longEnough(length: number, from: number): RangeLeaf | undefined
  /** How many slots of the ranges lie below `index`. */
  freeBelow(index: number): number
  /** The slot with `rank` ones below it: there is one. */
  freeAt(rank: number): number
  /** Adds a range. A node that becomes too large keeps the lower half and returns the upper one. */
  insert(first: number, last: number): RangeNode | undefined
  /** Gives the range that begins at `key` other ends. Its neighbours stay its neighbours. */
  change(key: number, first: number, last: number): void
  /** Removes the range that begins at `key`. */
  remove(key: number): void
  /** Takes all from the neighbour above. */
  absorb(above: this): void
  /** Evens out with the neighbour above. */
  share(above: this): void
  firstLeaf(): RangeLeaf
  /** A copy, whose first leaf is the next one of the leaf that was copied last. */
  copy(copied: { leaf: RangeLeaf | undefined }): RangeNode
}

export class RangeLeaf implements RangeNode {
  count = 0
  free = 0
  longest = 0
  next: RangeLeaf | undefined
  /** Where the last search ended. */
  at = -1
  readonly firsts = new Float64Array(ORDER)
  readonly lasts = new Float64Array(ORDER)

  get first(): number {
    return this.firsts[0]!
  }

  atOrAbove(index: number): RangeLeaf | undefined {
    const at = floorOf(this.firsts, this.count, index)
    this.at = at >= 0 && this.lasts[at]! >= index ? at : at + 1
    return this.at < this.count ? this : this.#beginningOfNext()
  }

  #beginningOfNext(): RangeLeaf | undefined {
    if (this.next !== undefined) this.next.at = 0
    return this.next
  }

  longEnough(length: number, from: number): RangeLeaf | undefined {
    for (let at = Math.max(0, floorOf(this.firsts, this.count, from)); at < this.count; at++) {
      if (this.lasts[at]! - Math.max(from, this.firsts[at]!) + 1 < length) continue
      this.at = at
      return this
    }
    return undefined
  }

  freeBelow(index: number): number {
    let sum = 0
    for (let at = 0; at < this.count && this.firsts[at]! < index; at++) {
      sum += Math.min(this.lasts[at]! + 1, index) - this.firsts[at]!
    }
    return sum
  }

  freeAt(rank: number): number {
    let left = rank
    let at = 0
    for (; left >= this.#sizeAt(at); at++) left -= this.#sizeAt(at)
    return this.firsts[at]! + left
  }

  insert(first: number, last: number): RangeLeaf | undefined {
    const at = floorOf(this.firsts, this.count, first) + 1
    if (this.count < ORDER) {
      this.#insertAt(at, first, last)
      return undefined
    }
    const above = new RangeLeaf()
    above.next = this.next
    this.next = above
    // what is added at the end goes on there: ranges that come in order fill their leaves
    this.#moveTo(above, at === ORDER ? ORDER : ORDER >> 1)
    if (at <= this.count && at < ORDER) this.#insertAt(at, first, last)
    else above.#insertAt(at - this.count, first, last)
    return above
  }

  change(key: number, first: number, last: number): void {
    const at = floorOf(this.firsts, this.count, key)
    const before = this.#sizeAt(at)
    this.firsts[at] = first
    this.lasts[at] = last
    this.#resized(before, last - first + 1)
  }

  remove(key: number): void {
    const at = floorOf(this.firsts, this.count, key)
    const size = this.#sizeAt(at)
    this.firsts.copyWithin(at, at + 1, this.count)
    this.lasts.copyWithin(at, at + 1, this.count)
    this.count--
    this.#resized(size, 0)
  }

  absorb(above: RangeLeaf): void {
    this.firsts.set(above.firsts.subarray(0, above.count), this.count)
    this.lasts.set(above.lasts.subarray(0, above.count), this.count)
    this.count += above.count
    this.next = above.next
    this.free += above.free
    this.longest = Math.max(this.longest, above.longest)
  }

  share(above: RangeLeaf): void {
    const moved = ((this.count + above.count) >> 1) - this.count
    for (const [mine, theirs] of [
      [this.firsts, above.firsts],
      [this.lasts, above.lasts],
    ] as const) {
      if (moved > 0) {
        mine.set(theirs.subarray(0, moved), this.count)
        theirs.copyWithin(0, moved, above.count)
      } else {
        theirs.copyWithin(-moved, 0, above.count)
        theirs.set(mine.subarray(this.count + moved, this.count))
      }
    }
    this.count += moved
    above.count -= moved
    for (const leaf of [this, above]) leaf.#sum()
  }

  firstLeaf(): RangeLeaf {
    return this
  }

  copy(copied: { leaf: RangeLeaf | undefined }): RangeLeaf {
    const twin = new RangeLeaf()
    twin.count = this.count
    twin.free = this.free
    twin.longest = this.longest
    twin.firsts.set(this.firsts)
    twin.lasts.set(this.lasts)
    if (copied.leaf !== undefined) copied.leaf.next = twin
    copied.leaf = twin
    return twin
  }

  #sizeAt(at: number): number {
    return this.lasts[at]! - this.firsts[at]! + 1
  }

  #insertAt(at: number, first: number, last: number): void {
    this.firsts.copyWithin(at + 1, at, this.count)
    this.lasts.copyWithin(at + 1, at, this.count)
    this.firsts[at] = first
    this.lasts[at] = last
    this.count++
    this.#resized(0, last - first + 1)
  }

  /** Moves the ranges from `at` on to a leaf that is empty. */
  #moveTo(above: RangeLeaf, at: number): void {
    above.firsts.set(this.firsts.subarray(at, this.count))
    above.lasts.set(this.lasts.subarray(at, this.count))
    above.count = this.count - at
    this.count = at
    for (const leaf of [this, above]) leaf.#sum()
  }

  #sum(): void {
    this.free = 0
    this.longest = 0
    for (let at = 0; at < this.count; at++) {
      this.free += this.#sizeAt(at)
      this.longest = Math.max(this.longest, this.#sizeAt(at))
    }
  }

  #resized(before: number, after: number): void {
    this.free += after - before
    if (after >= this.longest) this.longest = after
    else if (before === this.longest) this.#sum()
  }
}

export class RangeInner implements RangeNode {
  count = 0
  free = 0
  longest = 0
  #children: RangeNode[] = []
  /** What the children are, in the order of these. */
  readonly #firsts = new Float64Array(ORDER)
  readonly #frees = new Float64Array(ORDER)
  readonly #longests = new Float64Array(ORDER)

  /** A node with two children. */
  static over(below: RangeNode, above: RangeNode): RangeInner {
    const node = new RangeInner()
    node.#own([below, above])
    return node
  }

  get first(): number {
    return this.#firsts[0]!
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

  insert(first: number, last: number): RangeInner | undefined {
    const i = this.#childFor(first)
    const above = this.#children[i]!.insert(first, last)
    this.#refresh(i)
    if (above === undefined) return undefined
    if (this.count < ORDER) {
      this.#insertAt(i + 1, above)
      return undefined
    }
    const right = new RangeInner()
    right.#own(this.#children.slice(ORDER >> 1))
    this.#own(this.#children.slice(0, ORDER >> 1))
    if (i + 1 <= this.count) this.#insertAt(i + 1, above)
    else right.#insertAt(i + 1 - this.count, above)
    return right
  }

  change(key: number, first: number, last: number): void {
    const i = this.#childFor(key)
    this.#children[i]!.change(key, first, last)
    this.#refresh(i)
  }

  remove(key: number): void {
    const i = this.#childFor(key)
    const child = this.#children[i]!
    child.remove(key)
    this.#refresh(i)
    if (child.count >= LEAST) return
    // there is always a neighbour: an inner node has two children at least
    const at = i > 0 ? i - 1 : i
    const below = this.#children[at]!
    const above = this.#children[at + 1]!
    if (below.count + above.count <= ORDER) {
      below.absorb(above)
      this.#own(this.#children.filter((other) => other !== above))
    } else {
      below.share(above)
      this.#refresh(at)
      this.#refresh(at + 1)
    }
  }

  absorb(above: RangeInner): void {
    this.#own([...this.#children, ...above.#children])
  }

  share(above: RangeInner): void {
    const all = [...this.#children, ...above.#children]
    this.#own(all.slice(0, all.length >> 1))
    above.#own(all.slice(all.length >> 1))
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
    return Math.max(0, floorOf(this.#firsts, this.count, index))
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
    for (let i = 0; i < this.count; i++) {
      const { first, free, longest } = children[i]!
      this.#firsts[i] = first
      this.#frees[i] = free
      this.#longests[i] = longest
    }
    this.#sum()
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
    else if (before === this.longest) this.#sum()
  }

  #sum(): void {
    this.free = 0
    this.longest = 0
    for (let i = 0; i < this.count; i++) {
      this.free += this.#frees[i]!
      this.longest = Math.max(this.longest, this.#longests[i]!)
    }
  }
}

/** The place of the last of `count` ascending numbers that is at most `value`, or -1. */
function floorOf(ascending: Float64Array, count: number, value: number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}

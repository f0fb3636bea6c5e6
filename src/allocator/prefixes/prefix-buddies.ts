import { lowestBit } from '../util/bits.js'
import { isRelated, leavesOf, leavesOfParts, partAt, STRIDE, wholeParts, widestLevel } from './leaf-blocks.js'
import { PrefixCounts } from './prefix-counts.js'
import { BLOCKED, FREE, KIDS, NONE, PrefixNodes, ROOM, SHORTEST, TAKEN, UNKNOWN } from './prefix-nodes.js'
import type { PrefixWay } from './prefix-way.js'

/**
 * What of the root of a `PrefixTree` is free and what is taken. A step is about where the way
 * leads, with its leaves written as far as the length of the prefix needs.
 */
export class PrefixBuddies {
  readonly #way: PrefixWay
  readonly #counts: PrefixCounts
  readonly #nodes = new PrefixNodes()
  readonly #root: number
  /**
   * How often a part that is taken more than once is so, without the first time: by node and part.
   */
  readonly #again = new Map<number, number>()

  /** Nothing of it is of the space. */
  constructor(way: PrefixWay, bits: number) {
    this.#way = way
    this.#counts = new PrefixCounts(bits)
    this.#root = this.#nodes.make(true)
  }

  /** How long the shortest free prefix is. */
  get shortest(): number {
    return this.#nodes.words[this.#root + SHORTEST]!
  }

  /**
   * Makes a prefix part of the space. Of those that are they do not overlap, and no two are halves
   * of one.
   */
  include(length: number): void {
    const { leaves, nodes: path } = this.#way
    const nodes = this.#nodes
    let node = this.#root
    let base = this.#way.base
    let depth = 0
    for (; length > base + STRIDE; base += STRIDE) {
      const leaf = leaves[depth]!
      path[depth++] = node
      node = nodes.hasKid(node, leaf) ? nodes.kid(node, leaf) : nodes.addKid(node, leaf)
    }
    path[depth] = node
    nodes.include(node, leavesOf(length - base, leaves[depth]!))
    this.#counts.add(length, 1)
    this.#settle(depth, true)
  }

  /** How deep on the way to a prefix that is free the nodes end, or -1 if it is not free. */
  findFree(length: number): number {
    const { leaves, nodes: path } = this.#way
    const { words } = this.#nodes
    let node = this.#root
    for (let depth = 0, base = this.#way.base; ; depth++, base += STRIDE) {
      path[depth] = node
      const leaf = leaves[depth]!
      const free = words[node + FREE]!
      if (length <= base + STRIDE) {
        const part = leavesOf(length - base, leaf)
        return (free & part) === part ? depth : -1
      }
      if (((free >>> leaf) & 1) !== 0) return depth
      if (((words[node + ROOM]! >>> leaf) & 1) === 0) return -1
      node = this.#nodes.kid(node, leaf)
    }
  }

  /** Takes a prefix, whatever is taken in it or around it. */
  occupy(length: number): void {
    this.#way.nodes[0] = this.#root
    this.occupyFrom(0, length)
  }

  /**
   * Takes a prefix. The way to it has nodes down to a depth, above which nothing is taken that is
   * around it.
   */
  occupyFrom(from: number, length: number): void {
    const { leaves, nodes: path } = this.#way
    let depth = from
    let base = this.#way.base + depth * STRIDE
    let node = path[depth]!
    let isCovered = false
    for (; length >= base + STRIDE; base += STRIDE) {
      const leaf = leaves[depth]!
      if (((this.#nodes.words[node + BLOCKED]! >>> leaf) & 1) !== 0) isCovered = true
      node = this.#nodes.hasKid(node, leaf) ? this.#nodes.kid(node, leaf) : this.#addKid(node, base, leaf, isCovered)
      path[++depth] = node
    }
    this.#way.foundLength = -1
    const { words } = this.#nodes
    const level = length - base
    const leaf = leaves[depth]!
    const number = partAt(level, leaf)
    if (((words[node + TAKEN]! >>> number) & 1) !== 0) {
      const place = placeOf(node, number)
      this.#again.set(place, (this.#again.get(place) ?? 0) + 1)
      return
    }
    const part = leavesOf(level, leaf)
    const free = words[node + FREE]!
    if (!isCovered) {
      if ((free & part) === part) this.#counts.addPart(free, base, level, leaf, -1)
      else this.#countLeaves(node, base, part & ~words[node + BLOCKED]!, -1)
    }
    words[node + TAKEN]! |= 1 << number
    words[node + BLOCKED]! |= part
    words[node + FREE] = free & ~part
    words[node + ROOM]! &= ~part
    this.#settle(depth, isCovered)
  }

  /** Ends one hold of exactly this prefix. False, and nothing changes, if it is not taken. */
  release(length: number): boolean {
    const { leaves, nodes: path } = this.#way
    const { words } = this.#nodes
    let node = this.#root
    let depth = 0
    let base = this.#way.base
    let isCovered = false
    for (; length >= base + STRIDE; base += STRIDE) {
      const leaf = leaves[depth]!
      path[depth++] = node
      if (((words[node + KIDS]! >>> leaf) & 1) === 0) return false
      if (((words[node + BLOCKED]! >>> leaf) & 1) !== 0) isCovered = true
      node = this.#nodes.kid(node, leaf)
    }
    path[depth] = node
    const number = partAt(length - base, leaves[depth]!)
    if (((words[node + TAKEN]! >>> number) & 1) === 0) return false
    if (this.#again.size > 0 && this.#releaseOnce(placeOf(node, number))) return true
    this.#untake(node, base, length - base, leaves[depth]!, isCovered)
    this.#settle(depth, isCovered)
    return true
  }

  /** Ends that a part of a node is taken. */
  #untake(node: number, base: number, level: number, leaf: number, isCovered: boolean): void {
    const { words } = this.#nodes
    const number = partAt(level, leaf)
    const rest = words[node + TAKEN]! & ~(1 << number)
    const part = leavesOf(level, leaf)
    const before = words[node + BLOCKED]!
    const after = isRelated(number, rest) ? leavesOfParts(rest) : before & ~part
    this.#nodes.restrict(node, rest, after)
    if (isCovered) return
    const free = words[node + FREE]!
    if ((free & part) === part) this.#counts.addPart(free, base, level, leaf, 1)
    else this.#countLeaves(node, base, before & ~after, 1)
  }

  /** Whether a part was taken more than once: then it is still taken. */
  #releaseOnce(place: number): boolean {
    const again = this.#again.get(place)
    if (again === undefined) return false
    if (again === 1) this.#again.delete(place)
    else this.#again.set(place, again - 1)
    return true
  }

  #addKid(node: number, base: number, leaf: number, isCovered: boolean): number {
    const free = this.#nodes.words[node + FREE]!
    if (!isCovered && ((free >>> leaf) & 1) !== 0) {
      this.#counts.addPart(free, base, STRIDE, leaf, -1)
      this.#counts.add(base + STRIDE, 1)
    }
    return this.#nodes.addKid(node, leaf)
  }

  #dropKid(node: number, base: number, leaf: number, isCovered: boolean): void {
    this.#nodes.dropKid(node, leaf)
    const free = this.#nodes.words[node + FREE]!
    if (!isCovered && ((free >>> leaf) & 1) !== 0) {
      this.#counts.add(base + STRIDE, -1)
      this.#counts.addPart(free, base, STRIDE, leaf, 1)
    }
  }

  /**
   * Counts leaves of a node out that are about to be taken with all that is in them, or in when
   * they no longer are.
   */
  #countLeaves(node: number, base: number, leaves: number, sign: 1 | -1): void {
    const { words } = this.#nodes
    const free = words[node + FREE]!
    this.#counts.addLeaves(free, base, sign)
    this.#counts.addLeaves(free & ~leaves, base, sign === 1 ? -1 : 1)
    for (let rest = leaves & words[node + KIDS]!; rest !== 0; rest &= rest - 1) {
      const kid = this.#nodes.kid(node, lowestBit(rest))
      this.#countLeaves(kid, base + STRIDE, ~words[kid + BLOCKED]!, sign)
    }
  }

  /**
   * After a change in the node at a depth of the way: what is free in it and in those above, as far
   * as that is another, and which of them need not be any more.
   */
  #settle(from: number, isCovered: boolean): void {
    const { leaves, nodes: path } = this.#way
    const { words } = this.#nodes
    let base = this.#way.base + from * STRIDE
    let node = path[from]!
    let shortest = this.#shortestIn(node, base, 0)
    for (let depth = from - 1; depth >= 0; depth--) {
      const above = path[depth]!
      const leaf = leaves[depth]!
      base -= STRIDE
      if (this.#nodes.isPlain(node)) {
        this.#dropKid(above, base, leaf, isCovered)
        shortest = this.#shortestIn(above, base, 0)
      } else {
        const before = words[node + SHORTEST]!
        if (shortest === before) return
        words[node + SHORTEST] = shortest
        if (((words[above + BLOCKED]! >>> leaf) & 1) !== 0) return
        if (shortest === NONE) words[above + ROOM]! &= ~(1 << leaf)
        else words[above + ROOM]! |= 1 << leaf
        const least = words[above + SHORTEST]!
        if (before === UNKNOWN) shortest = this.#shortestIn(above, base, 0)
        // a free leaf, or another kid, has what is shortest before and after
        else if (words[above + FREE] !== 0 || (before > least && shortest >= least)) return
        else if (shortest > least) shortest = this.#shortestIn(above, base, least)
      }
      node = above
    }
    words[node + SHORTEST] = shortest
  }

  /**
   * How long the shortest free prefix of a node is. Its kids have none that is shorter than
   * `least`.
   */
  #shortestIn(node: number, base: number, least: number): number {
    const { words } = this.#nodes
    const free = words[node + FREE]!
    // a kid that is wholly free is none: what it has is longer than a leaf
    if (free !== 0) return base + widestLevel(free)
    let shortest = NONE
    for (let rest = words[node + ROOM]!; rest !== 0; rest &= rest - 1) {
      const other = words[this.#nodes.kid(node, lowestBit(rest)) + SHORTEST]!
      if (other <= least) return other
      if (other < shortest) shortest = other
    }
    return shortest
  }

  /**
   * Leads the way to the lowest free prefix of a length: there is one. Returns how deep the last
   * node is.
   */
  first(length: number): number {
    const way = this.#way
    const depth =
      way.lowestLength === length ? this.#onward(way.depth, -1, length) : this.#firstIn(this.#root, 0, length)
    way.lowestLength = length
    return depth
  }

  /**
   * Leads the way to the lowest free prefix of a length that begins where it leads, or behind.
   * Returns how deep the last node is, or -1.
   */
  next(length: number): number {
    const { leaves, nodes: path } = this.#way
    const { words } = this.#nodes
    let node = this.#root
    let depth = 0
    for (let base = this.#way.base; length > base + STRIDE; depth++, base += STRIDE) {
      const leaf = leaves[depth]!
      path[depth] = node
      if (((words[node + FREE]! >>> leaf) & 1) !== 0) return depth
      if (((words[node + ROOM]! >>> leaf) & 1) === 0) return this.#onward(depth, -2, length)
      node = this.#nodes.kid(node, leaf)
      if (words[node + SHORTEST]! > length) return this.#onward(depth, -2, length)
    }
    path[depth] = node
    return this.#onward(depth, -1, length)
  }

  /**
   * As {@link next}, in the node at a depth and behind it in those above.
   *
   * @param open which leaves of that node are looked at: those from the one of the way on (-1), or
   * those behind it (-2)
   */
  #onward(from: number, open: number, length: number): number {
    const { leaves, nodes: path } = this.#way
    let base = this.#way.base + from * STRIDE
    for (let depth = from; depth >= 0; depth--, base -= STRIDE, open = -2) {
      const node = path[depth]!
      const leaf = this.#leafWith(node, base, length, open << leaves[depth]!)
      if (leaf < 0) continue
      this.#way.lead(depth, leaf, length)
      if (((this.#nodes.words[node + FREE]! >>> leaf) & 1) !== 0) return depth
      return this.#firstIn(this.#nodes.kid(node, leaf), depth + 1, length)
    }
    return -1
  }

  /** Leads the way to the lowest free prefix of a length in a node that has one. */
  #firstIn(from: number, depth: number, length: number): number {
    const { leaves, nodes: path } = this.#way
    const { words } = this.#nodes
    let node = from
    for (let base = this.#way.base + depth * STRIDE; ; depth++, base += STRIDE) {
      const leaf = this.#leafWith(node, base, length, -1)
      path[depth] = node
      leaves[depth] = leaf
      if (((words[node + FREE]! >>> leaf) & 1) !== 0) break
      node = this.#nodes.kid(node, leaf)
    }
    this.#way.lead(depth, leaves[depth]!, length)
    return depth
  }

  /**
   * The lowest of some leaves at which a free prefix of a length begins, or whose kid has one; or
   * -1.
   */
  #leafWith(node: number, base: number, length: number, leaves: number): number {
    const { words } = this.#nodes
    const free = words[node + FREE]!
    if (length <= base + STRIDE) {
      const whole = wholeParts(free, length - base) & leaves
      return whole === 0 ? -1 : lowestBit(whole)
    }
    for (let rest = words[node + ROOM]! & leaves; rest !== 0; rest &= rest - 1) {
      const leaf = lowestBit(rest)
      if (((free >>> leaf) & 1) !== 0) return leaf
      if (words[this.#nodes.kid(node, leaf) + SHORTEST]! <= length) return leaf
    }
    return -1
  }

  /** How many prefixes of a length are free. */
  countFree(length: number): bigint {
    return this.#counts.total(length)
  }

  /**
   * Leads the way to each free prefix that is not part of another, in order, and calls with its
   * length.
   */
  forEachFree(call: (length: number) => void): void {
    this.#way.forget()
    this.#eachFree(this.#root, 0, call)
  }

  #eachFree(node: number, depth: number, call: (length: number) => void): void {
    const { words } = this.#nodes
    const free = words[node + FREE]!
    for (let rest = words[node + ROOM]!; rest !== 0; ) {
      const leaf = lowestBit(rest)
      let level = STRIDE
      this.#way.leaves[depth] = leaf
      if (((free >>> leaf) & 1) === 0) this.#eachFree(this.#nodes.kid(node, leaf), depth + 1, call)
      else {
        while (level > 0 && ((wholeParts(free, level - 1) >>> leaf) & 1) !== 0) level--
        const length = this.#way.base + depth * STRIDE + level
        this.#way.lead(depth, leaf, length)
        call(length)
      }
      rest &= ~leavesOf(level, leaf)
    }
  }
}

/** A number for a part of a node. */
function placeOf(node: number, number: number): number {
  return node * 32 + number
}

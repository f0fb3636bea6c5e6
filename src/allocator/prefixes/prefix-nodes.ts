import { lowestBit } from '../util/bits.js'

// The words of a node, which has 32 leaves: a word of leaves has a bit for each.

/** Leaves that are of the space, without a kid, and not in a part that is taken. */
export const FREE = 0
/**
 * Leaves that are free, and those whose kid has something free and that are not in a part that is
 * taken.
 */
export const ROOM = 1
/** How long the shortest free prefix is. */
export const SHORTEST = 2
/** Parts that are taken as a whole, by number. */
export const TAKEN = 3
/** The leaves of these. */
export const BLOCKED = 4
/** Leaves with a node of their own. */
export const KIDS = 5
/** The only kid, or a table of kids by their leaf. */
const LINK = 6
/** Leaves that are not of the space, but for what their kid says. */
const OUTSIDE = 7
const NODE = 8

/** Longer than any prefix: nothing is free. */
export const NONE = 255
/** Of a new node: unlike whatever is found. */
export const UNKNOWN = 254

/**
 * The nodes of a `PrefixTree`. A node stands for the prefixes of five lengths: that of all its
 * leaves, of each half, and so on to each pair. A leaf is one bit longer than these, and what is
 * longer than a leaf is in a node of its own below it: a kid.
 *
 * A node is known by its place in the words, which stays the same as long as it is there.
 */
export class PrefixNodes {
  /** Other ones when a node has been made. */
  words: Int32Array = new Int32Array(NODE * 16)
  #tables: Int32Array = new Int32Array(0)
  #end = 0
  #tablesEnd = 0
  /**
   * Nodes and tables that are no longer used: lists, through the links of the nodes and the
   * beginnings of the tables.
   */
  #unused = -1
  #unusedTables = -1

  /** A node that is wholly free, or not of the space at all. */
  make(isOutside: boolean): number {
    let node = this.#unused
    if (node >= 0) this.#unused = this.words[node + LINK]!
    else {
      node = this.#end
      this.#end += NODE
      if (this.#end > this.words.length) this.words = grown(this.words)
    }
    const { words } = this
    // one that was given back was plain: it has no kids, and nothing is taken
    const free = isOutside ? 0 : -1
    words[node + FREE] = free
    words[node + ROOM] = free
    words[node + SHORTEST] = UNKNOWN
    words[node + OUTSIDE] = ~free
    return node
  }

  /**
   * Whether there is no more to say than that all leaves are free, or that all are not of the
   * space.
   */
  isPlain(node: number): boolean {
    const { words } = this
    if (words[node + TAKEN] !== 0 || words[node + KIDS] !== 0) return false
    const outside = words[node + OUTSIDE]
    return outside === 0 || outside === -1
  }

  /** Makes leaves of a node that is being built part of the space. */
  include(node: number, leaves: number): void {
    const { words } = this
    words[node + OUTSIDE]! &= ~leaves
    words[node + FREE]! |= leaves
    words[node + ROOM]! |= leaves
  }

  /** Ends what is taken of a node but for some parts, and the leaves of these. */
  restrict(node: number, parts: number, blocked: number): void {
    const { words } = this
    const kids = words[node + KIDS]!
    const freed = words[node + BLOCKED]! & ~blocked
    const free = freed & ~(words[node + OUTSIDE]! | kids)
    words[node + TAKEN] = parts
    words[node + BLOCKED] = blocked
    words[node + FREE]! |= free
    words[node + ROOM]! |= free
    for (let rest = freed & kids; rest !== 0; rest &= rest - 1) {
      const leaf = lowestBit(rest)
      if (words[this.kid(node, leaf) + SHORTEST] !== NONE) words[node + ROOM]! |= 1 << leaf
    }
  }

  hasKid(node: number, leaf: number): boolean {
    return ((this.words[node + KIDS]! >>> leaf) & 1) !== 0
  }

  /** The kid of a leaf that has one. */
  kid(node: number, leaf: number): number {
    const kids = this.words[node + KIDS]!
    const link = this.words[node + LINK]!
    return (kids & (kids - 1)) === 0 ? link : this.#tables[link + leaf]!
  }

  /** Makes the kid of a leaf that has none: it is as the leaf was. */
  addKid(node: number, leaf: number): number {
    const bit = 1 << leaf
    const kid = this.make((this.words[node + OUTSIDE]! & bit) !== 0)
    const { words } = this
    const kids = words[node + KIDS]!
    if (kids === 0) words[node + LINK] = kid
    else {
      if ((kids & (kids - 1)) === 0) {
        const table = this.#makeTable()
        this.#tables[table + lowestBit(kids)] = words[node + LINK]!
        words[node + LINK] = table
      }
      this.#tables[words[node + LINK]! + leaf] = kid
    }
    words[node + KIDS] = kids | bit
    words[node + FREE]! &= ~bit
    return kid
  }

  /** Gives back the kid of a leaf, which is plain: the leaf is what it was without. */
  dropKid(node: number, leaf: number): void {
    const { words } = this
    const bit = 1 << leaf
    const kid = this.kid(node, leaf)
    words[kid + LINK] = this.#unused
    this.#unused = kid
    const kids = words[node + KIDS]! & ~bit
    words[node + KIDS] = kids
    if (kids !== 0 && (kids & (kids - 1)) === 0) {
      const table = words[node + LINK]!
      words[node + LINK] = this.#tables[table + lowestBit(kids)]!
      this.#tables[table] = this.#unusedTables
      this.#unusedTables = table
    }
    const free = bit & ~(words[node + BLOCKED]! | words[node + OUTSIDE]!)
    words[node + FREE]! |= free
    words[node + ROOM]! |= free
  }

  #makeTable(): number {
    const table = this.#unusedTables
    if (table >= 0) {
      this.#unusedTables = this.#tables[table]!
      return table
    }
    this.#tablesEnd += 32
    if (this.#tablesEnd > this.#tables.length) this.#tables = grown(this.#tables)
    return this.#tablesEnd - 32
  }
}

/** The same words, and room for as many again. */
function grown(words: Int32Array): Int32Array {
  const larger = new Int32Array(Math.max(64, words.length * 2))
  larger.set(words)
  return larger
}

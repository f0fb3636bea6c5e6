import type { Address6, Family } from '../cidr/index.js'
import * as Address from '../cidr/nouns/address.js'
import * as Prefix from '../cidr/nouns/prefix.js'
import * as RangeSet from '../cidr/nouns/range-set.js'
import { ipamError } from '../errors/index.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/**
 * The free space of a family by prefixes of any length: buddies. Mutable, synchronous, deterministic; knows no owners.
 *
 *     10.0.0.0/8   |-------------------------------|      what is free of it when 10.64.0.0/12 is taken:
 *                  |---- /10 ----|####|-/12-|-/11---|     one /12, one /11, one /10, and the /9 behind
 *
 * What is taken may overlap, as it may where live objects are read back: a prefix is free when nothing in it, and nothing around it, is taken.
 * Outside of the parents nothing is ever free, and what is taken there is remembered.
 *
 * O(length of the prefix) where nothing else is said; nothing of the size 2^n is ever built. About 50 bytes for each prefix taken beside others,
 * and for one that stands alone 13 to 26 for each bit; the room of what was released is used again, and not given back.
 *
 * @throws IpamError `FAMILY_MISMATCH` for parents of both families
 * @example
 * const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/8']))
 * tree.take(Prefix.parse('10.0.0.0/12')) // true
 * const free = tree.nextFree(10)
 * free && Prefix.format(free) // '10.64.0.0/10'
 * tree.countFree(12) // 15n
 */
export class PrefixTree {
  /** That of the parents. */
  readonly family: Family
  /** 32 or 128. */
  readonly bits: number
  /** The address that the next step is about. */
  readonly #key: Int32Array
  /**
   * A part of the space is wholly free (FREE), not of the space at all (OUTSIDE), or a node: its lower and its upper half, and how often it is
   * taken as a whole. A node whose halves are alike, and which is not taken, is none: it becomes what its halves are.
   */
  #nodes = new Int32Array(NODE * 16)
  /** How long the shortest free prefix is that a node has; NONE if nothing in it is free. */
  #shortest = new Uint8Array(16)
  #end = 1
  /** Nodes that are no longer used, a list through their lower halves. */
  #unused = 0
  #root = OUTSIDE
  /** The nodes from the root to where the last descent ended. */
  readonly #path: Int32Array
  /** How many free prefixes there are of each length, of those that are not part of another. */
  readonly #free: Float64Array

  /** @param family that of a tree without parents; 6 where nothing is said */
  constructor(parents: RangeSet, family: Family = 6) {
    const prefixes = RangeSet.prefixes(parents)
    const first = prefixes[0]?.address
    const last = prefixes.at(-1)?.address
    if (first !== undefined && last !== undefined && first.family !== last.family) {
      throw ipamError('FAMILY_MISMATCH', { left: Address.format(first), right: Address.format(last) })
    }
    this.family = first?.family ?? family
    this.bits = Address.bitsOf(this.family)
    this.#key = new Int32Array(this.bits / 32)
    this.#path = new Int32Array(this.bits + 1)
    this.#free = new Float64Array(this.bits + 1)
    for (const prefix of prefixes) this.#addFree(prefix)
  }

  /** Whether all of a prefix is of the space, and nothing in it or around it is taken. */
  isFree(prefix: Prefix): boolean {
    const length = this.#aimAt(prefix)
    let part = this.#root
    for (let depth = 0; ; depth++) {
      if (part <= 0) return part === FREE
      if (depth === length || this.#timesTaken(part) > 0) return false
      part = this.#half(part, this.#bit(depth))
    }
  }

  /** Takes a prefix that is free. False, and nothing changes, if it is not. */
  take(prefix: Prefix): boolean {
    if (!this.isFree(prefix)) return false
    this.occupy(prefix)
    return true
  }

  /** Takes a prefix, whatever is taken in it or around it. It is free again when it has been released as often. O(length + what is taken in it). */
  occupy(prefix: Prefix): void {
    const length = this.#aimAt(prefix)
    let isCovered = false
    for (let depth = 0; depth < length; depth++) {
      const node = this.#enter(depth, isCovered)
      this.#path[depth] = node
      if (this.#timesTaken(node) > 0) isCovered = true
    }
    const node = this.#enter(length, isCovered)
    this.#path[length] = node
    if (this.#nodes[node * NODE + 2]!++ === 0 && !isCovered) this.#countIn(node, length, -1)
    this.#settle(length, isCovered)
  }

  /** Ends one hold of exactly this prefix. False, and nothing changes, if it is not taken. O(length + what is taken in it). */
  release(prefix: Prefix): boolean {
    const length = this.#aimAt(prefix)
    let isCovered = false
    let part = this.#root
    for (let depth = 0; depth < length; depth++) {
      if (part <= 0) return false
      this.#path[depth] = part
      if (this.#timesTaken(part) > 0) isCovered = true
      part = this.#half(part, this.#bit(depth))
    }
    if (part <= 0 || this.#timesTaken(part) === 0) return false
    this.#path[length] = part
    if (--this.#nodes[part * NODE + 2]! === 0 && !isCovered) this.#countIn(part, length, 1)
    this.#settle(length, isCovered)
    return true
  }

  /**
   * The lowest free prefix of a length, from an address on if one is given, or `undefined`. Changes nothing.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `FAMILY_MISMATCH`
   */
  nextFree(length: number, from?: Address): Prefix | undefined {
    this.#assertLength(length)
    this.#key.fill(0)
    if (from !== undefined && !this.#aimUp(from, length)) return undefined
    let part = this.#root
    let depth = 0
    /** Where a way to the right was left out behind which there is one. */
    let turn = -1
    while (part > 0 && this.#shortest[part]! <= length) {
      this.#path[depth] = part
      const bit = this.#bit(depth)
      if (bit === 0 && this.#shortestOf(this.#half(part, 1), depth + 1) <= length) turn = depth
      part = this.#half(part, bit)
      depth++
    }
    if (part === FREE && depth <= length) return this.#found(length)
    if (turn < 0) return undefined
    part = this.#half(this.#path[turn]!, 1)
    this.#clearFrom(turn)
    this.#setBit(turn)
    for (depth = turn + 1; part > 0; depth++) {
      const isLeft = this.#shortestOf(this.#half(part, 0), depth + 1) <= length
      if (!isLeft) this.#setBit(depth)
      part = this.#half(part, isLeft ? 0 : 1)
    }
    return this.#found(length)
  }

  /** As {@link nextFree}, and then from the lowest address on: the order of a cursor that goes round. */
  nextFreeAround(length: number, from: Address): Prefix | undefined {
    return this.nextFree(length, from) ?? this.nextFree(length)
  }

  /**
   * How many prefixes of a length are free, each of which could be taken without the others. O(length).
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`
   */
  countFree(length: number): bigint {
    this.#assertLength(length)
    let count = 0n
    for (let shorter = 0; shorter <= length; shorter++) count = count * 2n + BigInt(this.#free[shorter]!)
    return count
  }

  /** The free space as the fewest prefixes, in order, as it is now. O(what is taken). */
  freePrefixes(): Prefix[] {
    const found: Prefix[] = []
    const key = new Int32Array(this.#key.length)
    const rest: { readonly part: number; readonly depth: number; readonly bit: number }[] = [
      { part: this.#root, depth: 0, bit: 0 },
    ]
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      const { part, depth, bit } = next
      if (depth > 0) setBits(key, depth - 1, bit)
      if (part === FREE) found.push({ address: addressOf(key, this.family), length: depth })
      if (part <= 0 || this.#shortest[part] === NONE) continue
      rest.push({ part: this.#half(part, 1), depth: depth + 1, bit: 1 })
      rest.push({ part: this.#half(part, 0), depth: depth + 1, bit: 0 })
    }
    return found
  }

  /** A prefix of the parents: they do not overlap. */
  #addFree(prefix: Prefix): void {
    const length = this.#aimAt(prefix)
    this.#free[length]!++
    if (length === 0) {
      this.#root = FREE
      return
    }
    for (let depth = 0; depth < length; depth++) this.#path[depth] = this.#enter(depth, true)
    this.#link(length, FREE)
    this.#settle(length - 1, true)
  }

  /** The node at a depth on the way to the key, made if it is none. */
  #enter(depth: number, isCovered: boolean): number {
    const part = depth === 0 ? this.#root : this.#half(this.#path[depth - 1]!, this.#bit(depth - 1))
    if (part > 0) return part
    const node = this.#makeNode(part)
    this.#link(depth, node)
    if (part === FREE && !isCovered) {
      this.#free[depth]!--
      this.#free[depth + 1]! += 2
    }
    return node
  }

  /** Writes what stands at a depth on the way to the key. */
  #link(depth: number, part: number): void {
    if (depth === 0) this.#root = part
    else this.#nodes[this.#path[depth - 1]! * NODE + this.#bit(depth - 1)] = part
  }

  /**
   * After a change at a depth: what is free in the nodes on the way to it, and which of them are none any more. Above a node that is taken as a
   * whole none goes: it stays.
   */
  #settle(from: number, isCovered: boolean): void {
    for (let depth = from; depth >= 0; depth--) {
      const node = this.#path[depth]!
      const lower = this.#half(node, 0)
      if (this.#timesTaken(node) === 0 && lower <= 0 && lower === this.#half(node, 1)) {
        this.#dropNode(node)
        this.#link(depth, lower)
        if (lower === FREE && !isCovered) {
          this.#free[depth]!++
          this.#free[depth + 1]! -= 2
        }
      } else {
        const shortest = this.#timesTaken(node) > 0 ? NONE : this.#shortestIn(node, depth)
        if (this.#shortest[node] === shortest) return
        this.#shortest[node] = shortest
      }
    }
  }

  /** Counts the free prefixes in a node in or out. */
  #countIn(node: number, depth: number, sign: 1 | -1): void {
    const rest = [node, depth]
    while (rest.length > 0) {
      const at = rest.pop()!
      const part = rest.pop()!
      if (part === FREE) this.#free[at]! += sign
      // below what is taken as a whole nothing has been counted; the node itself is what changes
      if (part <= 0 || (part !== node && this.#timesTaken(part) > 0)) continue
      rest.push(this.#half(part, 0), at + 1, this.#half(part, 1), at + 1)
    }
  }

  #timesTaken(node: number): number {
    return this.#nodes[node * NODE + 2]!
  }

  #half(node: number, upper: number): number {
    return this.#nodes[node * NODE + upper]!
  }

  #shortestIn(node: number, depth: number): number {
    return Math.min(this.#shortestOf(this.#half(node, 0), depth + 1), this.#shortestOf(this.#half(node, 1), depth + 1))
  }

  #shortestOf(part: number, depth: number): number {
    if (part > 0) return this.#shortest[part]!
    return part === FREE ? depth : NONE
  }

  /** A node both of whose halves are what it was. */
  #makeNode(part: number): number {
    let node = this.#unused
    if (node !== 0) this.#unused = this.#nodes[node * NODE]!
    else {
      node = this.#end++
      if (this.#end * NODE > this.#nodes.length) {
        this.#nodes = grown(this.#nodes, new Int32Array(this.#nodes.length * 2))
        this.#shortest = grown(this.#shortest, new Uint8Array(this.#shortest.length * 2))
      }
    }
    this.#nodes[node * NODE] = part
    this.#nodes[node * NODE + 1] = part
    this.#nodes[node * NODE + 2] = 0
    // not known yet: unlike whatever is found
    this.#shortest[node] = UNKNOWN
    return node
  }

  #dropNode(node: number): void {
    this.#nodes[node * NODE] = this.#unused
    this.#unused = node
  }

  #bit(depth: number): number {
    return (this.#key[depth >>> 5]! >>> (~depth & 31)) & 1
  }

  #setBit(depth: number): void {
    this.#key[depth >>> 5]! |= 1 << (~depth & 31)
  }

  /** Clears the bits of the key from a depth on. */
  #clearFrom(depth: number): void {
    const word = depth >>> 5
    this.#key[word]! &= ~(-1 >>> (depth & 31))
    this.#key.fill(0, word + 1)
  }

  #found(length: number): Prefix {
    return { address: addressOf(this.#key, this.family), length }
  }

  /** Writes the prefix to the key, and returns its length. */
  #aimAt(prefix: Prefix): number {
    const { address, length } = Prefix.masked(prefix)
    if (address.family !== this.family) this.#refuse(address)
    writeKey(this.#key, address)
    return length
  }

  /** Writes the lowest address that is at least `from` and begins a prefix of the length. False if there is none. */
  #aimUp(from: Address, length: number): boolean {
    if (from.family !== this.family) this.#refuse(from)
    const prefix = Prefix.of(from, length)
    const first = Prefix.masked(prefix).address
    const start = Address.equals(first, from) ? first : Address.next(Prefix.last(prefix))
    if (start === undefined) return false
    writeKey(this.#key, start)
    return true
  }

  #refuse(address: Address): never {
    throw ipamError('FAMILY_MISMATCH', { left: `a tree of IPv${this.family}`, right: Address.format(address) })
  }

  #assertLength(length: number): void {
    if (!Number.isInteger(length) || length < 0 || length > this.bits) {
      throw ipamError('INVALID_PREFIX_LENGTH', { length, max: this.bits })
    }
  }
}

const FREE = 0
const OUTSIDE = -1
/** Integers of a node. */
const NODE = 3
const NONE = 255
const UNKNOWN = 254

function writeKey(key: Int32Array, address: Address): void {
  if (address.family === 4) key[0] = address.value
  else {
    key[0] = address.w0
    key[1] = address.w1
    key[2] = address.w2
    key[3] = address.w3
  }
}

function addressOf(key: Int32Array, family: Family): Address {
  if (family === 4) return { family: 4, value: key[0]! >>> 0 }
  return { family: 6, w0: key[0]! >>> 0, w1: key[1]! >>> 0, w2: key[2]! >>> 0, w3: key[3]! >>> 0 } satisfies Address6
}

/** Writes a bit, and clears all behind it. */
function setBits(key: Int32Array, depth: number, bit: number): void {
  const word = depth >>> 5
  key[word]! &= ~(-1 >>> (depth & 31))
  if (bit === 1) key[word]! |= 1 << (~depth & 31)
  key.fill(0, word + 1)
}

function grown<T extends Int32Array | Uint8Array>(values: T, larger: T): T {
  larger.set(values)
  return larger
}

import type { Address, Family, Prefix } from '../../cidr/index.js'
import { STRIDE } from './leaf-blocks.js'

/**
 * The way from the root of a `PrefixTree` to a prefix: the nodes, and the leaf of each node.
 * Mutable: it is written anew for each step.
 *
 * A leaf is five bits of an address. What lies before and behind the address is 0, since the root
 * may begin up to four bits before it, and the last node may end behind it.
 */
export class PrefixWay {
  /** How many bits there are before those of the root; down to -4. */
  readonly base: number
  readonly leaves = new Int32Array(32)
  readonly nodes = new Int32Array(32)
  /** How deep the last node was of the way that was found last. */
  depth = 0
  /**
   * The length of the prefix that was found; -1 if it has been taken, or another way been written.
   */
  foundLength = -1
  /**
   * The length of which that was the lowest free one: it still is, or has been taken; -1 if another
   * way has been written.
   */
  lowestLength = -1
  /** The words of the address, one or four, between two of zeros. */
  readonly #words: Int32Array
  /** The same, where the root begins. */
  readonly #start: Int32Array
  /** The place of the last word of the address. */
  readonly #last: number

  /** @param start an address in the root */
  constructor(family: Family, base: number, start: Address | undefined) {
    this.base = base
    this.#last = family === 4 ? 1 : 4
    this.#words = new Int32Array(this.#last + 2)
    if (start !== undefined) this.write(start)
    for (let word = 1; word <= this.#last; word++) this.#words[word]! &= maskOf(base - word * 32 + 32)
    this.#start = this.#words.slice()
  }

  /** Writes an address of the family. */
  write(address: Address): void {
    const words = this.#words
    this.forget()
    if (address.family === 4) words[1] = address.value
    else {
      words[1] = address.w0
      words[2] = address.w1
      words[3] = address.w2
      words[4] = address.w3
    }
  }

  /** The way is another than what was found. */
  forget(): void {
    this.foundLength = -1
    this.lowestLength = -1
  }

  /** Compares the first bits of the address and the root, up to the base: below 0, 0 or above 0. */
  compare(length: number): number {
    for (let word = 1, rest = length; rest > 0; word++, rest -= 32) {
      const shift = rest < 32 ? 32 - rest : 0
      const difference = (this.#words[word]! >>> shift) - (this.#start[word]! >>> shift)
      if (difference !== 0) return difference
    }
    return 0
  }

  /** Writes the leaves of the address, as far as a prefix of a length needs them. */
  follow(length: number): void {
    const { leaves } = this
    const words = this.#words
    if (this.#last === 1) {
      const value = words[1]!
      for (let depth = 0, shift = 27 - this.base; shift >= 27 - length; depth++, shift -= STRIDE) {
        leaves[depth] = (shift >= 0 ? value >>> shift : value << -shift) & 31
      }
      return
    }
    for (let depth = 0, base = this.base; base <= length; depth++, base += STRIDE) {
      const word = (base + 32) >>> 5
      const shift = 27 - (base & 31)
      const bits = shift >= 0 ? words[word]! >>> shift : (words[word]! << -shift) | (words[word + 1]! >>> (32 + shift))
      leaves[depth] = bits & 31
    }
  }

  /**
   * Goes up to the next address that begins a prefix of a length, if this one does not. False if
   * there is none.
   */
  alignUp(length: number): boolean {
    const words = this.#words
    let word = (length + 31) >>> 5
    const step = 1 << (-length & 31)
    let rest = words[word]! & (step - 1)
    words[word]! &= -step
    for (let behind = word + 1; behind <= this.#last; behind++) {
      rest |= words[behind]!
      words[behind] = 0
    }
    if (rest === 0) return true
    for (let carry = step >>> 0; word > 0; word--, carry = 1) {
      const sum = (words[word]! >>> 0) + carry
      words[word] = sum
      if (sum < 2 ** 32) return true
    }
    return false
  }

  /**
   * Leads to the lowest prefix of a length in a leaf of the node at a depth. Below it there are no
   * nodes.
   */
  lead(depth: number, leaf: number, length: number): void {
    const { leaves } = this
    leaves[depth] = leaf
    for (let below = depth + 1; this.base + below * STRIDE <= length; below++) leaves[below] = 0
  }

  /**
   * Remembers that the way leads to a free prefix of a length, and how deep the last node is.
   * Returns the prefix.
   */
  found(depth: number, length: number): Prefix {
    this.depth = depth
    this.foundLength = length
    return { address: this.addressOf(length), length }
  }

  /** Whether a prefix was found, and nothing else has been written since. */
  isFound(prefix: Prefix): boolean {
    const address = prefix?.address
    if (this.foundLength < 0 || prefix?.length !== this.foundLength) return false
    const words = this.#words
    if (address?.family === 4) return this.#last === 1 && words[1] === (address.value | 0)
    if (address?.family !== 6 || this.#last === 1 || words[4] !== (address.w3 | 0) || words[3] !== (address.w2 | 0))
      return false
    return words[2] === (address.w1 | 0) && words[1] === (address.w0 | 0)
  }

  /** The address to which the leaves lead that a prefix of a length has. */
  addressOf(length: number): Address {
    const { leaves } = this
    const words = this.#words
    if (this.#last === 1) {
      let value = this.#start[1]!
      for (let depth = 0, shift = 27 - this.base; shift >= 27 - length; depth++, shift -= STRIDE) {
        value |= shift >= 0 ? leaves[depth]! << shift : leaves[depth]! >>> -shift
      }
      words[1] = value
      return { family: 4, value: value >>> 0 }
    }
    for (let word = 1; word <= 4; word++) words[word] = this.#start[word]!
    for (let depth = 0, base = this.base; base <= length; depth++, base += STRIDE) {
      const word = (base + 32) >>> 5
      const shift = 27 - (base & 31)
      if (shift >= 0) words[word]! |= leaves[depth]! << shift
      else {
        words[word]! |= leaves[depth]! >>> -shift
        words[word + 1]! |= leaves[depth]! << (32 + shift)
      }
    }
    return { family: 6, w0: words[1]! >>> 0, w1: words[2]! >>> 0, w2: words[3]! >>> 0, w3: words[4]! >>> 0 }
  }
}

/** The first bits of a word. */
function maskOf(bits: number): number {
  if (bits <= 0) return 0
  return bits >= 32 ? -1 : -1 << (32 - bits)
}

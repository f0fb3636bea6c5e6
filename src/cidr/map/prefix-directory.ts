import { maskWord } from '../nouns/prefix-core.js'
import { lengthOf } from './trie-entries.js'

/**
 * A shortcut into a `PrefixTrie`: a table over a window of address bits, `skip` to `end - 1`, for
 * the addresses that share the bits before it. A lookup there reads one slot and begins where the
 * descent from the top would be after `end` bits.
 *
 *     10.32.7.9    0000 1010 0010 0000 0000 0111 0000 1001     with skip = 8, end = 24
 *                  |- base-| |----- slot ------| |- trie -|
 *
 * A slot has two references: to the longest entry of less than `end` bits, which a lookup ends with
 * if the trie has none below; and to the topmost part of the trie with `end` or more bits. Entries
 * that end in the first half of the window stand in a second, coarse table, and of those of `skip`
 * bits or less only the longest counts: so no entry is written to more than about 2^(window / 2)
 * places.
 *
 * The trie updates the directory after each change. The directory has no entries of its own.
 */
export class PrefixDirectory {
  /** How many bits all addresses of the window share. */
  readonly skip: number
  /** How many bits the window and those before it are. */
  readonly end: number
  /** 32 minus the bits of the window. */
  readonly shift: number
  /** The first words of base and mask, for the fast path of IPv4. */
  readonly base0: number
  readonly mask0: number
  /** Two references a slot; then the coarse table, one reference each. */
  readonly table: Int32Array
  readonly #coarseAt: number
  readonly #coarseShift: number
  /** Entries up to this length stand in the coarse table. */
  readonly #middle: number
  readonly #base: Int32Array
  readonly #mask: Int32Array
  /** The longest entry that covers the whole window. */
  #above = 0

  /** @param base an address whose first `skip` bits are those before the window */
  constructor(base: Int32Array, skip: number, bits: number) {
    this.skip = skip
    this.end = skip + bits
    this.shift = 32 - bits
    this.#mask = base.map((_, word) => maskWord(skip - word * 32))
    this.#base = base.map((bits, word) => bits & this.#mask[word]!)
    this.base0 = this.#base[0]!
    this.mask0 = this.#mask[0]!
    const coarseBits = bits >> 1
    this.#middle = skip + coarseBits
    this.#coarseAt = 2 << bits
    this.#coarseShift = bits - coarseBits
    this.table = new Int32Array(this.#coarseAt + (1 << coarseBits))
  }

  /** Whether an address begins with the bits that the window's addresses share. */
  has(key: Int32Array): boolean {
    return this.#sharesStart(key, this.skip)
  }

  /** The slot of an address that the window has. */
  slotOf(key: Int32Array): number {
    const word = this.skip >>> 5
    const bit = this.skip & 31
    let bits = key[word]! << bit
    // the window continues in the next word
    if (bit > this.shift) bits |= key[word + 1]! >>> (32 - bit)
    return bits >>> this.shift
  }

  /** The longest entry of less than `end` bits that covers a slot. */
  entryAt(slot: number): number {
    const fine = this.table[slot << 1]!
    return fine !== 0 ? fine : this.coarseEntryAt(slot)
  }

  /** As {@link entryAt}, of those that end in the first half of the window or before it. */
  coarseEntryAt(slot: number): number {
    const coarse = this.table[this.#coarseAt + (slot >>> this.#coarseShift)]!
    return coarse !== 0 ? coarse : this.#above
  }

  /** The topmost part of the trie with `end` or more bits. */
  topAt(slot: number): number {
    return this.table[(slot << 1) + 1]!
  }

  /** An entry for the key was added to the trie. */
  entryAdded(entry: number, key: Int32Array): void {
    const length = lengthOf(entry)
    if (length >= this.end || !this.#meets(key, length)) return
    if (length <= this.skip) {
      if (this.#above === 0 || lengthOf(this.#above) < length) this.#above = entry
      return
    }
    const { table } = this
    const step = length > this.#middle ? 2 : 1
    const first = this.#first(key, length)
    const stop = first + this.#count(length) * step
    for (let i = first; i < stop; i += step) if (table[i] === 0 || lengthOf(table[i]!) < length) table[i] = entry
  }

  /**
   * An entry for the key was removed from the trie.
   *
   * @param next the longest entry that covers it, or 0
   */
  entryRemoved(entry: number, next: number, key: Int32Array): void {
    const length = lengthOf(entry)
    if (length >= this.end || !this.#meets(key, length)) return
    if (length <= this.skip) {
      if (this.#above === entry) this.#above = next
      return
    }
    const { table } = this
    // an entry that is too short for this table is in the other one
    const successor = lengthOf(next) > (length > this.#middle ? this.#middle : this.skip) ? next : 0
    const step = length > this.#middle ? 2 : 1
    const first = this.#first(key, length)
    const stop = first + this.#count(length) * step
    for (let i = first; i < stop; i += step) if (table[i] === entry) table[i] = successor
  }

  /**
   * @param top the topmost part of the trie with `end` or more bits, on the path to the key
   */
  topAdded(top: number, key: Int32Array): void {
    if (this.has(key)) this.table[(this.slotOf(key) << 1) + 1] = top
  }

  /**
   * The part `top` was removed from the path to the key.
   */
  topRemoved(top: number, successor: number, key: Int32Array): void {
    if (!this.has(key)) return
    const i = (this.slotOf(key) << 1) + 1
    if (this.table[i] === top) this.table[i] = successor
  }

  /** Whether a prefix has an address in the window. */
  #meets(key: Int32Array, length: number): boolean {
    return this.#sharesStart(key, length < this.skip ? length : this.skip)
  }

  #sharesStart(key: Int32Array, length: number): boolean {
    const base = this.#base
    const mask = this.#mask
    for (let word = 0; word << 5 < length; word++) {
      const bits = length === this.skip ? mask[word]! : maskWord(length - word * 32)
      if (((key[word]! ^ base[word]!) & bits) !== 0) return false
    }
    return true
  }

  #first(key: Int32Array, length: number): number {
    const slot = this.slotOf(key)
    return length > this.#middle ? slot << 1 : this.#coarseAt + (slot >>> this.#coarseShift)
  }

  #count(length: number): number {
    return 1 << ((length > this.#middle ? this.end : this.#middle) - length)
  }
}

import { ipamError } from '../errors/index.js'
import type { Address, Address4 } from './address.js'
import { assertLength } from './checks.js'
import { maskWord, type Prefix } from './prefix.js'
import { lengthOf } from './prefix-directory.js'
import { PrefixTrie } from './prefix-trie.js'

/** A prefix of a {@link PrefixMap} and what it stands for. */
export interface PrefixEntry<V> {
  readonly prefix: Prefix
  readonly value: V
}

/**
 * Values by prefix, of both families, with the questions that a routing table answers: which entry covers an address most closely, which
 * ones cover it at all, what lies inside a prefix. Host bits of a key do not count. Mutable, as a `Map`; an IPv4 prefix never covers an
 * IPv6 address, mapped or not.
 *
 * The order is all IPv4, then all IPv6, each ascending, a shorter prefix before the longer ones that begin at the same address. A map may
 * change while it is iterated over: the iteration goes on behind the prefix that it was at, so it shows each entry at most once, shows
 * what is set ahead of it, and does not show what is deleted before it comes there.
 *
 * At most 8,388,607 prefixes of each family. One takes about 42 bytes (IPv4) or 57 (IPv6), with the reference to its value; the room of
 * deleted ones is used again, and given back by `clear()`.
 *
 * @example
 * const sites = new PrefixMap([[Prefix.parse('10.0.0.0/8'), 'all'], [Prefix.parse('10.7.0.0/16'), 'Oslo']])
 * sites.lookup(Address.parse('10.7.1.2')) // 'Oslo'
 * sites.lookup(Address.parse('10.8.1.2')) // 'all'
 * sites.lookup(Address.parse('11.0.0.1')) // undefined
 */
export class PrefixMap<V> {
  readonly #v4 = new PrefixTrie<V>(1)
  readonly #v6 = new PrefixTrie<V>(4)

  /**
   * A map of some entries, of which a later one replaces an earlier one of the same prefix. O(n).
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1], [Prefix.parse('10.0.0.1/8'), 2]]).size // 1
   */
  constructor(entries?: Iterable<readonly [Prefix, V]>) {
    if (entries !== undefined) for (const [prefix, value] of entries) this.set(prefix, value)
  }

  /**
   * How many prefixes the map has. O(1).
   *
   * @example
   * new PrefixMap().size // 0
   */
  get size(): number {
    return this.#v4.size + this.#v6.size
  }

  /**
   * Sets the value of exactly this prefix, host bits cleared. O(length of the prefix), as is every question about one prefix or address.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`; `INVALID_ARGUMENT` for what is no prefix, or if the map is full
   * @example
   * new PrefixMap<number>().set(Prefix.parse('10.0.0.77/8'), 1).get(Prefix.parse('10.0.0.0/8')) // 1
   */
  set(prefix: Prefix, value: V): this {
    this.#aimAtPrefix(prefix).set(prefix.length, value)
    return this
  }

  /**
   * The value of exactly this prefix, host bits cleared, or `undefined`.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1]]).get(Prefix.parse('10.0.0.0/16')) // undefined
   */
  get(prefix: Prefix): V | undefined {
    const trie = this.#aimAtPrefix(prefix)
    const entry = trie.find(prefix.length)
    return entry === 0 ? undefined : trie.valueOf(entry)
  }

  /**
   * Whether the map has exactly this prefix, host bits cleared, be it with `undefined` as its value.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * new PrefixMap([[Prefix.parse('10.0.0.0/8'), undefined]]).has(Prefix.parse('10.0.0.0/8')) // true
   */
  has(prefix: Prefix): boolean {
    return this.#aimAtPrefix(prefix).find(prefix.length) !== 0
  }

  /**
   * Takes exactly this prefix out of the map, host bits cleared, and tells whether it was there. Those inside it stay.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1]])
   * map.delete(Prefix.parse('10.0.0.0/8')) // true
   * map.delete(Prefix.parse('10.0.0.0/8')) // false
   */
  delete(prefix: Prefix): boolean {
    return this.#aimAtPrefix(prefix).delete(prefix.length)
  }

  /**
   * Takes everything out of the map. O(1).
   *
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1]])
   * map.clear()
   * map.size // 0
   */
  clear(): void {
    this.#v4.clear()
    this.#v6.clear()
  }

  /**
   * The longest prefix of the map that has this address, or all of this prefix, with its value; `undefined` if there is none.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.0.0.0/8'), 'wide'], [Prefix.parse('10.7.0.0/16'), 'narrow']])
   * const match = map.longestMatch(Prefix.parse('10.7.0.0/15'))
   * match && Prefix.format(match.prefix) // '10.0.0.0/8'
   */
  longestMatch(member: Address | Prefix): PrefixEntry<V> | undefined {
    if (isAddress(member) && member.family === 4) return this.#longestMatch4(member)
    const trie = this.#aimAt(member)
    const limit = limitOf(member, trie.bits)
    const entry = trie === this.#v4 ? trie.longest4(trie.key[0]!, limit) : trie.longest(limit)
    return entry === 0 ? undefined : this.#entryOf(trie, entry)
  }

  /**
   * The value of the longest prefix of the map that has this address, or `undefined`: the quickest question, which makes no object.
   *
   * @throws IpamError `INVALID_ARGUMENT`
   * @example
   * new PrefixMap([[Prefix.parse('fd00::/8'), 'local']]).lookup(Address.parse('fd00::1')) // 'local'
   */
  lookup(address: Address): V | undefined {
    const trie = this.#v4
    if (address?.family === 4) {
      const { value } = address
      if (!isWord(value)) invalid('address', address)
      const entry = trie.longest4(value, 32)
      return entry === 0 ? undefined : trie.valueOf(entry)
    }
    const entry = this.#aimAtAddress(address, 128).longest(128)
    return entry === 0 ? undefined : this.#v6.valueOf(entry)
  }

  /**
   * All entries whose prefix has this address, or all of this prefix, shortest first.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.7.0.0/16'), 1], [Prefix.parse('10.0.0.0/8'), 2]])
   * map.covering(Address.parse('10.7.0.1')).map(({ value }) => value) // [2, 1]
   */
  covering(member: Address | Prefix): PrefixEntry<V>[] {
    const trie = this.#aimAt(member)
    return trie.covering(limitOf(member, trie.bits)).map((entry) => this.#entryOf(trie, entry))
  }

  /**
   * All entries inside a prefix, that of the prefix itself with them, in order. O(length of the prefix + how many they are).
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.7.0.0/16'), 1], [Prefix.parse('10.0.0.0/8'), 2]])
   * map.coveredBy(Prefix.parse('10.0.0.0/8')).map(({ value }) => value) // [2, 1]
   */
  coveredBy(prefix: Prefix): PrefixEntry<V>[] {
    const trie = this.#aimAtPrefix(prefix)
    return trie.coveredBy(prefix.length).map((entry) => this.#entryOf(trie, entry))
  }

  /**
   * All prefixes with their values, in order.
   *
   * @example
   * const map = new PrefixMap([[Prefix.parse('fd00::/8'), 1], [Prefix.parse('10.0.0.0/8'), 2]])
   * Array.from(map.entries(), ([prefix, value]) => [Prefix.format(prefix), value]) // [['10.0.0.0/8', 2], ['fd00::/8', 1]]
   */
  *entries(): IterableIterator<[Prefix, V]> {
    for (const trie of [this.#v4, this.#v6]) {
      for (const entry of trie.inOrder()) yield [this.#prefixOf(trie, entry), trie.valueOf(entry)]
    }
  }

  /**
   * All prefixes, in order.
   *
   * @example
   * Array.from(new PrefixMap([[Prefix.parse('10.0.0.1/8'), 1]]).keys(), Prefix.format) // ['10.0.0.0/8']
   */
  *keys(): IterableIterator<Prefix> {
    for (const trie of [this.#v4, this.#v6]) for (const entry of trie.inOrder()) yield this.#prefixOf(trie, entry)
  }

  /**
   * The values of all prefixes, in the order of these.
   *
   * @example
   * Array.from(new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1], [Prefix.parse('9.0.0.0/8'), 2]]).values()) // [2, 1]
   */
  *values(): IterableIterator<V> {
    for (const trie of [this.#v4, this.#v6]) for (const entry of trie.inOrder()) yield trie.valueOf(entry)
  }

  /**
   * As {@link entries}.
   *
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1]])
   * new PrefixMap(map).size // 1
   */
  [Symbol.iterator](): IterableIterator<[Prefix, V]> {
    return this.entries()
  }

  /** The bits of the prefix are those of the address: nothing but the value is read for the result. */
  #longestMatch4(address: Address4): PrefixEntry<V> | undefined {
    const { value } = address
    if (!isWord(value)) invalid('address', address)
    const entry = this.#v4.longest4(value, 32)
    if (entry === 0) return undefined
    const length = lengthOf(entry)
    const prefix: Prefix = { address: { family: 4, value: (value & maskWord(length)) >>> 0 }, length }
    return { prefix, value: this.#v4.valueOf(entry) }
  }

  #entryOf(trie: PrefixTrie<V>, entry: number): PrefixEntry<V> {
    return { prefix: this.#prefixOf(trie, entry), value: trie.valueOf(entry) }
  }

  #prefixOf(trie: PrefixTrie<V>, entry: number): Prefix {
    const length = lengthOf(entry)
    const word = trie.wordOf(entry, 0) >>> 0
    if (trie === this.#v4) return { address: { family: 4, value: word }, length }
    const w1 = trie.wordOf(entry, 1) >>> 0
    const w2 = trie.wordOf(entry, 2) >>> 0
    const w3 = trie.wordOf(entry, 3) >>> 0
    return { address: { family: 6, w0: word, w1, w2, w3 }, length }
  }

  #aimAt(member: Address | Prefix): PrefixTrie<V> {
    return isAddress(member) ? this.#aimAtAddress(member, 128) : this.#aimAtPrefix(member)
  }

  #aimAtPrefix(prefix: Prefix): PrefixTrie<V> {
    const address = prefix?.address
    if (address === undefined || address === null) return invalid('prefix', prefix)
    assertLength(address.family, prefix.length)
    return this.#aimAtAddress(address, prefix.length)
  }

  /** The trie that may have the address, and in its key now has the first `length` bits of it. */
  #aimAtAddress(address: Address, length: number): PrefixTrie<V> {
    if (address?.family === 4) {
      const { value } = address
      if (!isWord(value)) invalid('address', address)
      this.#v4.key[0] = value & maskWord(length)
      return this.#v4
    }
    if (address?.family !== 6) return invalid('address', address)
    const { w0, w1, w2, w3 } = address
    if (!(isWord(w0) && isWord(w1) && isWord(w2) && isWord(w3))) invalid('address', address)
    const { key } = this.#v6
    key[0] = w0 & maskWord(length)
    key[1] = w1 & maskWord(length - 32)
    key[2] = w2 & maskWord(length - 64)
    key[3] = w3 & maskWord(length - 96)
    return this.#v6
  }
}

function isAddress(member: Address | Prefix): member is Address {
  return typeof member === 'object' && member !== null && 'family' in member
}

function isWord(word: unknown): boolean {
  return typeof word === 'number' && word >>> 0 === word
}

/** How long a prefix may be that has all of `member`. */
function limitOf(member: Address | Prefix, bits: number): number {
  return 'family' in member ? bits : member.length
}

/** For callers without types: says what they gave. */
function invalid(argument: 'address' | 'prefix', given: unknown): never {
  const expected =
    argument === 'prefix' ? 'an address with a length' : 'a family and words that are whole numbers from 0 to 2^32 - 1'
  throw ipamError('INVALID_ARGUMENT', { argument, expected, got: shown(given) })
}

function shown(given: unknown): string {
  if (typeof given !== 'object' || given === null) return given === null ? 'null' : typeof given
  const parts = Object.entries(given).slice(0, 5)
  return parts.map(([name, part]) => `${name} ${typeof part === 'number' ? part : typeof part}`).join(', ')
}

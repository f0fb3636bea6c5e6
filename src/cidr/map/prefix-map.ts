import { INVALID_ARGUMENT } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { maskWord, type Prefix } from '../nouns/prefix-core.js'
import type { Address, Address4, Address6 } from '../nouns/types.js'
import { assertLength, isWord, shown } from '../text/checks.js'
import { PrefixTrie } from './prefix-trie.js'
import { lengthOf } from './trie-entries.js'

/** A prefix of a {@link PrefixMap} and its value. */
export interface PrefixEntry<V> {
  readonly prefix: Prefix
  readonly value: V
}

/**
 * A map from prefixes of both families to values, with the lookups of a routing table: the longest
 * match of an address, all prefixes that cover it, and all prefixes inside a prefix. Host bits of a
 * key are ignored. Mutable, as a `Map`. An IPv4 prefix never covers an IPv6 address, mapped or not.
 *
 * The order is all IPv4, then all IPv6, each ascending, a shorter prefix before the longer ones
 * that begin at the same address. A map may change during an iteration, which continues after its
 * current prefix. It returns each entry at most once, includes entries that are added after that
 * prefix, and skips entries that are deleted before it reaches them.
 *
 * At most 8,388,607 prefixes of each family. One takes about 42 bytes (IPv4) or 57 (IPv6), with the
 * reference to its value; the memory of deleted ones is reused, and `clear()` returns it.
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
    if (entries === undefined) return
    if (typeof entries?.[Symbol.iterator] !== 'function') invalid('PrefixMap', 'entries', entries)
    for (const entry of entries) {
      if (typeof entry?.[Symbol.iterator] !== 'function') invalid('PrefixMap', 'entries', entry)
      const [prefix, value] = entry
      this.set(prefix, value)
    }
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
   * Sets the value of exactly this prefix, host bits cleared. O(length of the prefix), as is every
   * lookup of one prefix or address.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`; `INVALID_ARGUMENT` for a value that is not a prefix,
   * or if the map is full
   * @example
   * new PrefixMap<number>().set(Prefix.parse('10.0.0.77/8'), 1).get(Prefix.parse('10.0.0.0/8')) // 1
   */
  set(prefix: Prefix, value: V): this {
    const length = prefix?.length
    this.#aimAtPrefix('PrefixMap.set', prefix, length).set(length, value)
    return this
  }

  /**
   * The value of exactly this prefix, host bits cleared, or `undefined`. {@link has} distinguishes
   * a value of `undefined` from no entry.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1]]).get(Prefix.parse('10.0.0.0/16')) // undefined
   */
  get(prefix: Prefix): V | undefined {
    const length = prefix?.length
    const trie = this.#aimAtPrefix('PrefixMap.get', prefix, length)
    const entry = trie.find(length)
    return entry === 0 ? undefined : trie.valueOf(entry)
  }

  /**
   * Whether the map has exactly this prefix, host bits cleared, be it with `undefined` as its
   * value.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * new PrefixMap([[Prefix.parse('10.0.0.0/8'), undefined]]).has(Prefix.parse('10.0.0.0/8')) // true
   */
  has(prefix: Prefix): boolean {
    const length = prefix?.length
    return this.#aimAtPrefix('PrefixMap.has', prefix, length).find(length) !== 0
  }

  /**
   * Deletes exactly this prefix, host bits cleared. Returns false if it does not exist. Prefixes
   * inside it stay.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1]])
   * map.delete(Prefix.parse('10.0.0.0/8')) // true
   * map.delete(Prefix.parse('10.0.0.0/8')) // false
   */
  delete(prefix: Prefix): boolean {
    const length = prefix?.length
    return this.#aimAtPrefix('PrefixMap.delete', prefix, length).delete(length)
  }

  /**
   * Deletes all entries. O(1).
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
   * The longest prefix of the map that has this address, or all of this prefix, with its value;
   * `undefined` if there is none.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.0.0.0/8'), 'wide'], [Prefix.parse('10.7.0.0/16'), 'narrow']])
   * const match = map.longestMatch(Prefix.parse('10.7.0.0/15'))
   * match && Prefix.format(match.prefix) // '10.0.0.0/8'
   */
  longestMatch(member: Address | Prefix): PrefixEntry<V> | undefined {
    if (isAddress(member) && member.family === 4) return this.#longestMatch4(member)
    const length = lengthIn(member)
    const trie = this.#aimAt('PrefixMap.longestMatch', member, length)
    const limit = length ?? trie.bits
    const entry = trie === this.#v4 ? trie.longest4(trie.key[0]!, limit) : trie.longest(limit)
    return entry === 0 ? undefined : this.#entryOf(trie, entry)
  }

  /**
   * The value of the longest prefix that contains this address, or `undefined`. It is the fastest
   * lookup, and creates no object. {@link longestMatch} distinguishes a value of `undefined` from
   * no match.
   *
   * @throws IpamError `INVALID_ARGUMENT`
   * @example
   * new PrefixMap([[Prefix.parse('fd00::/8'), 'local']]).lookup(Address.parse('fd00::1')) // 'local'
   */
  lookup(address: Address): V | undefined {
    if (address?.family === 4) {
      const trie = this.#v4
      const { value } = address
      if (!isWord(value)) invalid('PrefixMap.lookup', 'address', address)
      const entry = trie.longest4(value, 32)
      return entry === 0 ? undefined : trie.valueOf(entry)
    }
    const trie = this.#aimAtAddress('PrefixMap.lookup', address)
    const entry = trie.longest(trie.bits)
    return entry === 0 ? undefined : trie.valueOf(entry)
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
    const length = lengthIn(member)
    const trie = this.#aimAt('PrefixMap.covering', member, length)
    return trie.covering(length ?? trie.bits).map((entry) => this.#entryOf(trie, entry))
  }

  /**
   * All entries of a prefix and inside it, in order. O(length of the prefix + entries of the
   * result).
   *
   * @param options `limit`: the maximum number of entries, at least 1. The first ones are returned.
   * Default: all.
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
   * @example
   * const map = new PrefixMap([[Prefix.parse('10.7.0.0/16'), 1], [Prefix.parse('10.0.0.0/8'), 2]])
   * map.coveredBy(Prefix.parse('10.0.0.0/8')).map(({ value }) => value) // [2, 1]
   */
  coveredBy(prefix: Prefix, options: { readonly limit?: number | undefined } = {}): PrefixEntry<V>[] {
    if (typeof options !== 'object' || options === null) invalid('PrefixMap.coveredBy', 'options', options)
    const { limit = Number.POSITIVE_INFINITY } = options
    if (limit !== Number.POSITIVE_INFINITY && !(Number.isInteger(limit) && limit >= 1))
      invalid('PrefixMap.coveredBy', 'limit', limit)
    const length = prefix?.length
    const trie = this.#aimAtPrefix('PrefixMap.coveredBy', prefix, length)
    return trie.coveredBy(length, limit).map((entry) => this.#entryOf(trie, entry))
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

  /**
   * The bits of the prefix are those of the address: nothing but the value is read for the result.
   */
  #longestMatch4(address: Address4): PrefixEntry<V> | undefined {
    const { value } = address
    if (!isWord(value)) invalid('PrefixMap.longestMatch', 'address', address)
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

  #aimAt(of: string, member: Address | Prefix, length: number | undefined): PrefixTrie<V> {
    return isAddress(member) ? this.#aimAtAddress(of, member) : this.#aimAtPrefix(of, member, length as number)
  }

  /**
   * `length` is that of the prefix, read once: a getter may answer something else the next time.
   */
  #aimAtPrefix(of: string, prefix: Prefix, length: number): PrefixTrie<V> {
    const address = prefix?.address
    if (address === undefined || address === null) return invalid(of, 'prefix', prefix)
    if (length === undefined) assertLength(of, address.family, length)
    return this.#aimAtAddress(of, address, length)
  }

  /**
   * The trie that may have the address, and in its key now has the first `length` bits of it, or
   * all.
   */
  #aimAtAddress(of: string, address: Address, length?: number): PrefixTrie<V> {
    const family = address?.family
    if (family === 4) {
      const { value } = address as Address4
      if (!isWord(value)) invalid(of, 'address', address)
      if (length !== undefined) assertLength(of, 4, length)
      this.#v4.key[0] = value & maskWord(length ?? 32)
      return this.#v4
    }
    if (family !== 6) return invalid(of, 'address', address)
    const { w0, w1, w2, w3 } = address as Address6
    if (!(isWord(w0) && isWord(w1) && isWord(w2) && isWord(w3))) invalid(of, 'address', address)
    if (length !== undefined) assertLength(of, 6, length)
    const bits = length ?? 128
    const { key } = this.#v6
    key[0] = w0 & maskWord(bits)
    key[1] = w1 & maskWord(bits - 32)
    key[2] = w2 & maskWord(bits - 64)
    key[3] = w3 & maskWord(bits - 96)
    return this.#v6
  }
}

function isAddress(member: Address | Prefix): member is Address {
  return typeof member === 'object' && member !== null && 'family' in member
}

/** The length of a prefix, read once; an address has none. */
function lengthIn(member: Address | Prefix): number | undefined {
  return isAddress(member) ? undefined : member?.length
}

const EXPECTED = {
  address: 'a family and words that are whole numbers from 0 to 2^32 - 1',
  prefix: 'an address with a length',
  entries: 'an iterable of pairs of a prefix and a value',
  limit: 'a whole number from 1 on',
  options: 'an object',
} as const

const CALLS: { readonly [A in keyof typeof EXPECTED]?: string } = {
  address: 'Address.parse',
  prefix: 'Prefix.parse',
}

/** For callers without types: says what they gave. */
function invalid(of: string, argument: keyof typeof EXPECTED, given: unknown): never {
  const call = typeof given === 'string' ? CALLS[argument] : undefined
  const context = { function: of, argument, expected: EXPECTED[argument], got: partsOf(given) }
  throw ipamError(INVALID_ARGUMENT, call === undefined ? context : { ...context, call })
}

/**
 * The parts that an address or a prefix has, as far as they are there: nothing else is looked at,
 * since it may be large.
 */
function partsOf(given: unknown): string {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return shown(given)
  const parts: string[] = []
  for (const name of ['family', 'value', 'w0', 'w1', 'w2', 'w3', 'address', 'length']) {
    const part = (given as { [name: string]: unknown })[name]
    if (part !== undefined) parts.push(`${name} ${typeof part === 'number' ? part : typeof part}`)
  }
  return parts.length > 0 ? parts.join(', ') : shown(given)
}

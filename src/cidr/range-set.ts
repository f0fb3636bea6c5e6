import { fail, ipamError, type Result, unwrap } from '../errors/index.js'
import * as Address from './address.js'
import * as Prefix from './prefix.js'
import * as Range from './range.js'
import { find4, intersect4, none4, normalise4, type Ranges4, subtract4 } from './ranges4.js'
import { addressAt6, count6, find6, intersect6, none6, normalise6, type Ranges6, subtract6 } from './ranges6.js'
import type { ZonePolicy } from './scan.js'

/**
 * A set of addresses of both families as sorted, disjoint ranges. Immutable: every operation returns a new set.
 *
 * 8 bytes an IPv4 range, 32 bytes an IPv6 range. The order is all IPv4, then all IPv6, each ascending.
 */
export interface RangeSet {
  readonly v4: Ranges4
  readonly v6: Ranges6
}

export interface RangeSetParseOptions {
  /** What to do with an IPv6 zone in an address or range entry. A CIDR never has one. Default `refuse`. */
  readonly zone?: ZonePolicy
}

/** The set without any address. */
export const empty: RangeSet = { v4: none4, v6: none6 }

/**
 * Reads a list of entries, each an address, a range `first-last` or a CIDR (host bits are cleared), in any order and overlapping
 * as they like. An entry with a hyphen is a range, else one with a slash is a CIDR. O(n log n).
 *
 * @throws IpamError `MALFORMED_RANGE_SET_ENTRY` for the first entry that is none of them
 * @example
 * RangeSet.format(RangeSet.parse(['10.0.0.4/30', '10.0.0.8', '10.0.0.2'])) // ['10.0.0.2-10.0.0.2', '10.0.0.4-10.0.0.8']
 */
export function parse(entries: readonly string[], options: RangeSetParseOptions = {}): RangeSet {
  return unwrap(safeParse(entries, options))
}

/** As {@link parse}, with the failure as a value. */
export function safeParse(
  entries: readonly string[],
  options: RangeSetParseOptions = {},
): Result<RangeSet, 'MALFORMED_RANGE_SET_ENTRY'> {
  const ranges: Range.Range[] = []
  for (let index = 0; index < entries.length; index++) {
    const entry = safeParseEntry(entries[index]!, options)
    if (!entry.ok) return fail('MALFORMED_RANGE_SET_ENTRY', { ...entry.failure.context, index })
    ranges.push(entry.value)
  }
  return { ok: true, value: fromRanges(ranges) }
}

/**
 * Reads one entry as {@link parse} does: an address, a range or a CIDR, as a range.
 *
 * @example
 * const entry = RangeSet.safeParseEntry('10.0.0.0/30')
 * entry.ok && Range.format(entry.value) // '10.0.0.0-10.0.0.3'
 */
export function safeParseEntry(
  text: string,
  options: RangeSetParseOptions = {},
): Result<Range.Range, 'MALFORMED_RANGE' | 'MALFORMED_PREFIX' | 'MALFORMED_ADDRESS'> {
  if (typeof text === 'string') {
    // the separators of a legal entry stand near its beginning: do not search a hostile text to its end
    const head = text.length > ENTRY_HEAD ? text.slice(0, ENTRY_HEAD) : text
    if (head.includes('-')) return Range.safeParse(text, options)
    if (head.includes('/')) {
      const prefix = Prefix.safeParse(text)
      return prefix.ok ? { ok: true, value: Range.fromPrefix(prefix.value) } : prefix
    }
  }
  const address = Address.safeParse(text, options)
  return address.ok ? { ok: true, value: { first: address.value, last: address.value } } : address
}

/**
 * The union of ranges given in any order. O(n log n).
 *
 * @throws IpamError `FAMILY_MISMATCH`, `INVALID_RANGE`
 */
export function fromRanges(ranges: Iterable<Range.Range>): RangeSet {
  const firsts4: number[] = []
  const lasts4: number[] = []
  const firsts6: Address.Address6[] = []
  const lasts6: Address.Address6[] = []
  for (const { first, last } of ranges) {
    if (first.family !== last.family) {
      throw ipamError('FAMILY_MISMATCH', { left: Address.format(first), right: Address.format(last) })
    }
    if (Address.compare(first, last) > 0) {
      throw ipamError('INVALID_RANGE', { first: Address.format(first), last: Address.format(last) })
    }
    if (first.family === 4 && last.family === 4) {
      firsts4.push(first.value)
      lasts4.push(last.value)
    } else if (first.family === 6 && last.family === 6) {
      firsts6.push(first)
      lasts6.push(last)
    }
  }
  return {
    v4: firsts4.length === 0 ? none4 : normalise4(firsts4, lasts4),
    v6: firsts6.length === 0 ? none6 : normalise6(firsts6, lasts6),
  }
}

/** The union of single addresses given in any order. O(n log n). */
export function fromAddresses(addresses: Iterable<Address.Address>): RangeSet {
  const ranges: Range.Range[] = []
  for (const address of addresses) ranges.push({ first: address, last: address })
  return fromRanges(ranges)
}

/** All addresses of either set. O((a + b) log(a + b)). */
export function union(left: RangeSet, right: RangeSet): RangeSet {
  return fromRanges([...ranges(left), ...ranges(right)])
}

/** The addresses of `left` that `right` does not have. O(a + b). */
export function subtract(left: RangeSet, right: RangeSet): RangeSet {
  return { v4: subtract4(left.v4, right.v4), v6: subtract6(left.v6, right.v6) }
}

/** The addresses that both sets have. O(a + b). */
export function intersect(left: RangeSet, right: RangeSet): RangeSet {
  return { v4: intersect4(left.v4, right.v4), v6: intersect6(left.v6, right.v6) }
}

/** Whether the set has this address. O(log n). */
export function contains(set: RangeSet, address: Address.Address): boolean {
  return address.family === 4 ? find4(set.v4, address.value) >= 0 : find6(set.v6, address) >= 0
}

/** Whether the set has every address of the range. O(log n). */
export function containsRange(set: RangeSet, range: Range.Range): boolean {
  const { first, last } = range
  if (first.family === 4 && last.family === 4) {
    const index = find4(set.v4, first.value)
    return index >= 0 && last.value <= set.v4.lasts[index]!
  }
  if (first.family === 6 && last.family === 6) {
    const index = find6(set.v6, first)
    return index >= 0 && Address.compare(last, addressAt6(set.v6.lasts, index)) <= 0
  }
  return false
}

/** Whether the set has no address at all. */
export function isEmpty(set: RangeSet): boolean {
  return set.v4.firsts.length === 0 && set.v6.firsts.length === 0
}

/** Whether two sets have the same addresses. O(n). */
export function equals(left: RangeSet, right: RangeSet): boolean {
  return (
    sameWords(left.v4.firsts, right.v4.firsts) &&
    sameWords(left.v4.lasts, right.v4.lasts) &&
    sameWords(left.v6.firsts, right.v6.firsts) &&
    sameWords(left.v6.lasts, right.v6.lasts)
  )
}

/** How many addresses the set has. O(n). */
export function size(set: RangeSet): bigint {
  let count4 = 0 // at most 2^32: exact
  for (let i = 0; i < set.v4.firsts.length; i++) count4 += set.v4.lasts[i]! - set.v4.firsts[i]! + 1
  let total = BigInt(count4)
  for (let i = 0; i < count6(set.v6); i++) {
    total += Address.distance(addressAt6(set.v6.firsts, i), addressAt6(set.v6.lasts, i)) + 1n
  }
  return total
}

/** The ranges of the set in order. O(n). */
export function ranges(set: RangeSet): Range.Range[] {
  const list: Range.Range[] = []
  for (let i = 0; i < set.v4.firsts.length; i++) {
    list.push({ first: { family: 4, value: set.v4.firsts[i]! }, last: { family: 4, value: set.v4.lasts[i]! } })
  }
  for (let i = 0; i < count6(set.v6); i++) {
    list.push({ first: addressAt6(set.v6.firsts, i), last: addressAt6(set.v6.lasts, i) })
  }
  return list
}

/** The lowest address (IPv4 before IPv6), or `undefined` if the set is empty. O(1). */
export function first(set: RangeSet): Address.Address | undefined {
  if (set.v4.firsts.length > 0) return { family: 4, value: set.v4.firsts[0]! }
  return set.v6.firsts.length > 0 ? addressAt6(set.v6.firsts, 0) : undefined
}

/** Each range as `first-last`, in order. O(n). */
export function format(set: RangeSet): string[] {
  return ranges(set).map(Range.format)
}

/** Two addresses of 45 characters with zones, and a separator, all fit in this many. */
const ENTRY_HEAD = 192

function sameWords(left: Uint32Array, right: Uint32Array): boolean {
  if (left.length !== right.length) return false
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}

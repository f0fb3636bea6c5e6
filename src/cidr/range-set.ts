import type * as Address from './address.js'
import { blocks4, blocks6 } from './blocks.js'
import * as Prefix from './prefix.js'
import type * as Range from './range.js'
import { find4, intersect4, none4, overlaps4, type Ranges4, subtract4, sumBefore4, union4 } from './ranges4.js'
import { count6, find6, intersect6, none6, overlaps6, type Ranges6, subtract6, sumBefore6, union6 } from './ranges6.js'
import { Spans } from './spans.js'
import { addressAt6, compareTo } from './words6.js'

/**
 * A set of addresses of both families as sorted, disjoint ranges. Immutable: every operation returns a new set, which may share its
 * arrays with another.
 *
 * An IPv4 range takes 8 bytes, an IPv6 range 32, and in sets of 32 ranges and more 4 to 8 on top for a directory, which is built once a set
 * has been searched so often that it pays. The order is all IPv4, then all IPv6, each ascending.
 *
 * A set can be frozen, and a worker can be sent one: a structured clone is a set too, and is searched without a directory.
 */
export interface RangeSet {
  readonly v4: Ranges4
  readonly v6: Ranges6
}

/** The set without any address. */
export const empty: RangeSet = { v4: none4, v6: none6 }

/**
 * The union of ranges given in any order. O(n).
 *
 * @throws IpamError `FAMILY_MISMATCH`, `INVALID_RANGE`
 * @example
 * RangeSet.format(RangeSet.fromRanges([Range.parse('10.0.0.4-10.0.0.6'), Range.parse('10.0.0.1-10.0.0.3')])) // ['10.0.0.1-10.0.0.6']
 */
export function fromRanges(ranges: Iterable<Range.Range>): RangeSet {
  const spans = new Spans()
  for (const { first, last } of ranges) spans.addRange(first, last)
  return spans.take()
}

/**
 * The union of prefixes given in any order; host bits do not count. O(n).
 *
 * @example
 * RangeSet.formatPrefixes(RangeSet.fromPrefixes([Prefix.parse('10.0.1.0/24'), Prefix.parse('10.0.0.0/24')])) // ['10.0.0.0/23']
 */
export function fromPrefixes(prefixes: Iterable<Prefix.Prefix>): RangeSet {
  const spans = new Spans()
  for (const prefix of prefixes) spans.addPrefix(prefix)
  return spans.take()
}

/**
 * The union of single addresses given in any order. O(n).
 *
 * @example
 * RangeSet.format(RangeSet.fromAddresses([Address.parse('10.0.0.2'), Address.parse('10.0.0.1')])) // ['10.0.0.1-10.0.0.2']
 */
export function fromAddresses(addresses: Iterable<Address.Address>): RangeSet {
  const spans = new Spans()
  for (const address of addresses) spans.addRange(address, address)
  return spans.take()
}

/**
 * All addresses of either set. O(a + b).
 *
 * @example
 * RangeSet.format(RangeSet.union(RangeSet.parse(['10.0.0.0/31']), RangeSet.parse(['10.0.0.2']))) // ['10.0.0.0-10.0.0.2']
 */
export function union(left: RangeSet, right: RangeSet): RangeSet {
  return { v4: union4(left.v4, right.v4), v6: union6(left.v6, right.v6) }
}

/**
 * The addresses of `left` that `right` does not have. O(a + b).
 *
 * @example
 * RangeSet.format(RangeSet.subtract(RangeSet.parse(['10.0.0.0/29']), RangeSet.parse(['10.0.0.1']))) // ['10.0.0.0-10.0.0.0', '10.0.0.2-10.0.0.7']
 */
export function subtract(left: RangeSet, right: RangeSet): RangeSet {
  return { v4: subtract4(left.v4, right.v4), v6: subtract6(left.v6, right.v6) }
}

/**
 * The addresses that both sets have. O(a + b).
 *
 * @example
 * RangeSet.format(RangeSet.intersect(RangeSet.parse(['10.0.0.0/29']), RangeSet.parse(['10.0.0.6/28']))) // ['10.0.0.0-10.0.0.7']
 */
export function intersect(left: RangeSet, right: RangeSet): RangeSet {
  return { v4: intersect4(left.v4, right.v4), v6: intersect6(left.v6, right.v6) }
}

/**
 * The addresses of `within` that the set does not have. O(a + b).
 *
 * @example
 * RangeSet.format(RangeSet.complement(RangeSet.parse(['10.0.0.2']), Prefix.parse('10.0.0.0/30'))) // ['10.0.0.0-10.0.0.1', '10.0.0.3-10.0.0.3']
 */
export function complement(set: RangeSet, within: Prefix.Prefix | Range.Range | RangeSet): RangeSet {
  return subtract(toSet(within), set)
}

/**
 * Whether the set has this address, or all of a prefix, a range or another set. O(log n), with a directory that leaves a step or two where
 * the ranges are spread; O(a + b) for a set.
 *
 * @example
 * const set = RangeSet.parse(['10.0.0.0/24', '10.0.1.0-10.0.1.9'])
 * RangeSet.contains(set, Address.parse('10.0.1.9')) // true
 * RangeSet.contains(set, Prefix.parse('10.0.0.0/23')) // false
 */
export function contains(set: RangeSet, member: Address.Address | Prefix.Prefix | Range.Range | RangeSet): boolean {
  // by its family and not by `in`, which costs more than the search
  const address = member as Address.Address
  if (address.family === 4) return find4(set.v4, address.value) >= 0
  if (address.family === 6) return find6(set.v6, address) >= 0
  return containsAll(set, member as Prefix.Prefix | Range.Range | RangeSet)
}

function containsAll(set: RangeSet, member: Prefix.Prefix | Range.Range | RangeSet): boolean {
  if ('length' in member) return containsSpan(set, Prefix.first(member), Prefix.last(member))
  if ('first' in member) return containsSpan(set, member.first, member.last)
  return isEmpty(subtract(member, set))
}

/**
 * Whether the set has an address in common with a prefix, a range or another set. O(a + b) at worst: it stops at the first one.
 *
 * @example
 * RangeSet.overlaps(RangeSet.parse(['10.0.0.5']), Prefix.parse('10.0.0.0/30')) // false
 */
export function overlaps(set: RangeSet, other: Prefix.Prefix | Range.Range | RangeSet): boolean {
  const right = toSet(other)
  return overlaps4(set.v4, right.v4) || overlaps6(set.v6, right.v6)
}

/**
 * Whether the set has no address at all. O(1).
 *
 * @example
 * RangeSet.isEmpty(RangeSet.empty) // true
 */
export function isEmpty(set: RangeSet): boolean {
  return set.v4.firsts.length === 0 && set.v6.firsts.length === 0
}

/**
 * Whether two sets have the same addresses. O(n).
 *
 * @example
 * RangeSet.equals(RangeSet.parse(['10.0.0.0/31']), RangeSet.parse(['10.0.0.1', '10.0.0.0'])) // true
 */
export function equals(left: RangeSet, right: RangeSet): boolean {
  return (
    sameWords(left.v4.firsts, right.v4.firsts) &&
    sameWords(left.v4.lasts, right.v4.lasts) &&
    sameWords(left.v6.firsts, right.v6.firsts) &&
    sameWords(left.v6.lasts, right.v6.lasts)
  )
}

/**
 * How many addresses the set has. O(n) the first time, then O(1) but for the last 64 ranges.
 *
 * @example
 * RangeSet.size(RangeSet.parse(['10.0.0.0/24', 'fd00::/64'])) // 18446744073709551872n
 */
export function size(set: RangeSet): bigint {
  return BigInt(sumBefore4(set.v4, set.v4.firsts.length)) + sumBefore6(set.v6, count6(set.v6))
}

/**
 * The ranges of the set in order. O(n).
 *
 * @example
 * RangeSet.ranges(RangeSet.parse(['10.0.0.4/30', '10.0.0.8'])).map(Range.format) // ['10.0.0.4-10.0.0.8']
 */
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

/**
 * The fewest prefixes that have exactly the addresses of the set, in order. O(n), at most 62 an IPv4 range and 254 an IPv6 range.
 *
 * @example
 * RangeSet.prefixes(RangeSet.parse(['10.0.0.4-10.0.0.8'])).map(Prefix.format) // ['10.0.0.4/30', '10.0.0.8/32']
 */
export function prefixes(set: RangeSet): Prefix.Prefix[] {
  const list: Prefix.Prefix[] = []
  for (let i = 0; i < set.v4.firsts.length; i++) blocks4(set.v4.firsts[i]!, set.v4.lasts[i]!, list)
  for (let i = 0; i < count6(set.v6); i++) blocks6(set.v6.firsts, set.v6.lasts, i, list)
  return list
}

/**
 * The lowest address (IPv4 before IPv6), or `undefined` if the set is empty. O(1).
 *
 * @example
 * RangeSet.first(RangeSet.empty) // undefined
 */
export function first(set: RangeSet): Address.Address | undefined {
  if (set.v4.firsts.length > 0) return { family: 4, value: set.v4.firsts[0]! }
  return set.v6.firsts.length > 0 ? addressAt6(set.v6.firsts, 0) : undefined
}

/**
 * The highest address (IPv6 behind IPv4), or `undefined` if the set is empty. O(1).
 *
 * @example
 * const last = RangeSet.last(RangeSet.parse(['10.0.0.0/24']))
 * last && Address.format(last) // '10.0.0.255'
 */
export function last(set: RangeSet): Address.Address | undefined {
  const count = count6(set.v6)
  if (count > 0) return addressAt6(set.v6.lasts, count - 1)
  const { lasts } = set.v4
  return lasts.length > 0 ? { family: 4, value: lasts[lasts.length - 1]! } : undefined
}

function containsSpan(set: RangeSet, from: Address.Address, to: Address.Address): boolean {
  if (from.family === 4 && to.family === 4) {
    const index = find4(set.v4, from.value)
    return index >= 0 && to.value <= set.v4.lasts[index]!
  }
  if (from.family === 6 && to.family === 6) {
    const index = find6(set.v6, from)
    return index >= 0 && compareTo(set.v6.lasts, index, to) >= 0
  }
  return false
}

function toSet(other: Prefix.Prefix | Range.Range | RangeSet): RangeSet {
  if ('v4' in other) return other
  return 'length' in other ? fromPrefixes([other]) : fromRanges([other])
}

function sameWords(left: Uint32Array, right: Uint32Array): boolean {
  if (left.length !== right.length) return false
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}

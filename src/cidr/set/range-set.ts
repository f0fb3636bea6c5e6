import { refuseIn } from '../../errors/refuse.js'
import type * as Address from '../nouns/address-core.js'
import * as Prefix from '../nouns/prefix-core.js'
import { assertEnds, assertRange, notAMember } from '../nouns/range-check.js'
import type * as Range from '../nouns/range-core.js'
import { assertAddress, isWord, notAnAddress } from '../text/checks.js'
import { blocks4, blocks6 } from './decompose.js'
import { A_SET, find4, intersect4, none4, overlaps4, Ranges4, subtract4, sumBefore4, union4 } from './ranges4.js'
import { count6, find6, intersect6, none6, overlaps6, Ranges6, subtract6, sumBefore6, union6 } from './ranges6.js'
import { Spans } from './spans.js'
import { addressAt6, compareTo } from './words6.js'

/**
 * A set of addresses of both families as sorted, disjoint ranges. Immutable: every operation
 * returns a new set, which may share its arrays with another.
 *
 * An IPv4 range needs 8 bytes, an IPv6 range 32. Sets of 32 ranges or more need 4 to 8 more for a
 * directory, which the first search builds in O(n). The order is all IPv4, then all IPv6, each
 * ascending.
 *
 * A set can be frozen, and sent to a worker. A structured clone is a set too, but it has no
 * directory, and its size is computed in each call. `RangeSet.union(clone, RangeSet.empty)`
 * restores both. `JSON.stringify` writes the ranges of each family as text. A set cannot be read
 * from that: keep `RangeSet.format`, or bytes. Every function with a set throws `INVALID_ARGUMENT`
 * for a value that is neither a set nor a clone.
 */
export interface RangeSet {
  readonly v4: Ranges4
  readonly v6: Ranges6
}

/** The set without any address. */
export const empty: RangeSet = /* @__PURE__ */ Object.freeze({ v4: none4, v6: none6 })

/**
 * The union of ranges given in any order. O(n).
 *
 * @throws IpamError `FAMILY_MISMATCH`, `INVALID_RANGE`
 * @example
 * RangeSet.format(RangeSet.fromRanges([Range.parse('10.0.0.4-10.0.0.6'), Range.parse('10.0.0.1-10.0.0.3')])) // ['10.0.0.1-10.0.0.6']
 */
export function fromRanges(ranges: Iterable<Range.Range>): RangeSet {
  assertList('RangeSet.fromRanges', 'ranges', ranges)
  const spans = new Spans(ranges)
  for (const range of ranges) {
    assertRange('RangeSet.fromRanges', 'ranges', range)
    spans.addOrdered(range.first, range.last)
  }
  return spans.take()
}

/**
 * The union of prefixes given in any order; host bits are ignored. O(n).
 *
 * @example
 * RangeSet.formatPrefixes(RangeSet.fromPrefixes([Prefix.parse('10.0.1.0/24'), Prefix.parse('10.0.0.0/24')])) // ['10.0.0.0/23']
 */
export function fromPrefixes(prefixes: Iterable<Prefix.Prefix>): RangeSet {
  assertList('RangeSet.fromPrefixes', 'prefixes', prefixes)
  const spans = new Spans(prefixes)
  for (const prefix of prefixes) {
    Prefix.assertPrefix('RangeSet.fromPrefixes', 'prefixes', prefix)
    spans.addPrefix(prefix)
  }
  return spans.take()
}

/**
 * The union of single addresses given in any order. O(n).
 *
 * @example
 * RangeSet.format(RangeSet.fromAddresses([Address.parse('10.0.0.2'), Address.parse('10.0.0.1')])) // ['10.0.0.1-10.0.0.2']
 */
export function fromAddresses(addresses: Iterable<Address.Address>): RangeSet {
  assertList('RangeSet.fromAddresses', 'addresses', addresses)
  const spans = new Spans(addresses)
  for (const address of addresses) {
    assertAddress('RangeSet.fromAddresses', 'addresses', address)
    spans.addOrdered(address, address)
  }
  return spans.take()
}

/**
 * All addresses of either set. O(a + b).
 *
 * @example
 * RangeSet.format(RangeSet.union(RangeSet.parse(['10.0.0.0/31']), RangeSet.parse(['10.0.0.2']))) // ['10.0.0.0-10.0.0.2']
 */
export function union(left: RangeSet, right: RangeSet): RangeSet {
  assertSet('RangeSet.union', 'left', left)
  assertSet('RangeSet.union', 'right', right)
  return { v4: union4(left.v4, right.v4), v6: union6(left.v6, right.v6) }
}

/**
 * The addresses of `left` that `right` does not have. O(a + b).
 *
 * @example
 * RangeSet.format(RangeSet.subtract(RangeSet.parse(['10.0.0.0/29']), RangeSet.parse(['10.0.0.1']))) // ['10.0.0.0-10.0.0.0', '10.0.0.2-10.0.0.7']
 */
export function subtract(left: RangeSet, right: RangeSet): RangeSet {
  assertSet('RangeSet.subtract', 'left', left)
  assertSet('RangeSet.subtract', 'right', right)
  return { v4: subtract4(left.v4, right.v4), v6: subtract6(left.v6, right.v6) }
}

/**
 * The addresses that both sets have. O(a + b).
 *
 * @example
 * RangeSet.format(RangeSet.intersect(RangeSet.parse(['10.0.0.0/29']), RangeSet.parse(['10.0.0.6/28']))) // ['10.0.0.0-10.0.0.7']
 */
export function intersect(left: RangeSet, right: RangeSet): RangeSet {
  assertSet('RangeSet.intersect', 'left', left)
  assertSet('RangeSet.intersect', 'right', right)
  return { v4: intersect4(left.v4, right.v4), v6: intersect6(left.v6, right.v6) }
}

/**
 * The addresses of `within` that the set does not have. O(a + b).
 *
 * @example
 * RangeSet.format(RangeSet.complement(RangeSet.parse(['10.0.0.2']), Prefix.parse('10.0.0.0/30'))) // ['10.0.0.0-10.0.0.1', '10.0.0.3-10.0.0.3']
 */
export function complement(set: RangeSet, within: Prefix.Prefix | Range.Range | RangeSet): RangeSet {
  assertSet('RangeSet.complement', 'set', set)
  return subtract(toSet('RangeSet.complement', 'within', within), set)
}

/**
 * Whether the set has this address, or all of a prefix, a range or another set. O(log n), or one or
 * two steps with a directory if the ranges are evenly distributed; O(a + b) for a set.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value of another type; `INVALID_PREFIX_LENGTH`,
 * `FAMILY_MISMATCH`, `INVALID_RANGE`
 * @example
 * const set = RangeSet.parse(['10.0.0.0/24', '10.0.1.0-10.0.1.9'])
 * RangeSet.contains(set, Address.parse('10.0.1.9')) // true
 * RangeSet.contains(set, Prefix.parse('10.0.0.0/23')) // false
 */
export function contains(set: RangeSet, member: Address.Address | Prefix.Prefix | Range.Range | RangeSet): boolean {
  assertSet('RangeSet.contains', 'set', set)
  // by its family and not by `in`, which costs more than the search
  const address = member as Address.Address
  if (address?.family === 4) {
    if (find4(set.v4, address.value) >= 0) return true
    if (isWord(address.value)) return false
    throw notAnAddress('RangeSet.contains', 'member', member)
  }
  if (address?.family === 6) {
    if (find6(set.v6, address) >= 0) return true
    // the other words are looked at only where the first one does not decide: each costs a step to
    // memory
    if (isWord(address.w0)) return false
    throw notAnAddress('RangeSet.contains', 'member', member)
  }
  return containsAll(set, member as Prefix.Prefix | Range.Range | RangeSet)
}

function containsAll(set: RangeSet, member: Prefix.Prefix | Range.Range | RangeSet): boolean {
  if (isSet('RangeSet.contains', 'member', member)) return isEmpty(subtract(member, set))
  const { first, last } = endsOf('RangeSet.contains', 'member', member)
  return containsSpan(set, first, last)
}

/**
 * Whether the set has an address in common with a prefix, a range or another set. O(log n); O(a +
 * b) at worst for a set: it stops at the first one.
 *
 * @throws IpamError `INVALID_ARGUMENT` for what is none of them; `INVALID_PREFIX_LENGTH`,
 * `FAMILY_MISMATCH`, `INVALID_RANGE`
 * @example
 * RangeSet.overlaps(RangeSet.parse(['10.0.0.5']), Prefix.parse('10.0.0.0/30')) // false
 */
export function overlaps(set: RangeSet, other: Prefix.Prefix | Range.Range | RangeSet): boolean {
  assertSet('RangeSet.overlaps', 'set', set)
  if (isSet('RangeSet.overlaps', 'other', other)) return overlaps4(set.v4, other.v4) || overlaps6(set.v6, other.v6)
  // the last range that begins no later than the other one ends
  const { first, last } = endsOf('RangeSet.overlaps', 'other', other)
  if (first.family === 4 && last.family === 4) {
    const index = Ranges4.floor(set.v4, last.value)
    return index >= 0 && set.v4.lasts[index]! >= first.value
  }
  const index = Ranges6.floor(set.v6, last as Address.Address6)
  return index >= 0 && compareTo(set.v6.lasts, index, first as Address.Address6) >= 0
}

/**
 * Whether the set has no address at all. O(1).
 *
 * @example
 * RangeSet.isEmpty(RangeSet.empty) // true
 */
export function isEmpty(set: RangeSet): boolean {
  const { v4, v6 } = own('RangeSet.isEmpty', 'set', set)
  return v4.firsts.length === 0 && v6.firsts.length === 0
}

/**
 * Whether two sets have the same addresses. O(n).
 *
 * @example
 * RangeSet.equals(RangeSet.parse(['10.0.0.0/31']), RangeSet.parse(['10.0.0.1', '10.0.0.0'])) // true
 */
export function equals(left: RangeSet, right: RangeSet): boolean {
  const a = own('RangeSet.equals', 'left', left)
  const b = own('RangeSet.equals', 'right', right)
  return (
    sameWords(a.v4.firsts, b.v4.firsts) &&
    sameWords(a.v4.lasts, b.v4.lasts) &&
    sameWords(a.v6.firsts, b.v6.firsts) &&
    sameWords(a.v6.lasts, b.v6.lasts)
  )
}

/**
 * How many addresses the set has. O(n) the first time, then O(1) but for the last 64 ranges.
 *
 * @example
 * RangeSet.size(RangeSet.parse(['10.0.0.0/24', 'fd00::/64'])) // 18446744073709551872n
 */
export function size(set: RangeSet): bigint {
  const { v4, v6 } = own('RangeSet.size', 'set', set)
  return BigInt(sumBefore4(v4, v4.firsts.length)) + sumBefore6(v6, count6(v6))
}

/**
 * The ranges of the set in order. O(n).
 *
 * @example
 * RangeSet.ranges(RangeSet.parse(['10.0.0.4/30', '10.0.0.8'])).map(Range.format) // ['10.0.0.4-10.0.0.8']
 */
export function ranges(set: RangeSet): Range.Range[] {
  const { v4, v6 } = own('RangeSet.ranges', 'set', set)
  const list: Range.Range[] = []
  for (let i = 0; i < v4.firsts.length; i++) list.push(rangeAt4(v4, i))
  for (let i = 0; i < count6(v6); i++) list.push(rangeAt6(v6, i))
  return list
}

/** As {@link ranges}, one at a time. */
export function* eachRange(set: RangeSet): IterableIterator<Range.Range> {
  const { v4, v6 } = own('eachRange', 'set', set)
  for (let i = 0; i < v4.firsts.length; i++) yield rangeAt4(v4, i)
  for (let i = 0; i < count6(v6); i++) yield rangeAt6(v6, i)
}

function rangeAt4({ firsts, lasts }: Ranges4, index: number): Range.Range {
  return { first: { family: 4, value: firsts[index]! }, last: { family: 4, value: lasts[index]! } }
}

function rangeAt6({ firsts, lasts }: Ranges6, index: number): Range.Range {
  return { first: addressAt6(firsts, index), last: addressAt6(lasts, index) }
}

/**
 * The fewest prefixes that have exactly the addresses of the set, in order. O(n), at most 62 an
 * IPv4 range and 254 an IPv6 range.
 *
 * @example
 * RangeSet.prefixes(RangeSet.parse(['10.0.0.4-10.0.0.8'])).map(Prefix.format) // ['10.0.0.4/30', '10.0.0.8/32']
 */
export function prefixes(set: RangeSet): Prefix.Prefix[] {
  const { v4, v6 } = own('RangeSet.prefixes', 'set', set)
  const list: Prefix.Prefix[] = []
  for (let i = 0; i < v4.firsts.length; i++) blocks4(v4.firsts[i]!, v4.lasts[i]!, list)
  for (let i = 0; i < count6(v6); i++) blocks6(v6.firsts, v6.lasts, i, list)
  return list
}

/**
 * The lowest address (IPv4 before IPv6), or `undefined` if the set is empty. O(1).
 *
 * @example
 * RangeSet.first(RangeSet.empty) // undefined
 */
export function first(set: RangeSet): Address.Address | undefined {
  const { v4, v6 } = own('RangeSet.first', 'set', set)
  if (v4.firsts.length > 0) return { family: 4, value: v4.firsts[0]! }
  return v6.firsts.length > 0 ? addressAt6(v6.firsts, 0) : undefined
}

/**
 * The highest address (IPv6 behind IPv4), or `undefined` if the set is empty. O(1).
 *
 * @example
 * const last = RangeSet.last(RangeSet.parse(['10.0.0.0/24']))
 * last && Address.format(last) // '10.0.0.255'
 */
export function last(set: RangeSet): Address.Address | undefined {
  const { v4, v6 } = own('RangeSet.last', 'set', set)
  const count = count6(v6)
  if (count > 0) return addressAt6(v6.lasts, count - 1)
  const { lasts } = v4
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

/**
 * Checks a set at the start of a function, and converts a structured clone. O(1).
 *
 * @throws IpamError as {@link assertSet}
 */
export function own(of: string, argument: string, set: RangeSet): RangeSet {
  assertSet(of, argument, set)
  const v4 = Ranges4.own(set.v4)
  const v6 = Ranges6.own(set.v6)
  return v4 === set.v4 && v6 === set.v6 ? set : { v4, v6 }
}

/** @throws IpamError `INVALID_ARGUMENT` unless `set` is a set or a structured clone of one */
export function assertSet(of: string, argument: string, set: RangeSet): void {
  if (Ranges4.is(set?.v4) && Ranges6.is(set?.v6)) return
  const isText = typeof set === 'string' || Array.isArray(set)
  refuseIn(of, argument, A_SET, set, isText ? 'RangeSet.parse' : undefined)
}

function toSet(of: string, argument: string, other: Prefix.Prefix | Range.Range | RangeSet): RangeSet {
  return isSet(of, argument, other) ? other : fromRanges([endsOf(of, argument, other)])
}

function isSet(of: string, argument: string, member: Prefix.Prefix | Range.Range | RangeSet): member is RangeSet {
  if (typeof member !== 'object' || member === null) throw notAMember(of, argument, member)
  if (!('v4' in member)) return false
  assertSet(of, argument, member)
  return true
}

/** @throws IpamError for what is neither a prefix nor a range */
function endsOf(of: string, argument: string, member: Prefix.Prefix | Range.Range): Range.Range {
  if ('first' in member) {
    assertEnds(of, member.first, member.last)
    return member
  }
  if (!('address' in member)) throw notAMember(of, argument, member)
  Prefix.assertPrefix(of, argument, member)
  return { first: Prefix.first(member), last: Prefix.last(member) }
}

/** @throws IpamError `INVALID_ARGUMENT` unless `list` is an iterable object */
function assertList(of: string, argument: string, list: Iterable<unknown>): void {
  if (typeof list !== 'object' || typeof list?.[Symbol.iterator] !== 'function') {
    refuseIn(of, argument, 'a list', list, typeof list === 'string' ? 'RangeSet.parse with a list of texts' : undefined)
  }
}

function sameWords(left: Uint32Array, right: Uint32Array): boolean {
  if (left.length !== right.length) return false
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}

import { refuseIn } from '../../errors/refuse.js'
import * as Address from '../nouns/address-core.js'
import { assertAddress, toIndex } from '../text/checks.js'
import { mix } from './mix.js'
import { assertSet, eachRange, isEmpty, type RangeSet, size } from './range-set.js'
import { at4, Ranges4, sumBefore4 } from './ranges4.js'
import { at6, Ranges6, sumBefore6 } from './ranges6.js'
import { bigAt6, compareTo } from './words6.js'

/**
 * The number of addresses of the set before an address, which need not be in it. All IPv4 addresses
 * are before all IPv6 addresses. O(log n).
 *
 * `RangeSet.at(set, RangeSet.rank(set, address))` is the address again if the set has it.
 *
 * @example
 * RangeSet.rank(RangeSet.parse(['10.0.0.0/30', '10.0.1.0/30']), Address.parse('10.0.1.1')) // 5n
 */
export function rank(set: RangeSet, address: Address.Address): bigint {
  assertSet('RangeSet.rank', 'set', set)
  assertAddress('RangeSet.rank', 'address', address)
  if (address.family === 4) {
    const index = Ranges4.floor(set.v4, address.value)
    if (index < 0) return 0n
    const last = set.v4.lasts[index]!
    const inside = (address.value <= last ? address.value : last + 1) - set.v4.firsts[index]!
    return BigInt(sumBefore4(set.v4, index) + inside)
  }
  const before = BigInt(sumBefore4(set.v4, set.v4.firsts.length))
  const index = Ranges6.floor(set.v6, address)
  if (index < 0) return before
  const first = bigAt6(set.v6.firsts, index)
  const end =
    compareTo(set.v6.lasts, index, address) >= 0 ? Address.toBigInt(address) : bigAt6(set.v6.lasts, index) + 1n
  return before + sumBefore6(set.v6, index) + (end - first)
}

/**
 * The address of the set that has `index` others before it: 0 is the lowest. O(log n).
 *
 * @throws IpamError `INDEX_OUT_OF_RANGE` unless 0 <= `index` < `RangeSet.size(set)`
 * @example
 * Address.format(RangeSet.at(RangeSet.parse(['10.0.0.0/30', '10.0.1.0/30']), 5)) // '10.0.1.1'
 */
export function at(set: RangeSet, index: bigint | number): Address.Address {
  assertSet('RangeSet.at', 'set', set)
  const wanted = toIndex('RangeSet.at', index, size(set))
  const count4 = BigInt(sumBefore4(set.v4, set.v4.firsts.length))
  if (wanted < count4) return { family: 4, value: at4(set.v4, Number(wanted)) }
  return Address.fromBigInt(6, at6(set.v6, wanted - count4))
}

/**
 * An address of the set that depends only on the seed, uniformly distributed; `undefined` if the
 * set is empty. For distribution, not for secrets. O(log n).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a seed that is not a whole number within 2^53
 * @example
 * const set = RangeSet.parse(['10.0.0.0/24'])
 * const address = RangeSet.random(set, 42)
 * address && RangeSet.contains(set, address) // true
 */
export function random(set: RangeSet, seed: number): Address.Address | undefined {
  assertSet('RangeSet.random', 'set', set)
  if (!Number.isSafeInteger(seed)) refuseIn('RangeSet.random', 'seed', 'a whole number within 2^53', seed)
  if (isEmpty(set)) return undefined
  const count = size(set)
  const bits = BigInt((count - 1n).toString(2).length)
  // what lies beyond the last member is thrown again: a remainder would favour the low ones
  for (let attempt = 0; ; attempt++) {
    const index = noise(seed, attempt) & ((1n << bits) - 1n)
    if (index < count) return at(set, index)
  }
}

/**
 * An iterator over all addresses of the set, in order. A set may have 2^128 of them. O(1) for each.
 *
 * @example
 * Array.from(RangeSet.addresses(RangeSet.parse(['10.0.0.254-10.0.1.0'])), Address.format) // ['10.0.0.254', '10.0.0.255', '10.0.1.0']
 */
export function addresses(set: RangeSet): IterableIterator<Address.Address> {
  assertSet('RangeSet.addresses', 'set', set)
  return eachAddress(set)
}

function* eachAddress(set: RangeSet): IterableIterator<Address.Address> {
  for (const { first, last } of eachRange(set)) {
    for (let address: Address.Address | undefined = first; address !== undefined; address = Address.next(address)) {
      yield address
      if (Address.equals(address, last)) break
    }
  }
}

/** 160 bits that look random, of a seed and a number. */
function noise(seed: number, attempt: number): bigint {
  const high = Math.floor(seed / 2 ** 32) | 0
  let state = mix(mix(mix(high) ^ (seed | 0)) + Math.imul(attempt, 0x9e3779b9))
  let bits = 0n
  for (let word = 0; word < 5; word++) {
    state = (state + 0x9e3779b9) | 0
    bits = (bits << 32n) | BigInt(mix(state) >>> 0)
  }
  return bits
}

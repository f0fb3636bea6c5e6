import * as Address from '../../../cidr/nouns/address.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'

type Address = Address.Address
type RangeSet = RangeSet.RangeSet

/**
 * The lowest address of a set that is not taken; `undefined`: all are. O(taken) where a low range
 * of the set has a free address, O(n log n) else.
 *
 * Rows come in the order of their keys, and IPv4 rows mostly need one pass: it follows the
 * addresses from the first one on up to a gap. It also keeps the lowest address that came before
 * its turn. If the gap reaches that one, a bitmap decides.
 *
 * n taken addresses leave one of the first n + 1 of a range free. So the bitmap has n + 1 bits,
 * however large the range is:
 *
 *     addresses   |first ............ first + n| ................ last|
 *     bitmap      |1110111 ...                0|
 */
export function lowestFree(addresses: RangeSet, taken: readonly Address[]): Address | undefined {
  const first = RangeSet.first(addresses)
  if (first === undefined) return undefined
  const low = RangeSet.ranges(addresses)[0] as { readonly first: Address; readonly last: Address }
  const distance = Address.distance(low.first, low.last)
  const count = distance < BigInt(taken.length) ? Number(distance) + 1 : taken.length + 1
  const offset = low.first.family === 4 ? lowest4(low.first.value, taken, count) : lowest6(low.first, taken, count)
  if (offset !== undefined) return Address.add(low.first, offset)
  return RangeSet.first(RangeSet.subtract(addresses, RangeSet.fromAddresses(taken)))
}

function lowest4(first: number, taken: readonly Address[], count: number): number | undefined {
  const end = runEnd4(first, taken, count)
  if (end !== undefined) return end
  const words = new Uint32Array((count + 31) >>> 5)
  for (const address of taken) {
    if (address?.family !== 4) continue
    const offset = address.value - first
    if (offset >= 0 && offset < count) words[offset >>> 5]! |= 1 << (offset & 31)
  }
  return zeroOf(words, count)
}

/**
 * The lowest offset from `first` on that is not taken; `undefined`: one pass does not show it.
 *
 * A loop by index, and all comparisons in the loop: V8 enters its optimised code in the middle of
 * the first call, and would leave it at the end of each one for a comparison that it has not seen.
 */
function runEnd4(first: number, taken: readonly Address[], count: number): number | undefined {
  let end = 0
  let early = count
  for (let index = 0; index < taken.length; index++) {
    const address = taken[index]
    if (address?.family !== 4) continue
    const offset = address.value - first
    if (offset === end) {
      end++
      if (end >= early) return undefined
    } else if (offset > end && offset < early) early = offset
  }
  return end
}

/**
 * Addresses that differ in their upper 64 bits are farther away than `count`, or behind a carry.
 */
function lowest6(first: Address.Address & { family: 6 }, taken: readonly Address[], count: number): number | undefined {
  const { w0, w1, w2, w3 } = first
  // the bitmap would go beyond the lower 64 bits: the slow way
  if (w2 === 0xffffffff && w3 + count > 0xffffffff) return undefined
  const words = new Uint32Array((count + 31) >>> 5)
  for (const address of taken) {
    if (address?.family !== 6 || address.w1 !== w1 || address.w0 !== w0) continue
    const offset = (address.w2 - w2) * 0x1_0000_0000 + (address.w3 - w3)
    if (offset >= 0 && offset < count) words[offset >>> 5]! |= 1 << (offset & 31)
  }
  return zeroOf(words, count)
}

function zeroOf(words: Uint32Array, count: number): number | undefined {
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as number
    if (word === 0xffffffff) continue
    const offset = index * 32 + (31 - Math.clz32(~word & (word + 1)))
    return offset < count ? offset : undefined
  }
  return undefined
}

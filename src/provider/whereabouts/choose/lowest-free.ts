import * as Address from '../../../cidr/nouns/address.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'

type Address = Address.Address
type RangeSet = RangeSet.RangeSet

/**
 * The lowest address of a set that is not taken; `undefined`: all are. O(taken) where a low range
 * of the set has a free address, O(n log n) else.
 *
 * n taken addresses leave one of the first n + 1 of a range free. So one bitmap of n + 1 bits is
 * enough, however large the range is:
 *
 *     addresses   |first ............ first + n| ................ last|
 *     bitmap      |1110111 ...                0|
 *
 * Rows come in the order of their keys, so most have the word of the row before. A word is written
 * when another one comes, which takes half of the time of a write for each row.
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
  const words = new Uint32Array((count + 31) >>> 5)
  let [at, word] = [0, 0]
  for (const address of taken) {
    if (address?.family !== 4) continue
    const offset = address.value - first
    if (offset < 0 || offset >= count) continue
    if (offset >>> 5 !== at) {
      words[at]! |= word
      at = offset >>> 5
      word = 0
    }
    word |= 1 << (offset & 31)
  }
  words[at]! |= word
  return zeroOf(words, count)
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

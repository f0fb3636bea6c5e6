import * as Address from '../../cidr/nouns/address.js'

type Address = Address.Address

/**
 * The run of `count` addresses with the latest releases in sum; of several, the lowest. Its first
 * address is a multiple of `alignment`. O(n log n).
 *
 *     kept       .0 .1 .2 .3      .8 .9 .10      the number: in which order they were released
 *                 3  1  2  0       4  5  6
 *     runs of 2  |--4--|          |--9--|--11-|
 *
 * @param kept addresses of one family, in the order of their release
 */
export function latestRun(
  kept: readonly Address[],
  [count, alignment]: readonly [count: number, alignment: number],
): readonly Address[] | undefined {
  if (kept.length < count) return undefined
  const sorted = kept.map((address, rank) => ({ address, rank }))
  sorted.sort((a, b) => Address.compare(a.address, b.address))
  let best = { behind: 0, lateness: -1 }
  let lateness = 0
  let neighbours = 0
  for (const [i, { address, rank }] of sorted.entries()) {
    const before = i === 0 ? undefined : Address.next(sorted[i - 1]!.address)
    const isNext = before !== undefined && Address.equals(before, address)
    neighbours = isNext ? neighbours + 1 : 1
    lateness = isNext ? lateness + rank : rank
    if (neighbours > count) lateness -= sorted[i - count]!.rank
    if (neighbours < count || lateness <= best.lateness) continue
    if (lowBitsOf(sorted[i + 1 - count]!.address) % alignment === 0) best = { behind: i + 1, lateness }
  }
  if (best.behind === 0) return undefined
  return sorted.slice(best.behind - count, best.behind).map(({ address }) => address)
}

/** An alignment is a power of two of at most 65,536. */
function lowBitsOf(address: Address): number {
  return address.family === 4 ? address.value : address.w3
}

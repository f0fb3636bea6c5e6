import { Address, Range, RangeSet } from 'ipam-kit/cidr'

/**
 * A model of how the in-cluster provider of today finds an address for a claim: list all addresses
 * of the pool, parse each into a set, then walk the ranges of the pool and look every address up in
 * the set until one is free. Without its listing, logging and locking, and with our parser: an
 * estimate on the fast side.
 */
export function findFreeAddress(pool: RangeSet, inUse: readonly string[]): Address | undefined {
  const set = RangeSet.fromAddresses(inUse.map((text) => Address.parse(text)))
  for (const range of RangeSet.ranges(pool)) {
    for (let address: Address | undefined = range.first; address !== undefined; address = Address.next(address)) {
      if (!Range.contains(range, address)) break
      if (!RangeSet.contains(set, address)) return address
    }
  }
  return undefined
}

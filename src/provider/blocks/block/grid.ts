import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { FamilyGrid } from '../../../crd/ipam-kit/grid.js'

type Address = Address.Address
type Prefix = Prefix.Prefix

/**
 * How the space of a domain is divided, in one family. Blocks and units are aligned: they begin at
 * multiples of their size.
 */
export interface Grid extends FamilyGrid {
  readonly family: 4 | 6
}

/** Some units of a block, from the first to the last. */
export interface UnitRange {
  readonly first: number
  readonly last: number
}

/** How many units a block has. */
export function blockSize({ blockPrefixLength, allocationPrefixLength }: FamilyGrid): number {
  return 2 ** (allocationPrefixLength - blockPrefixLength)
}

/** The block that an address lies in. */
export function blockAround(grid: Grid, address: Address): Prefix {
  return Prefix.masked(Prefix.of(address, grid.blockPrefixLength))
}

/** The number of the unit of a block that an address lies in. */
export function unitOf(block: Prefix, allocationPrefixLength: number, address: Address): number {
  const shift = BigInt(Address.bitsOf(address.family) - allocationPrefixLength)
  return Number(Address.distance(Prefix.first(block), address) >> shift)
}

/** The first address of a unit. */
export function addressOfUnit(block: Prefix, allocationPrefixLength: number, unit: number): Address {
  const first = Prefix.first(block)
  const shift = BigInt(Address.bitsOf(first.family) - allocationPrefixLength)
  return Address.add(first, BigInt(unit) << shift)
}

/** The units of a block that lie wholly within a set, in order. O(ranges of the set). */
export function unitsWithin(set: RangeSet.RangeSet, block: Prefix, allocationPrefixLength: number): UnitRange[] {
  const units: UnitRange[] = []
  for (const range of RangeSet.ranges(RangeSet.intersect(set, RangeSet.fromPrefixes([block])))) {
    let first = unitOf(block, allocationPrefixLength, range.first)
    let last = unitOf(block, allocationPrefixLength, range.last)
    if (!Address.equals(addressOfUnit(block, allocationPrefixLength, first), range.first)) first++
    const unitPrefix = Prefix.of(addressOfUnit(block, allocationPrefixLength, last), allocationPrefixLength)
    if (!Address.equals(Prefix.last(unitPrefix), range.last)) last--
    if (first <= last) units.push({ first, last })
  }
  return units
}

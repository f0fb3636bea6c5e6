import type { Address, Family, RangeSet } from '../cidr/index.js'
import { Space4 } from './space4.js'
import { Space6 } from './space6.js'

/** The addresses of one family that a pool may hand out, and which of them are taken. Mutable. */
export interface Space<A extends Address = Address> {
  readonly family: Family
  /** How many addresses there are, taken or not. */
  readonly total: bigint
  /** How many are taken. */
  readonly used: number
  contains(address: A): boolean
  /** Takes an address. The caller knows that it is contained and free. */
  take(address: A): void
  /** Frees an address. The caller knows that it is contained and taken. */
  release(address: A): void
  /** The lowest free address, from `from` on if it is given (which itself need not be contained). */
  lowestFree(from?: A): A | undefined
}

/** The two spaces of a set of ranges. */
export interface Spaces {
  readonly v4: Space4
  readonly v6: Space6
}

export function createSpaces(ranges: RangeSet): Spaces {
  return { v4: new Space4(ranges), v6: new Space6(ranges) }
}

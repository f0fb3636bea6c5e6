import type { Address, Family } from '../cidr/index.js'

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

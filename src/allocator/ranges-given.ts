import type { RangeSet } from '../cidr/index.js'
import { assertAddress, assertSet } from '../cidr/internal.js'
import * as Addresses from '../cidr/nouns/address.js'
import * as Sets from '../cidr/nouns/range-set.js'
import { MALFORMED_ADDRESS, MALFORMED_RANGE_SET_ENTRY } from '../errors/definitions.js'
import { ipamError } from '../errors/failure.js'
import { refuseIn } from '../errors/refuse.js'

/** Addresses as a set, or as texts that `RangeSet.parse` reads. */
type GivenRanges = RangeSet | readonly string[]

/**
 * @param of the function as callers write it
 * @throws IpamError `MALFORMED_RANGE_SET_ENTRY` with the argument; `INVALID_ARGUMENT` unless it is
 *   a set or a list
 */
export function rangesOf(of: string, argument: string, given: GivenRanges): RangeSet {
  if (isTexts(given)) {
    const read = Sets.safeParse(given)
    if (read.ok) return read.value
    throw ipamError(MALFORMED_RANGE_SET_ENTRY, { ...read.failure.context, function: of, argument })
  }
  if (typeof given === 'string') refuseIn(of, argument, "a list of texts, ['10.0.0.0/24'], or a set of ranges", given)
  assertSet(of, argument, given)
  return given
}

export function isTexts(given: GivenRanges): given is readonly string[] {
  return Array.isArray(given)
}

/**
 * An address that may be given as a text.
 *
 * @throws IpamError `MALFORMED_ADDRESS` with the argument; `INVALID_ARGUMENT` for another value
 */
export function addressOf(of: string, argument: string, given: Addresses.Address | string): Addresses.Address {
  if (typeof given === 'string') {
    const read = Addresses.safeParse(given)
    if (read.ok) return read.value
    throw ipamError(MALFORMED_ADDRESS, { ...read.failure.context, function: of, argument })
  }
  assertAddress(of, argument, given)
  return given
}

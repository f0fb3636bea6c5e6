import type { RangeSet } from '../cidr/index.js'
import { assertSet } from '../cidr/internal.js'
import * as Sets from '../cidr/nouns/range-set.js'
import { refuseIn } from '../errors/refuse.js'

/** Addresses as a set, or as texts that `RangeSet.parse` reads. */
type GivenRanges = RangeSet | readonly string[]

/**
 * @param of the function as callers write it
 * @throws IpamError `MALFORMED_RANGE_SET_ENTRY`; `INVALID_ARGUMENT` unless it is a set or a list
 */
export function rangesOf(of: string, argument: string, given: GivenRanges): RangeSet {
  if (isTexts(given)) return Sets.parse(given)
  if (typeof given === 'string') refuseIn(of, argument, "a list of texts, ['10.0.0.0/24'], or a set of ranges", given)
  assertSet(of, argument, given)
  return given
}

export function isTexts(given: GivenRanges): given is readonly string[] {
  return Array.isArray(given)
}

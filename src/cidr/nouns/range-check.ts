import { FAMILY_MISMATCH, INVALID_RANGE } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { wrongArgument } from '../../errors/refuse.js'
import { assertAddress } from '../text/checks.js'
import * as Address from './address-core.js'

/**
 * Guards what is made of ranges: two addresses of one family, in order.
 *
 * @throws IpamError `INVALID_ARGUMENT`, `FAMILY_MISMATCH`, `INVALID_RANGE`
 */
export function assertEnds(of: string, first: Address.Address, last: Address.Address): void {
  assertAddress(of, 'first', first)
  assertAddress(of, 'last', last)
  if (first.family !== last.family) {
    throw ipamError(FAMILY_MISMATCH, { left: Address.format(first), right: Address.format(last) })
  }
  if (Address.compare(first, last) > 0) {
    throw ipamError(INVALID_RANGE, { first: Address.format(first), last: Address.format(last) })
  }
}

interface Ends {
  readonly first: Address.Address
  readonly last: Address.Address
}

/** @throws IpamError as {@link assertEnds} */
export function assertRange(of: string, argument: string, range: Ends): void {
  if (typeof range !== 'object' || range === null || !('first' in range)) throw notARange(of, argument, range)
  assertEnds(of, range.first, range.last)
}

function notARange(of: string, argument: string, given: unknown) {
  const call = typeof given === 'string' ? 'Range.parse' : undefined
  return wrongArgument(of, argument, 'a range: its first and its last address', given, call)
}

/** What is given where a member of a set is wanted, an address or all of something, and is none. */
export function notAMember(of: string, argument: string, given: unknown) {
  const call = typeof given === 'string' ? 'Address.parse, Prefix.parse or Range.parse' : undefined
  const orList = Array.isArray(given) ? 'RangeSet.parse' : call
  return wrongArgument(of, argument, 'an address, a prefix, a range or a set', given, orList)
}

import { ipamError } from '../../errors/failure.js'
import { assertAddress, shown } from '../text/checks.js'
import * as Address from './address-core.js'

/**
 * Guards what is made of ranges: two addresses of one family, in order.
 *
 * @throws IpamError `INVALID_ARGUMENT`, `FAMILY_MISMATCH`, `INVALID_RANGE`
 */
export function assertEnds(first: Address.Address, last: Address.Address): void {
  assertAddress('first', first)
  assertAddress('last', last)
  if (first.family !== last.family) {
    throw ipamError('FAMILY_MISMATCH', { left: Address.format(first), right: Address.format(last) })
  }
  if (Address.compare(first, last) > 0) {
    throw ipamError('INVALID_RANGE', { first: Address.format(first), last: Address.format(last) })
  }
}

/** What is given where a member of a set is wanted, an address or all of something, and is none. */
export function notAMember(given: unknown) {
  const expected = 'an address, a prefix, a range or a set'
  return ipamError('INVALID_ARGUMENT', { argument: 'member', expected, got: shown(given) })
}

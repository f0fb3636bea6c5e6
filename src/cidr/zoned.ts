import { fail, type Result, unwrap } from '../errors/index.js'
import type { Address } from './address.js'
import { assertText } from './checks.js'
import { positionOf, problemOf } from './problems.js'
import { formatAddress } from './profile.js'
import { scanAddress } from './scan.js'

/** An address and its IPv6 zone (RFC 4007 section 11), such as `fe80::1%eth0`. The zone is not part of the address. */
export interface ZonedAddress {
  readonly address: Address
  /** Without the `%`; empty if there is none. */
  readonly zone: string
}

/** No address is longer than 45 characters: a `%` further on does not begin a zone. */
const ZONE_WITHIN = 46

/**
 * Reads an address that may have a zone, with the rules of Go's net/netip: only IPv6 has one, and it is any text that is not empty. O(1).
 *
 * @throws IpamError `MALFORMED_ADDRESS`
 * @example
 * Address.parseZoned('fe80::1%eth0').zone // 'eth0'
 */
export function parseZoned(text: string): ZonedAddress {
  return unwrap(safeParseZoned(text))
}

/**
 * As {@link parseZoned}, with the failure as a value.
 *
 * @example
 * Address.safeParseZoned('10.0.0.1%eth0').ok // false
 */
export function safeParseZoned(text: string): Result<ZonedAddress, 'MALFORMED_ADDRESS'> {
  assertText(text)
  const scanned = scanAddress(text, 0, text.length, 'drop')
  if (typeof scanned !== 'object') {
    return fail('MALFORMED_ADDRESS', { text, position: positionOf(scanned), problem: problemOf(scanned).words })
  }
  const percent = text.slice(0, ZONE_WITHIN).indexOf('%')
  return { ok: true, value: { address: scanned, zone: percent < 0 ? '' : text.slice(percent + 1) } }
}

/**
 * Canonical text of the address, with `%` and the zone if there is one. O(1).
 *
 * @example
 * Address.formatZoned({ address: Address.parse('FE80::0001'), zone: 'eth0' }) // 'fe80::1%eth0'
 */
export function formatZoned({ address, zone }: ZonedAddress): string {
  return zone === '' ? formatAddress(address) : `${formatAddress(address)}%${zone}`
}

import { MALFORMED_ADDRESS } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { refuseIn } from '../../errors/refuse.js'
import type { Address } from '../nouns/types.js'
import { assertAddress, assertText, notAText } from './checks.js'
import { positionOf, problemOf } from './parse-errors.js'
import { formatAddress } from './profile.js'
import { scanAddress, ZONE_WITHIN } from './scan.js'

/**
 * An address and its IPv6 zone (RFC 4007 section 11), such as `fe80::1%eth0`. The zone is not part
 * of the address.
 */
export interface ZonedAddress {
  readonly address: Address
  /** Without the `%`; empty if there is none. */
  readonly zone: string
}

/**
 * Reads an address that may have a zone, with the rules of Go's net/netip: only IPv6 has one, and
 * it is any text that is not empty. O(1).
 *
 * @throws IpamError `MALFORMED_ADDRESS`; `INVALID_ARGUMENT` if `text` is not a string
 * @example
 * Address.parseZoned('fe80::1%eth0').zone // 'eth0'
 */
export function parseZoned(text: string): ZonedAddress {
  assertText('Address.parseZoned', text)
  return unwrap(safeParseZoned(text))
}

/**
 * As {@link parseZoned}, with the failure as a value.
 *
 * @example
 * Address.safeParseZoned('10.0.0.1%eth0').ok // false
 */
export function safeParseZoned(text: string): Result<ZonedAddress, 'MALFORMED_ADDRESS'> {
  if (typeof text !== 'string') return failWith(MALFORMED_ADDRESS, notAText(text))
  const scanned = scanAddress(text, 0, text.length, 'drop')
  if (typeof scanned !== 'object') {
    return failWith(MALFORMED_ADDRESS, { text, position: positionOf(scanned), problem: problemOf(scanned).words })
  }
  const percent = text.slice(0, ZONE_WITHIN).indexOf('%')
  return { ok: true, value: { address: scanned, zone: percent < 0 ? '' : text.slice(percent + 1) } }
}

/**
 * Canonical text of the address, with `%` and the zone if there is one: {@link parseZoned} reads it
 * back. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not an address, a zone that is not a
 * text, and a zone of an IPv4 address
 * @example
 * Address.formatZoned({ address: Address.parse('FE80::0001'), zone: 'eth0' }) // 'fe80::1%eth0'
 */
export function formatZoned(zoned: ZonedAddress): string {
  const address = zoned?.address
  const zone = zoned?.zone
  assertAddress('Address.formatZoned', 'address', address)
  if (zone === '') return formatAddress(address)
  if (address.family === 6 && typeof zone === 'string') return `${formatAddress(address)}%${zone}`
  refuseIn('Address.formatZoned', 'zone', address.family === 4 ? 'an empty text: IPv4 has no zones' : 'a text', zone)
}

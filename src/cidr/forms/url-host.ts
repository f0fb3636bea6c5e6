import { MALFORMED_URL_HOST } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import { format as formatAddress } from '../nouns/address-core.js'
import type { Address } from '../nouns/types.js'
import { assertAddress, assertText, notAText, shown } from '../text/checks.js'
import { scanUrlHost } from './url-scan.js'
import { encodeZone, MAX_ZONE_LENGTH } from './url-zone.js'

/**
 * An address as the host of a URL or of an endpoint, with what may stand beside it. What the text
 * does not have is not there.
 */
export interface UrlHost {
  readonly address: Address
  /** The IPv6 zone, decoded: `eth0`. */
  readonly zone?: string | undefined
  /** 0 to 65535. No scheme makes one up. */
  readonly port?: number | undefined
}

/**
 * Reads the host of an endpoint (`10.0.0.1:6443`, `[fd00::1]:6443`, either without the port) or of
 * a URL (`https://[fd00::1]:6443/path`), which has to be an address: RFC 3986 section 3.2.2. IPv6
 * stands in brackets, its zone behind `%25` and percent-encoded (RFC 6874, which RFC 9844 has
 * withdrawn; Go's net/url reads it all the same). What a URL has behind host and port is not looked
 * at. O(1): no more than about 350 characters are, however long the text is.
 *
 * Stricter than Go's net/url: no user information, no empty port, no port above 65535 or with
 * leading zeros. Unlike its `netip.ParseAddrPort`, which takes `[fe80::1%eth0]:443`, a zone is in
 * the form of URLs.
 *
 * @throws IpamError `MALFORMED_URL_HOST` with the position and the reason, and with `name` if all
 *   is well but the host is a DNS name; `INVALID_ARGUMENT` if `text` is not a string
 * @example
 * const endpoint = UrlHost.parse('https://[fe80::1%25eth0]:6443/healthz')
 * endpoint.port // 6443
 * endpoint.zone // 'eth0'
 * Address.format(endpoint.address) // 'fe80::1'
 */
export function parse(text: string): UrlHost {
  assertText('UrlHost.parse', text)
  return unwrap(safeParse(text))
}

/**
 * As {@link parse}, with the failure as a value.
 *
 * @example
 * const result = UrlHost.safeParse('api.example.com:6443')
 * !result.ok && result.failure.context.name // 'api.example.com'
 */
export function safeParse(text: string): Result<UrlHost, 'MALFORMED_URL_HOST'> {
  if (typeof text !== 'string') return failWith(MALFORMED_URL_HOST, notAText(text))
  const scanned = scanUrlHost(text)
  return 'problem' in scanned ? failWith(MALFORMED_URL_HOST, { text, ...scanned }) : { ok: true, value: scanned }
}

/**
 * The host as it stands in a URL or an endpoint: IPv6 in brackets, its zone percent-encoded, then
 * the port if there is one. `parse(format(h))` equals `h`. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not an address, a port that is not a
 *   whole number from 0 to 65535, a zone beside IPv4, and a zone that is empty, longer than 64
 *   characters or has others than letters, digits, blanks and `-._~!$&'()*+,;=:%`
 * @example
 * UrlHost.format({ address: Address.parse('fd00::1'), port: 6443 }) // '[fd00::1]:6443'
 * UrlHost.format({ address: Address.parse('fe80::1'), zone: 'Ethernet 2' }) // '[fe80::1%25Ethernet%202]'
 */
export function format(host: UrlHost): string {
  const { address, zone, port } = host ?? {}
  assertAddress('UrlHost.format', 'address', address)
  const encoded = zone === undefined ? '' : `%25${zoneText(address, zone)}`
  const text = formatAddress(address)
  const written = address.family === 4 ? text : `[${text}${encoded}]`
  return port === undefined ? written : `${written}:${portText(port)}`
}

function zoneText(address: Address, zone: string): string {
  const encoded = address.family === 6 && typeof zone === 'string' ? encodeZone(zone) : undefined
  if (encoded !== undefined) return encoded
  refuse(
    'UrlHost.format',
    'zone',
    `a zone of IPv6, 1 to ${MAX_ZONE_LENGTH} characters of those that a URL takes`,
    typeof zone === 'string' ? zone : shown(zone),
  )
}

function portText(port: number): string {
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return String(port)
  refuse('UrlHost.format', 'port', 'a whole number from 0 to 65535', shown(port))
}

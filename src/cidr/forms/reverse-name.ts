import { MALFORMED_REVERSE_NAME } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import { bitsOf } from '../nouns/address-core.js'
import { reverseName } from '../nouns/address-forms.js'
import { assertPrefix, first, format as formatPrefix, masked, type Prefix } from '../nouns/prefix-core.js'
import { split } from '../nouns/prefix-math.js'
import { assertText, notAText } from '../text/checks.js'
import { addressOfName } from './ip-address.js'
import { scanReverseName } from './reverse-scan.js'

/**
 * The prefix that a name of reverse DNS stands for: /32 or /128 for the full name of an address, as
 * `Address.reverseName` writes it, less for the name of a zone, which ends on the border of an
 * octet (IPv4) or a nibble (IPv6). RFC 1035 section 3.5, RFC 3596 section 2.5.
 *
 * Letters may be of either case, and one final dot may stand. Anything else is refused: octets with
 * leading zeros, labels of services before the address, and the classless names of RFC 2317
 * (`0/25.2.0.192.in-addr.arpa`), because each zone chooses its own form. Reads at most 73
 * characters. O(1).
 *
 * @throws IpamError `MALFORMED_REVERSE_NAME` with the position and the reason; `INVALID_ARGUMENT`
 * if `text` is not a string
 * @example
 * Prefix.format(ReverseName.parse('5.2.0.192.in-addr.arpa')) // '192.0.2.5/32'
 * Prefix.format(ReverseName.parse('8.B.D.0.1.0.0.2.IP6.ARPA.')) // '2001:db8::/32'
 */
export function parse(text: string): Prefix {
  assertText('ReverseName.parse', text)
  return unwrap(safeParse(text))
}

/**
 * As {@link parse}, with the failure as a value.
 *
 * @example
 * const result = ReverseName.safeParse('05.2.0.192.in-addr.arpa')
 * !result.ok && result.failure.context.problem // 'an octet with a leading zero'
 */
export function safeParse(text: string): Result<Prefix, 'MALFORMED_REVERSE_NAME'> {
  if (typeof text !== 'string') return failWith(MALFORMED_REVERSE_NAME, notAText(text))
  const scanned = scanReverseName(text)
  if ('problem' in scanned) return failWith(MALFORMED_REVERSE_NAME, { text, ...scanned })
  return { ok: true, value: { address: addressOfName(scanned.full), length: scanned.length } }
}

/**
 * The name of the zone of a prefix, in lower case without a final dot; host bits are ignored.
 * `parse(format(p))` is `Prefix.masked(p)`. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a length that is not a multiple of 8 (IPv4) or 4 (IPv6):
 * {@link zones} names the zones of any prefix; `INVALID_ARGUMENT` or `INVALID_PREFIX_LENGTH` for a
 * value that is not a prefix
 * @example
 * ReverseName.format(Prefix.parse('10.20.0.0/16')) // '20.10.in-addr.arpa'
 * ReverseName.format(Prefix.parse('2001:db8::/32')) // '8.b.d.0.1.0.0.2.ip6.arpa'
 */
export function format(prefix: Prefix): string {
  assertPrefix('ReverseName.format', 'prefix', prefix)
  const network = first(prefix)
  const step = stepOf(prefix)
  if (prefix.length % step !== 0) {
    refuse('Prefix.reverseName', 'prefix', `a prefix length that is a multiple of ${step}`, formatPrefix(prefix))
  }
  // the labels behind the prefix are zeros: two characters each, with the dot
  const labels = (bitsOf(prefix.address.family) - prefix.length) / step
  return reverseName(network).slice(2 * labels)
}

/**
 * The names of the zones that make a prefix up, in the order of their addresses: one if it ends on
 * a border of octets or nibbles, otherwise those of the subnets that end on the next one. At most
 * 128 (IPv4) or 8 (IPv6) of them. O(names).
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT` for a value that is not a prefix
 * @example
 * ReverseName.zones(Prefix.parse('10.0.16.0/23')) // ['16.0.10.in-addr.arpa', '17.0.10.in-addr.arpa']
 * ReverseName.zones(Prefix.parse('10.0.16.0/20')).length // 16
 */
export function zones(prefix: Prefix): string[] {
  assertPrefix('ReverseName.zones', 'prefix', prefix)
  const network = masked(prefix)
  const step = stepOf(network)
  return Array.from(split(network, Math.ceil(prefix.length / step) * step), format)
}

/** The bits of one label. */
function stepOf(prefix: Prefix): number {
  return prefix.address.family === 4 ? 8 : 4
}

import { INVALID_ARGUMENT } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import {
  assertPrefix as assertAnyPrefix,
  contains,
  format as formatPrefix,
  masked,
  type Prefix,
} from '../nouns/prefix-core.js'
import type { Address, Address4, Address6 } from '../nouns/types.js'
import { assertAddress, assertIPv4 } from '../text/checks.js'
import { fromNat64, toNat64 } from './ip-address.js'

/**
 * The well-known prefix `64:ff9b::/96` (RFC 6052 section 2.1). It is for IPv4 addresses that are
 * global: section 3.1.
 */
export const wellKnownPrefix: Prefix = {
  address: { family: 6, w0: 0x0064ff9b, w1: 0, w2: 0, w3: 0 },
  length: 96,
}

/**
 * The IPv6 address that stands for an IPv4 address behind a NAT64 with this prefix. Host bits of
 * the prefix do not count. RFC 6052 section 2.2: bits 64 to 71 are zero, and the IPv4 address goes
 * around them. One character an octet, `p` of the prefix, `a` of the address:
 *
 *     /32   pppp aaaa 0... ....
 *     /40   pppp paaa 0a.. ....
 *     /48   pppp ppaa 0aa. ....
 *     /56   pppp pppa 0aaa ....
 *     /64   pppp pppp 0aaa a...
 *     /96   pppp pppp 0ppp aaaa
 *
 * O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a prefix that is not of 32, 40, 48, 56, 64 or 96 bits of
 *   IPv6 with bits 64 to 71 zero, or an `address` that is no IPv4 address
 * @example
 * Address.format(Nat64.embed(Address.from4(0xc0000221))) // '64:ff9b::c000:221'
 * Address.format(Nat64.embed(Address.from4(0xc0000221), Prefix.parse('2001:db8:122::/48'))) // '2001:db8:122:c000:2:2100::'
 */
export function embed(address: Address4, prefix: Prefix = wellKnownPrefix): Address6 {
  assertPrefix('Nat64.embed', prefix)
  assertIPv4('Nat64.embed', 'address', address)
  return toNat64(address, masked(prefix))
}

/**
 * The IPv4 address that an IPv6 address stands for behind a NAT64 with this prefix; `undefined`
 * outside of the prefix, and where bits 64 to 71 are not zero, since then it is none of the
 * addresses that {@link embed} makes. The bits after the IPv4 address are ignored: RFC 6052 section
 * 2.2 reserves them. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a prefix that {@link embed} refuses, or what is no
 * address
 * @example
 * const address = Nat64.extract(Address.parse('2001:db8:122:c000:2:2100::'), Prefix.parse('2001:db8:122::/48'))
 * address && Address.format(address) // '192.0.2.33'
 */
export function extract(address: Address, prefix: Prefix = wellKnownPrefix): Address4 | undefined {
  assertPrefix('Nat64.extract', prefix)
  assertAddress('Nat64.extract', 'address', address)
  if (address.family === 4 || !contains(prefix, address) || hasReservedBits(address)) return undefined
  return fromNat64(address, masked(prefix))
}

function assertPrefix(of: string, prefix: Prefix): void {
  assertAnyPrefix(of, 'prefix', prefix)
  const { address, length } = prefix
  const isOfLength = length === 96 || (length >= 32 && length <= 64 && length % 8 === 0)
  if (address.family === 6 && isOfLength && !(length === 96 && hasReservedBits(address))) return
  throw ipamError(INVALID_ARGUMENT, {
    function: of,
    argument: 'prefix',
    expected: 'an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits, bits 64 to 71 zero',
    got: formatPrefix(prefix),
  })
}

/** Whether any of bits 64 to 71, the `u` of RFC 6052, is set. */
function hasReservedBits(address: Address6): boolean {
  return address.w2 >>> 24 !== 0
}

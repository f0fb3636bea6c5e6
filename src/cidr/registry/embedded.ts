import type { Address, Address4, Address6 } from '../nouns/types.js'
import { assertAddress } from '../text/checks.js'

/**
 * The IPv4 address that an IPv6 address stands for, or `undefined` if it stands for none: the last
 * 32 bits of IPv4-mapped `::ffff:0:0/96` (RFC 4291, 2.5.5.2) and of the well-known NAT64 prefix
 * `64:ff9b::/96` (RFC 6052, 2.1), and the 32 bits after 6to4's `2002::/16` (RFC 3056, 2). What is
 * sent there ends at, or passes through, that IPv4 address. O(1).
 *
 * Not read on purpose, since the address alone does not say enough:
 * - Teredo (`2001::/32`, RFC 4380) holds two IPv4 addresses, a server and a client behind its NAT;
 *   neither is the other end.
 * - ISATAP (`...:0:5efe:a.b.c.d`, RFC 5214) is a form of the interface identifier under any prefix:
 *   a host outside of the site that uses it means the whole IPv6 address.
 * - NAT64 with a prefix of one's own, `64:ff9b:1::/48` (RFC 8215) included, puts the IPv4 address
 *   where the length of that prefix says, and only its network knows that.
 * - IPv4-compatible `::/96` was given up (RFC 4291, 2.5.5.1), and holds `::` and `::1`.
 *
 * @example
 * const embedded = Address.embeddedIPv4(Address.parse('64:ff9b::7f00:1'))
 * embedded && Address.format(embedded) // '127.0.0.1'
 */
export function embeddedIPv4(address: Address): Address4 | undefined {
  assertAddress('Address.embeddedIPv4', 'address', address)
  if (address.family === 4) return undefined
  const value = embeddedValue(address)
  return value < 0 ? undefined : { family: 4, value }
}

/** As {@link embeddedIPv4}, as a number, and -1 for none. */
export function embeddedValue({ w0, w1, w2, w3 }: Address6): number {
  if (w0 >>> 16 === 0x2002) return ((w0 << 16) | (w1 >>> 16)) >>> 0
  if (w1 !== 0) return -1
  return (w0 === 0 && w2 === 0xffff) || (w0 === 0x64ff9b && w2 === 0) ? w3 : -1
}

import type { Prefix } from '../nouns/prefix-core.js'
import type { Address, Address4 } from '../nouns/types.js'
import { assertAddress, assertIPv4 } from '../text/checks.js'
import { sixToFourRouter } from './ip-address.js'

/** What a 6to4 address holds (RFC 3056 section 2). */
export interface SixToFour {
  /**
   * The IPv4 address of the 6to4 router of the site: `V4ADDR` in the RFC. One that is not global
   * makes the address invalid there.
   */
  readonly router: Address4
  /** The subnet within the site, `SLA ID` in the RFC: 0 to 65535. */
  readonly slaId: number
  /** The last 64 bits. */
  readonly interfaceId: bigint
}

/**
 * What a 6to4 address, one of `2002::/16`, says about its site; `undefined` for any other address.
 * RFC 3056 section 2. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not an address
 * @example
 * const site = SixToFour.inspect(Address.parse('2002:c000:221:7::1'))
 * site && [Address.format(site.router), site.slaId, site.interfaceId] // ['192.0.2.33', 7, 1n]
 */
export function inspect(address: Address): SixToFour | undefined {
  assertAddress('SixToFour.inspect', 'address', address)
  if (address.family !== 6 || address.w0 >>> 16 !== 0x2002) return undefined
  return {
    router: sixToFourRouter(address),
    slaId: address.w1 & 0xffff,
    interfaceId: (BigInt(address.w2) << 32n) | BigInt(address.w3),
  }
}

/**
 * The prefix of the site behind a 6to4 router: `2002:V4ADDR::/48`. RFC 3056 section 2. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` if `router` is no IPv4 address
 * @example
 * Prefix.format(SixToFour.sitePrefix(Address.from4(0xc0000221))) // '2002:c000:221::/48'
 */
export function sitePrefix(router: Address4): Prefix {
  assertIPv4('SixToFour.sitePrefix', 'router', router)
  const w0 = (0x20020000 | (router.value >>> 16)) >>> 0
  return { address: { family: 6, w0, w1: (router.value << 16) >>> 0, w2: 0, w3: 0 }, length: 48 }
}

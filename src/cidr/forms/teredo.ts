import type { Address, Address4 } from '../nouns/types.js'
import { assertAddress } from '../text/checks.js'
import { teredoFields } from './ip-address.js'

/** What a Teredo address holds (RFC 4380 section 4). */
export interface Teredo {
  /** The IPv4 address of the Teredo server. */
  readonly server: Address4
  /** All 16 bits of them; RFC 5991 fills twelve with random ones. */
  readonly flags: number
  /**
   * The highest of the flags: the client said that its NAT is a cone NAT. RFC 5991 deprecates it.
   */
  readonly cone: boolean
  /** The mapped UDP port of the client: 0 to 65535. In the address its bits are inverted. */
  readonly port: number
  /**
   * The mapped IPv4 address of the client, which is that of its NAT. In the address its bits are
   * inverted.
   */
  readonly client: Address4
}

/**
 * What a Teredo address, one of `2001::/32`, says about its client; `undefined` for any other
 * address. RFC 4380 section 4. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not an address
 * @example
 * const teredo = Teredo.inspect(Address.parse('2001:0:4136:e378:8000:63bf:3fff:fdd2'))
 * teredo && [Address.format(teredo.server), Address.format(teredo.client), teredo.port, teredo.cone]
 * // ['65.54.227.120', '192.0.2.45', 40000, true]
 */
export function inspect(address: Address): Teredo | undefined {
  assertAddress('Teredo.inspect', 'address', address)
  return address.family === 6 && address.w0 === 0x20010000 ? teredoFields(address) : undefined
}

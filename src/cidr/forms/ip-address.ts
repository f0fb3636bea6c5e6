import { Address4 as Peer4, Address6 as Peer6 } from 'ip-address'
import { INVARIANT_BROKEN } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { format, fromBigInt, parse } from '../nouns/address-core.js'
import { format as formatPrefix, type Prefix } from '../nouns/prefix-core.js'
import type { Address, Address4, Address6 } from '../nouns/types.js'
import type { FullReverseName } from './reverse-scan.js'

// The only file that imports the package ip-address, which decodes rare encodings. Its functions
// take and return values of this library: none of the objects or errors of the package leave this
// file. The package never gets the text of a caller, because it accepts too much: only text that
// this library has formatted or scanned. Behaviour of version 10.7.6 that other files handle:
//
// - Names: it accepts a name without its domain, of either family, and reads the classless
//   `8/1.2.3.4.in-addr.arpa` of RFC 2317 as the prefix 0.0.0.0/1. It has no zones for IPv4, and
//   refuses `ip6.arpa` itself. reverse-scan.ts checks the text, and passes full names only.
// - Teredo and 6to4: it decodes any address, whatever its prefix. teredo.ts and six-to-four.ts
//   check the prefix first. Its to6to4 depends on how the address was written and returns a /16, so
//   six-to-four.ts makes the site prefix.
// - NAT64: it ignores bits 64 to 71, both of the address and of a /96, and drops the length of
//   `10.0.0.0/8`. nat64.ts handles both.
// - URLs: fromURL reads IPv6 only, accepts `fd00::1:80` without brackets as one address, refuses
//   zones, and returns no port for a port above 65535. url-host.ts does not use it.

/** The address of a full name: four octets or 32 nibbles. */
export function addressOfName({ family, name }: FullReverseName): Address {
  return ask('a reverse name', () =>
    fromBigInt(family, (family === 4 ? Peer4.fromArpa(name) : Peer6.fromArpa(name)).bigInt()),
  )
}

/** What stands in an address of 2001::/32. */
export function teredoFields(address: Address6): {
  readonly server: Address4
  readonly flags: number
  readonly cone: boolean
  readonly port: number
  readonly client: Address4
} {
  return ask('a Teredo address', () => {
    const { server4, flags, coneNat, udpPort, client4 } = new Peer6(format(address)).inspectTeredo()
    return {
      server: address4(server4),
      flags: Number.parseInt(flags, 2),
      cone: coneNat,
      port: Number(udpPort),
      client: address4(client4),
    }
  })
}

/** The IPv4 address in an address of 2002::/16. */
export function sixToFourRouter(address: Address6): Address4 {
  return ask('a 6to4 address', () => address4(new Peer6(format(address)).inspect6to4().gateway))
}

/**
 * An IPv4 address behind a prefix of NAT64 that has one of the lengths of RFC 6052 and no host
 * bits.
 */
export function toNat64(address: Address4, prefix: Prefix): Address6 {
  return ask('an address for NAT64', () => {
    const embedded = Peer6.fromAddress4Nat64(format(address), formatPrefix(prefix))
    return fromBigInt(6, embedded.bigInt()) as Address6
  })
}

/** The IPv4 address of an address inside of such a prefix. */
export function fromNat64(address: Address6, prefix: Prefix): Address4 {
  return ask('an address of NAT64', () => {
    const extracted = new Peer6(format(address)).toAddress4Nat64(formatPrefix(prefix))
    return address4(extracted?.correctForm() ?? '')
  })
}

/** IPv4 text of the package, read as strictly as that of a caller. */
function address4(text: string): Address4 {
  const address = parse(text)
  if (address.family !== 4) throw ipamError(INVARIANT_BROKEN, { what: 'IPv6 in the place of IPv4' })
  return address
}

/**
 * What the package refuses, or answers in a form that we do not read, has passed a gate that should
 * have stopped it.
 */
function ask<T>(what: string, question: () => T): T {
  try {
    return question()
  } catch {
    // its error stays here: it repeats its input, and may be made of HTML
    throw ipamError(INVARIANT_BROKEN, { what: `ip-address does not read ${what}` })
  }
}

import { Address4 as Peer4, Address6 as Peer6 } from 'ip-address'
import { ipamError } from '../../errors/failure.js'
import { format, fromBigInt, parse } from '../nouns/address-core.js'
import { format as formatPrefix, type Prefix } from '../nouns/prefix-core.js'
import type { Address, Address4, Address6 } from '../nouns/types.js'
import type { FullReverseName } from './reverse-scan.js'

/*
 * The one file that knows the package ip-address, for rare encodings that it has right. Values of ours go in, as the text that our own
 * formatters write or our own scanner has passed, and values of ours come out: none of its objects and none of its errors. It never sees
 * the text of a caller, because it is generous with that. What was seen of 10.7.6, and who deals with it:
 *
 * - Names: it takes one without its domain, of no family in particular, and reads the classless `8/1.2.3.4.in-addr.arpa` of RFC 2317 as the
 *   prefix 0.0.0.0/1. Of IPv4 it has no zones, and `ip6.arpa` itself it refuses. The scanner of reverse-scan.ts decides, and hands over
 *   full names only.
 * - Teredo and 6to4: it decodes any address, whether of their prefixes or not. teredo.ts and six-to-four.ts look at the prefix before. Its
 *   to6to4 depends on how the address was written and answers a /16, so the site prefix is made by six-to-four.ts.
 * - NAT64: it does not look at bits 64 to 71, neither of the address nor of a /96, and drops the length of `10.0.0.0/8`. nat64.ts does.
 * - URLs: fromURL reads IPv6 only, takes `fd00::1:80` without brackets as one address, refuses zones, and answers no port for a port above
 *   65535. url-host.ts does without it.
 */

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
  if (address.family !== 4) throw ipamError('INVARIANT_BROKEN', { what: 'IPv6 in the place of IPv4' })
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
    throw ipamError('INVARIANT_BROKEN', { what: `ip-address does not read ${what}` })
  }
}

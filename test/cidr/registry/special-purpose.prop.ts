import fc from 'fast-check'
import * as Peer from 'ip-address'
import { Address, type Address4, type Address6, Prefix } from 'ipam-kit/cidr'
import { address } from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { embeddedIPv4 } from '../../../src/cidr/registry/embedded.js'
import {
  isGloballyReachable,
  kindOf,
  type SpecialPurposeEntry,
  specialPurposeOf,
  specialPurposeRegistry,
} from '../../../src/cidr/registry/special-purpose.js'
import { property } from '../property.js'

const { entries } = specialPurposeRegistry

describe('the answer is that of a loop over the registry', () => {
  property([nearRows()], 50)('row, kind and reachability', (any) => {
    const row = naiveRow(any)
    expect(specialPurposeOf(any)).toBe(row)
    const deciding = row?.kind === null ? naiveRow(naiveEmbedded(any, row)) : row
    expect(kindOf(any)).toBe(deciding === undefined ? 'global' : deciding.kind)
    expect(isGloballyReachable(any)).toBe(deciding === undefined || deciding.globallyReachable === true)
  })

  property([nearRows()], 20)('what has an IPv4 address inside is what the registry leaves to it', (any) => {
    const row = naiveRow(any)
    const inside = any.family === 6 ? embeddedIPv4(any) : undefined
    expect(inside).toEqual(row?.kind === null ? naiveEmbedded(any, row) : undefined)
  })
})

describe('the kinds are those of ip-address', () => {
  property([address4near()], 20)('IPv4', (any) => {
    const peer = new Peer.Address4(Address.format(any))
    const kind = kindOf(any)
    expect({
      private: peer.isPrivate(),
      loopback: peer.isLoopback(),
      linkLocal: peer.isLinkLocal(),
      unspecified: peer.isUnspecified(),
      broadcast: peer.isBroadcast(),
      multicast: peer.isMulticast(),
      shared: peer.isCGNAT(),
      documentation: peer.isDocumentation(),
      benchmarking: peer.isBenchmarking(),
      // theirs holds the broadcast address as well; one address has one kind here
      reserved: peer.isReserved() && !peer.isBroadcast(),
    }).toEqual({
      private: kind === 'private',
      loopback: kind === 'loopback',
      linkLocal: kind === 'linkLocal',
      unspecified: kind === 'unspecified',
      broadcast: kind === 'broadcast',
      multicast: kind === 'multicast',
      shared: kind === 'shared',
      documentation: kind === 'documentation',
      benchmarking: kind === 'benchmarking',
      reserved: kind === 'reserved',
    })
    // the blank cells of 192.88.99.0/24 are passed over there, so that it counts as ordinary; a
    // blank is a no here
    const blank = specialPurposeOf(any)?.globallyReachable === null && kind === 'relayAnycast'
    expect(peer.isGlobal()).toBe(blank || isGloballyReachable(any))
  })

  property([address6near()], 20)('IPv6', (any) => {
    const peer = new Peer.Address6(Address.format(any))
    // 6to4 has one kind of its own there, and is never reachable; here the IPv4 address inside
    // decides
    expect(peer.is6to4()).toBe(any.w0 >>> 16 === 0x2002)
    if (peer.is6to4()) return
    const kind = kindOf(any)
    const inside = embeddedIPv4(any) !== undefined
    expect({
      uniqueLocal: peer.isULA(),
      // theirs takes unique local and the local-use NAT64 prefix for private too
      private: peer.isPrivate(),
      loopback: peer.isLoopback(),
      linkLocal: peer.isLinkLocal(),
      unspecified: peer.isUnspecified(),
      broadcast: peer.isBroadcast(),
      multicast: peer.isMulticast(),
      shared: peer.isCGNAT(),
      // the only predicate there that does not ask the IPv4 address inside
      documentation: peer.isDocumentation() || (inside && kind === 'documentation'),
      benchmarking: peer.isBenchmarking(),
      teredo: peer.isTeredo(),
    }).toEqual({
      uniqueLocal: kind === 'uniqueLocal',
      private: kind === 'private' || kind === 'uniqueLocal' || kind === 'translation',
      loopback: kind === 'loopback',
      linkLocal: kind === 'linkLocal',
      unspecified: kind === 'unspecified',
      broadcast: kind === 'broadcast',
      multicast: kind === 'multicast',
      shared: kind === 'shared',
      documentation: kind === 'documentation',
      benchmarking: kind === 'benchmarking',
      teredo: kind === 'teredo',
    })
    const embedded = embeddedIPv4(any)
    const blank = embedded !== undefined && kind === 'relayAnycast' // as for IPv4
    expect(peer.isGlobal()).toBe(
      (blank && specialPurposeOf(embedded)?.globallyReachable === null) || isGloballyReachable(any),
    )
  })
})

/**
 * Any address, and more often one inside of a row, at its ends, next to it, or with a row's IPv4
 * address inside.
 */
function nearRows(): fc.Arbitrary<Address> {
  return fc.oneof(address(), address4near(), address6near())
}

function address4near(): fc.Arbitrary<Address4> {
  return fc.oneof(address(4), near(4) as fc.Arbitrary<Address4>)
}

function address6near(): fc.Arbitrary<Address6> {
  const embedding = fc
    .tuple(fc.constantFrom('::ffff:0:0', '64:ff9b::', '2002::'), address4near(), address(6))
    .map(([text, inside, rest]): Address6 => {
      const base = Address.parse(text) as Address6
      if (text !== '2002::') return { ...base, w3: inside.value }
      const { value } = inside
      const w1 = (((value & 0xffff) << 16) | (rest.w1 & 0xffff)) >>> 0
      return { ...rest, w0: (0x20020000 | (value >>> 16)) >>> 0, w1 }
    })
  return fc.oneof(address(6), near(6) as fc.Arbitrary<Address6>, embedding)
}

function near(family: 4 | 6): fc.Arbitrary<Address> {
  const ofFamily = entries.filter(({ prefix }) => prefix.address.family === family)
  const offset = fc.oneof(fc.bigInt({ min: -3n, max: 300n }), fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }))
  return fc.tuple(fc.constantFrom(...ofFamily), offset, fc.boolean()).map(([{ prefix }, by, fromEnd]) => {
    const size = Prefix.size(prefix)
    const inside = by > 300n ? by % size : by
    const value = Address.toBigInt(fromEnd ? Prefix.last(prefix) : Prefix.first(prefix)) + (fromEnd ? -inside : inside)
    const space = 1n << BigInt(Address.bitsOf(family))
    return Address.fromBigInt(family, (value + space) % space)
  })
}

function naiveRow(any: Address): SpecialPurposeEntry | undefined {
  let best: SpecialPurposeEntry | undefined
  for (const entry of entries) {
    if (!Prefix.contains(entry.prefix, any)) continue
    if (best === undefined || entry.prefix.length > best.prefix.length) best = entry
  }
  return best
}

/** The 32 bits after the prefix of the row. */
function naiveEmbedded(any: Address, row: SpecialPurposeEntry): Address {
  const value = Address.toBigInt(any) >> BigInt(128 - 32 - row.prefix.length)
  return Address.fromBigInt(4, value & 0xffffffffn)
}

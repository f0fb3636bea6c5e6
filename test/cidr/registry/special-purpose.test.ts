import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Address, Prefix } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { embeddedIPv4 } from '../../../src/cidr/registry/embedded.js'
import {
  isGloballyReachable,
  kindOf,
  type SpecialPurposeEntry,
  specialPurposeOf,
  specialPurposeRegistry,
} from '../../../src/cidr/registry/special-purpose.js'

const kindOfText = (text: string) => kindOf(Address.parse(text))
const { entries } = specialPurposeRegistry

describe('every block begins and ends where it should', () => {
  test.each([
    // block, kind, reachable, kind before it, kind after it; of the first and the last address,
    // where they differ: a/b
    ['0.0.0.0/8', 'unspecified/thisNetwork', false, '', 'global'],
    ['0.0.0.0/32', 'unspecified', false, '', 'thisNetwork'],
    ['10.0.0.0/8', 'private', false, 'global', 'global'],
    ['100.64.0.0/10', 'shared', false, 'global', 'global'],
    ['127.0.0.0/8', 'loopback', false, 'global', 'global'],
    ['169.254.0.0/16', 'linkLocal', false, 'global', 'global'],
    ['172.16.0.0/12', 'private', false, 'global', 'global'],
    ['192.0.0.0/24', 'protocolAssignment', false, 'global', 'global'],
    ['192.0.0.0/29', 'protocolAssignment', false, 'global', 'dummy'],
    ['192.0.0.8/32', 'dummy', false, 'protocolAssignment', 'protocolAssignment'],
    ['192.0.0.9/32', 'protocolAssignment', true, 'dummy', 'protocolAssignment'],
    ['192.0.0.10/32', 'protocolAssignment', true, 'protocolAssignment', 'protocolAssignment'],
    ['192.0.0.170/32', 'protocolAssignment', false, 'protocolAssignment', 'protocolAssignment'],
    ['192.0.0.171/32', 'protocolAssignment', false, 'protocolAssignment', 'protocolAssignment'],
    ['192.0.2.0/24', 'documentation', false, 'global', 'global'],
    ['192.31.196.0/24', 'as112', true, 'global', 'global'],
    ['192.52.193.0/24', 'amt', true, 'global', 'global'],
    ['192.88.99.0/24', 'relayAnycast', false, 'global', 'global'],
    ['192.88.99.2/32', 'relayAnycast', false, 'relayAnycast', 'relayAnycast'],
    ['192.168.0.0/16', 'private', false, 'global', 'global'],
    ['192.175.48.0/24', 'as112', true, 'global', 'global'],
    ['198.18.0.0/15', 'benchmarking', false, 'global', 'global'],
    ['198.51.100.0/24', 'documentation', false, 'global', 'global'],
    ['203.0.113.0/24', 'documentation', false, 'global', 'global'],
    ['240.0.0.0/4', 'reserved/broadcast', false, 'multicast', ''],
    ['255.255.255.255/32', 'broadcast', false, 'reserved', ''],
    ['::1/128', 'loopback', false, 'unspecified', 'reserved'],
    ['::/128', 'unspecified', false, '', 'loopback'],
    ['::ffff:0:0/96', 'unspecified/broadcast', false, 'reserved', 'reserved'],
    ['64:ff9b::/96', 'unspecified/broadcast', false, 'reserved', 'reserved'],
    ['64:ff9b:1::/48', 'translation', false, 'reserved', 'reserved'],
    ['100::/64', 'discard', false, 'reserved', 'dummy'],
    ['100:0:0:1::/64', 'dummy', false, 'discard', 'reserved'],
    ['2001::/23', 'teredo/protocolAssignment', false, 'global', 'global'],
    ['2001::/32', 'teredo', false, 'global', 'protocolAssignment'],
    ['2001:1::1/128', 'protocolAssignment', true, 'protocolAssignment', 'protocolAssignment'],
    ['2001:1::2/128', 'protocolAssignment', true, 'protocolAssignment', 'protocolAssignment'],
    ['2001:1::3/128', 'protocolAssignment', true, 'protocolAssignment', 'protocolAssignment'],
    ['2001:2::/48', 'benchmarking', false, 'protocolAssignment', 'protocolAssignment'],
    ['2001:3::/32', 'amt', true, 'protocolAssignment', 'protocolAssignment'],
    ['2001:4:112::/48', 'as112', true, 'protocolAssignment', 'protocolAssignment'],
    ['2001:10::/28', 'orchid', false, 'protocolAssignment', 'orchid'],
    ['2001:20::/28', 'orchid', true, 'orchid', 'orchid'],
    ['2001:30::/28', 'orchid', true, 'orchid', 'protocolAssignment'],
    ['2001:db8::/32', 'documentation', false, 'global', 'global'],
    ['2002::/16', 'unspecified/broadcast', false, 'global', 'global'],
    ['2620:4f:8000::/48', 'as112', true, 'global', 'global'],
    ['3fff::/20', 'documentation', false, 'global', 'global'],
    ['5f00::/16', 'segmentRouting', false, 'reserved', 'reserved'],
    ['fc00::/7', 'uniqueLocal', false, 'reserved', 'reserved'],
    ['fe80::/10', 'linkLocal', false, 'reserved', 'siteLocal'],
    ['224.0.0.0/4', 'multicast', false, 'global', 'reserved'],
    ['::/96', 'unspecified/reserved', false, '', 'reserved'],
    ['::/8', 'unspecified/reserved', false, '', 'discard'],
    ['100::/8', 'discard/reserved', false, 'reserved', 'reserved'],
    ['200::/7', 'reserved', false, 'reserved', 'reserved'],
    ['400::/6', 'reserved', false, 'reserved', 'reserved'],
    ['800::/5', 'reserved', false, 'reserved', 'reserved'],
    ['1000::/4', 'reserved', false, 'reserved', 'global'],
    ['4000::/3', 'reserved', false, 'global', 'reserved'],
    ['6000::/3', 'reserved', false, 'reserved', 'reserved'],
    ['8000::/3', 'reserved', false, 'reserved', 'reserved'],
    ['a000::/3', 'reserved', false, 'reserved', 'reserved'],
    ['c000::/3', 'reserved', false, 'reserved', 'reserved'],
    ['e000::/4', 'reserved', false, 'reserved', 'reserved'],
    ['f000::/5', 'reserved', false, 'reserved', 'reserved'],
    ['f800::/6', 'reserved', false, 'reserved', 'uniqueLocal'],
    ['fe00::/9', 'reserved', false, 'uniqueLocal', 'linkLocal'],
    ['fec0::/10', 'siteLocal', false, 'linkLocal', 'multicast'],
    ['ff00::/8', 'multicast', false, 'siteLocal', ''],
  ])('%s', (block, kinds, reachable, before, after) => {
    const prefix = Prefix.parse(block)
    const entry = entries.find((known) => Prefix.format(known.prefix) === Prefix.format(prefix))
    expect(entry?.prefix).toEqual(prefix)

    const [first, last] = [Prefix.first(prefix), Prefix.last(prefix)]
    const [below, above] = [Address.previous(first), Address.next(last)]
    const [firstKind, lastKind = firstKind] = kinds.split('/')
    expect([kindOf(first), kindOf(last)]).toEqual([firstKind, lastKind])
    expect([below ? kindOf(below) : '', above ? kindOf(above) : '']).toEqual([before, after])
    expect([isGloballyReachable(first), isGloballyReachable(last)]).toEqual([reachable, reachable])
    for (const outside of [below, above]) {
      if (outside !== undefined) expect(specialPurposeOf(outside)).not.toBe(entry)
    }
  })

  test('and there is no block that is not in this table', () => {
    expect(entries).toHaveLength(70)
    expect(new Set(entries.map(({ prefix }) => Prefix.format(prefix))).size).toBe(70)
    for (const { prefix } of entries) expect(Prefix.masked(prefix)).toBe(prefix)
  })

  test('without 2000::/3 the rows of IPv6 cover everything', () => {
    const sizes = entries
      .filter(({ prefix }) => prefix.address.family === 6 && prefix.length < 16)
      .map(({ prefix }) => Prefix.size(prefix))
    expect(sizes.reduce((sum, size) => sum + size)).toBe((1n << 128n) - (1n << 125n))
  })
})

describe('the registry says what IANA says', () => {
  /**
   * The tables of 2025-10-09: block, name, RFC, Source, Destination, Forwardable, Globally
   * Reachable, Reserved-by-Protocol.
   */
  const published = `
    0.0.0.0/8 | "This network" | [RFC791], Section 3.2 | True | False | False | False | True
    0.0.0.0/32 | "This host on this network" | [RFC1122], Section 3.2.1.3 | True | False | False | False | True
    10.0.0.0/8 | Private-Use | [RFC1918] | True | True | True | False | False
    100.64.0.0/10 | Shared Address Space | [RFC6598] | True | True | True | False | False
    127.0.0.0/8 | Loopback | [RFC1122], Section 3.2.1.3 | False [1] | False [1] | False [1] | False [1] | True
    169.254.0.0/16 | Link Local | [RFC3927] | True | True | False | False | True
    172.16.0.0/12 | Private-Use | [RFC1918] | True | True | True | False | False
    192.0.0.0/24 [2] | IETF Protocol Assignments | [RFC6890], Section 2.1 | False | False | False | False | False
    192.0.0.0/29 | IPv4 Service Continuity Prefix | [RFC7335] | True | True | True | False | False
    192.0.0.8/32 | IPv4 dummy address | [RFC7600] | True | False | False | False | False
    192.0.0.9/32 | Port Control Protocol Anycast | [RFC7723] | True | True | True | True | False
    192.0.0.10/32 | Traversal Using Relays around NAT Anycast | [RFC8155] | True | True | True | True | False
    192.0.0.170/32, 192.0.0.171/32 | NAT64/DNS64 Discovery | [RFC8880][RFC7050], Section 2.2 | False | False | False | False | True
    192.0.2.0/24 | Documentation (TEST-NET-1) | [RFC5737] | False | False | False | False | False
    192.31.196.0/24 | AS112-v4 | [RFC7535] | True | True | True | True | False
    192.52.193.0/24 | AMT | [RFC7450] | True | True | True | True | False
    192.88.99.0/24 | Deprecated (6to4 Relay Anycast) | [RFC7526] | | | | |
    192.88.99.2/32 | 6a44-relay anycast address | [RFC6751] | True | True | True | False | False
    192.168.0.0/16 | Private-Use | [RFC1918] | True | True | True | False | False
    192.175.48.0/24 | Direct Delegation AS112 Service | [RFC7534] | True | True | True | True | False
    198.18.0.0/15 | Benchmarking | [RFC2544] | True | True | True | False | False
    198.51.100.0/24 | Documentation (TEST-NET-2) | [RFC5737] | False | False | False | False | False
    203.0.113.0/24 | Documentation (TEST-NET-3) | [RFC5737] | False | False | False | False | False
    240.0.0.0/4 | Reserved | [RFC1112], Section 4 | False | False | False | False | True
    255.255.255.255/32 | Limited Broadcast | [RFC8190][RFC919], Section 7 | False | True | False | False | True
    ::1/128 | Loopback Address | [RFC4291] | False | False | False | False | True
    ::/128 | Unspecified Address | [RFC4291] | True | False | False | False | True
    ::ffff:0:0/96 | IPv4-mapped Address | [RFC4291] | False | False | False | False | True
    64:ff9b::/96 | IPv4-IPv6 Translat. | [RFC6052] | True | True | True | True | False
    64:ff9b:1::/48 | IPv4-IPv6 Translat. | [RFC8215] | True | True | True | False | False
    100::/64 | Discard-Only Address Block | [RFC6666] | True | True | True | False | False
    100:0:0:1::/64 | Dummy IPv6 Prefix | [RFC9780] | True | False | False | False | False
    2001::/23 | IETF Protocol Assignments | [RFC2928] | False [1] | False [1] | False [1] | False [1] | False
    2001::/32 | TEREDO | [RFC4380][RFC8190] | True | True | True | N/A [2] | False
    2001:1::1/128 | Port Control Protocol Anycast | [RFC7723] | True | True | True | True | False
    2001:1::2/128 | Traversal Using Relays around NAT Anycast | [RFC8155] | True | True | True | True | False
    2001:1::3/128 | DNS-SD Service Registration Protocol Anycast | [RFC9665] | True | True | True | True | False
    2001:2::/48 | Benchmarking | [RFC5180][RFC Errata 1752] | True | True | True | False | False
    2001:3::/32 | AMT | [RFC7450] | True | True | True | True | False
    2001:4:112::/48 | AS112-v6 | [RFC7535] | True | True | True | True | False
    2001:10::/28 | Deprecated (previously ORCHID) | [RFC4843] | | | | |
    2001:20::/28 | ORCHIDv2 | [RFC7343] | True | True | True | True | False
    2001:30::/28 | Drone Remote ID Protocol Entity Tags (DETs) Prefix | [RFC9374] | True | True | True | True | False
    2001:db8::/32 | Documentation | [RFC3849] | False | False | False | False | False
    2002::/16 [3] | 6to4 | [RFC3056] | True | True | True | N/A [3] | False
    2620:4f:8000::/48 | Direct Delegation AS112 Service | [RFC7534] | True | True | True | True | False
    3fff::/20 | Documentation | [RFC9637] | False | False | False | False | False
    5f00::/16 | Segment Routing (SRv6) SIDs | [RFC9602] | True | True | True | False | False
    fc00::/7 | Unique-Local | [RFC4193][RFC8190] | True | True | True | False [4] | False
    fe80::/10 | Link-Local Unicast | [RFC4291] | True | True | False | False | True`

  const cell = (flag: SpecialPurposeEntry['source']) =>
    flag === null ? '' : flag === 'N/A' ? flag : flag ? 'True' : 'False'
  const ours = entries
    .filter(({ registry }) => registry === 'special-purpose')
    .map((entry) => [
      Prefix.format(entry.prefix),
      entry.name,
      entry.rfcs.map((rfc) => `[RFC${rfc}]`).join(''),
      ...[entry.source, entry.destination, entry.forwardable].map(cell),
      ...[entry.globallyReachable, entry.reservedByProtocol].map(cell),
    ])

  test('row by row, in its order', () => {
    const theirs = published
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [blocks = '', name, rfcs = '', ...flags] = line
          .replace(/ \[\d\]|\[RFC Errata \d+\]|, Section [\d.]+/g, '')
          .split('|')
          .map((text) => text.trim())
        return blocks.split(', ').map((block) => [Prefix.format(Prefix.parse(block)), name, rfcs, ...flags])
      })
    expect(theirs).toHaveLength(51)
    expect(ours).toEqual(theirs)
  })

  test('the registry of the whole space has no flags', () => {
    const others = entries.slice(51)
    expect(others.map(({ registry }) => registry)).toEqual(others.map(() => 'address-space'))
    for (const entry of others) {
      expect([entry.source, entry.destination, entry.forwardable]).toEqual([null, null, null])
      expect([entry.globallyReachable, entry.reservedByProtocol]).toEqual([null, null])
    }
  })

  test('it is dated, and frozen through and through', () => {
    expect(specialPurposeRegistry.date).toMatch(/^\d{4}-\d\d-\d\d$/)
    const thawed: unknown[] = []
    const visit = (value: unknown) => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) thawed.push(value)
      for (const part of Object.values(value)) visit(part)
    }
    visit(specialPurposeRegistry)
    expect(thawed).toEqual([])
    expect(JSON.parse(JSON.stringify(specialPurposeRegistry))).toEqual(specialPurposeRegistry)
  })
})

describe('the embedded IPv4 address decides', () => {
  test.each([
    ['::ffff:8.8.8.8', 'global', true],
    ['::ffff:127.0.0.1', 'loopback', false],
    ['::ffff:10.0.0.1', 'private', false],
    ['::ffff:192.0.0.9', 'protocolAssignment', true],
    ['::ffff:224.0.0.1', 'multicast', false],
    ['64:ff9b::8.8.8.8', 'global', true],
    ['64:ff9b::169.254.169.254', 'linkLocal', false],
    ['64:ff9b::255.255.255.255', 'broadcast', false],
    ['2002:808:808::', 'global', true],
    ['2002:808:808:ffff:ffff:ffff:ffff:ffff', 'global', true],
    ['2002:7f00:1::', 'loopback', false],
    ['2002:c0a8:101::1', 'private', false],
    ['2002:6440:1::', 'shared', false],
  ])('%s: %s', (text, kind, reachable) => {
    expect(kindOfText(text)).toBe(kind)
    expect(isGloballyReachable(Address.parse(text))).toBe(reachable)
  })

  test.each([
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:255.255.255.255', '255.255.255.255'],
    ['64:ff9b::1.2.3.4', '1.2.3.4'],
    ['64:ff9b::255.255.255.255', '255.255.255.255'],
    ['2002:102:304::', '1.2.3.4'],
    ['2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '255.255.255.255'],
    ['2002:0:ffff::', '0.0.255.255'],
    ['2002:ffff:0:ffff::', '255.255.0.0'],
  ])('in %s there is %s', (text, inside) => {
    expect(embedded(text)).toBe(inside)
  })

  test.each([
    ['IPv4-compatible', '::1.2.3.4', 'reserved'],
    ['next to mapped', '::fffe:1.2.3.4', 'reserved'],
    ['IPv4-translated', '::ffff:0:1.2.3.4', 'reserved'],
    ['mapped with a bit in front', '1::ffff:1.2.3.4', 'reserved'],
    ['mapped with a bit between', '::1:0:ffff:1.2.3.4', 'reserved'],
    ['NAT64 with a bit between', '64:ff9b::1:1.2.3.4', 'reserved'],
    ['NAT64 with a bit further in front', '64:ff9b:0:1::1.2.3.4', 'reserved'],
    ['NAT64 of one’s own', '64:ff9b:1::7f00:1', 'translation'],
    ['next to 6to4', '2003:7f00:1::', 'global'],
    ['Teredo, its server', '2001:0:7f00:1::', 'teredo'],
    ['Teredo, its client', '2001::80ff:fffe', 'teredo'],
    ['ISATAP', '2606:4700::5efe:7f00:1', 'global'],
    ['ISATAP on the link', 'fe80::5efe:8.8.8.8', 'linkLocal'],
  ])('%s, %s, stands for itself', (_, text, kind) => {
    expect(embedded(text)).toBeUndefined()
    expect(kindOfText(text)).toBe(kind)
  })

  test('the row is that of the address itself', () => {
    expect(specialPurposeOf(Address.parse('::ffff:127.0.0.1'))?.name).toBe('IPv4-mapped Address')
    expect(specialPurposeOf(Address.parse('2002:7f00:1::'))?.name).toBe('6to4')
    expect(specialPurposeOf(Address.parse('127.0.0.1'))?.name).toBe('Loopback')
    expect(specialPurposeOf(Address.parse('8.8.8.8'))).toBeUndefined()
    expect(specialPurposeOf(Address.parse('2606:4700::1111'))).toBeUndefined()
  })

  function embedded(text: string): string | undefined {
    const address = Address.parse(text)
    const inside = address.family === 6 ? embeddedIPv4(address) : undefined
    return inside && Address.format(inside)
  }
})

describe('classify, as the acceptance cases have it', () => {
  interface Case {
    readonly input: { readonly op: string; readonly text: string }
    readonly expect: Readonly<Record<string, boolean>>
  }
  const cases: Case[] = [
    {
      input: { op: 'classify', text: '10.0.0.1/0' },
      expect: { private: true, loopback: false, globallyReachable: false },
    },
  ]
  // outside of the repository, and read where it lies
  const file = fileURLToPath(new URL('../../../shared/acceptance/security-cidr.json', import.meta.url))
  if (existsSync(file)) cases.push(...(JSON.parse(readFileSync(file, 'utf8')) as { cases: Case[] }).cases)

  test('each is right', () => {
    for (const { input, expect: expected } of cases.filter(({ input }) => input.op === 'classify')) {
      // a CIDR is asked about its address: the length changes nothing
      const address = input.text.includes('/') ? Prefix.parse(input.text).address : Address.parse(input.text)
      const answers = Object.keys(expected).map((question) => [
        question,
        question === 'globallyReachable' ? isGloballyReachable(address) : kindOf(address) === question,
      ])
      expect(Object.fromEntries(answers), input.text).toEqual(expected)
    }
  })
})

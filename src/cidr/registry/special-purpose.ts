import type { Prefix } from '../nouns/prefix-core.js'
import type { Address, Address6, Family } from '../nouns/types.js'
import { assertAddress } from '../text/checks.js'
import { readAddress } from '../text/scan.js'
import { embeddedValue } from './embedded.js'

export { embeddedIPv4 } from './embedded.js'

/**
 * The purpose of an address: the kind of the most specific row of the registries that covers it, or
 * `global` without a row.
 */
export type AddressKind =
  /** Ordinary unicast. For IPv6 only `2000::/3`, whether it is assigned yet or not. */
  | 'global'
  /** `0.0.0.0` and `::`: no address. */
  | 'unspecified'
  /**
   * `0.0.0.0/8` but for its first address: a source on this network, never a destination (RFC 791).
   */
  | 'thisNetwork'
  | 'loopback'
  /** `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16` (RFC 1918). */
  | 'private'
  /** `100.64.0.0/10`, between a provider and its customers: carrier-grade NAT (RFC 6598). */
  | 'shared'
  | 'linkLocal'
  /** `fc00::/7` (RFC 4193): the private addresses of IPv6. */
  | 'uniqueLocal'
  /** `fec0::/10`, given up for `uniqueLocal` (RFC 3879). */
  | 'siteLocal'
  | 'multicast'
  /** `255.255.255.255`. */
  | 'broadcast'
  | 'documentation'
  | 'benchmarking'
  /**
   * Reserved for protocols: the rest of `192.0.0.0/24` and `2001::/23`. Some are anycast, and
   * reachable.
   */
  | 'protocolAssignment'
  /**
   * A source address of packets that need no answer: `192.0.0.8` (RFC 7600), `100:0:0:1::/64`
   * (RFC 9780).
   */
  | 'dummy'
  /** `100::/64`: routers drop what is sent there (RFC 6666). */
  | 'discard'
  /** `64:ff9b:1::/48`: IPv4 behind a translator within the same network (RFC 8215). */
  | 'translation'
  /** `192.88.99.0/24`: relays of 6to4, which are terminated, and of 6a44. */
  | 'relayAnycast'
  | 'teredo'
  /** Multicast tunnels (RFC 7450). */
  | 'amt'
  /** Name servers that answer for private addresses (RFC 7534, RFC 7535). */
  | 'as112'
  /**
   * Hashes in the form of addresses: ORCHID and what follows it, the entity tags of drones included
   * (RFC 7343, RFC 9374).
   */
  | 'orchid'
  /** `5f00::/16`: instructions to routers in the form of addresses (RFC 9602). */
  | 'segmentRouting'
  /** Held back for later: `240.0.0.0/4` and what lies outside of `2000::/3`. */
  | 'reserved'

/**
 * A cell of the registries: `N/A` where the table says so, `null` where it is blank, or has no such
 * column.
 */
export type RegistryFlag = boolean | 'N/A' | null

/** One address block of the registries. */
export interface SpecialPurposeEntry {
  readonly prefix: Prefix
  /** As IANA writes it. */
  readonly name: string
  /** The numbers of the RFCs that the row refers to. */
  readonly rfcs: readonly number[]
  /**
   * The kind of its addresses, but for those of a row inside of it; `null` where the IPv4 address
   * inside of the address decides.
   */
  readonly kind: AddressKind | null
  /**
   * `special-purpose`, or, for multicast and what is reserved, the registry of the whole address
   * space, which has no flags.
   */
  readonly registry: 'special-purpose' | 'address-space'
  /** May be the source of a packet between two devices. */
  readonly source: RegistryFlag
  /** May be the destination of a packet between two devices. */
  readonly destination: RegistryFlag
  /** Routers may pass on packets to it. */
  readonly forwardable: RegistryFlag
  /** Packets to it may leave the network of one administration. */
  readonly globallyReachable: RegistryFlag
  /** Every implementation of IP has to treat it in a special way. */
  readonly reservedByProtocol: RegistryFlag
}

export interface SpecialPurposeRegistry {
  /** When IANA last updated the two special-purpose registries, as `YYYY-MM-DD`. */
  readonly date: string
  /**
   * In the order of IANA's tables: IPv4, then IPv6, then what only the registries of the whole
   * address space name.
   */
  readonly entries: readonly SpecialPurposeEntry[]
}

/**
 * The kind of an address. The embedded IPv4 address decides for IPv4-mapped addresses, the
 * well-known NAT64 prefix and 6to4 (see `embeddedIPv4`), so that no spelling of `127.0.0.1` is
 * anything else than `loopback`. O(1), at most about twenty comparisons.
 *
 * Source: the IANA registries in {@link specialPurposeRegistry} (RFC 6890, RFC 8190).
 *
 * @example
 * Address.kind(Address.parse('100.64.0.1')) // 'shared'
 * Address.kind(Address.parse('::ffff:169.254.169.254')) // 'linkLocal'
 * Address.kind(Address.parse('2606:4700::1111')) // 'global'
 */
export function kindOf(address: Address): AddressKind {
  assertAddress('Address.kind', 'address', address)
  return deciding(address)?.kind ?? 'global'
}

/**
 * Whether the registries allow that an address is reached, as the destination of unicast, from
 * outside of its own network. True if the most specific row says so, and for addresses without a
 * row. The embedded IPv4 address decides as in {@link kindOf}. O(1).
 *
 * False where the registries do not answer: Teredo (`N/A`: only through relays), the terminated
 * blocks `192.88.99.0/24` and `2001:10::/28` (blank), multicast (not unicast) and reserved IPv6
 * space. True does not mean that a host has the address.
 *
 * This is no defence against server-side request forgery: a name may lead elsewhere when it is
 * resolved again, redirects and proxies lead elsewhere too, a private NAT64 prefix hides the IPv4
 * address behind it, and networks use global addresses inside.
 *
 * @example
 * Address.isGloballyReachable(Address.parse('192.0.0.9')) // true
 * Address.isGloballyReachable(Address.parse('192.0.0.8')) // false
 * Address.isGloballyReachable(Address.parse('2002:7f00:1::')) // false
 */
export function isGloballyReachable(address: Address): boolean {
  assertAddress('Address.isGloballyReachable', 'address', address)
  const entry = deciding(address)
  return entry === undefined || entry.globallyReachable === true
}

/**
 * The most specific row of the registries that covers an address, or `undefined` for ordinary
 * unicast. It is about the address itself, not about an IPv4 address inside of it. O(1).
 *
 * @example
 * const entry = Address.specialPurposeOf(Address.parse('::ffff:127.0.0.1'))
 * entry?.name // 'IPv4-mapped Address'
 */
export function specialPurposeOf(address: Address): SpecialPurposeEntry | undefined {
  assertAddress('Address.specialPurposeOf', 'address', address)
  return address.family === 4 ? find4(address.value) : find6(address)
}

type Row = readonly [kind: AddressKind | null, prefix: string, name: string, flags: string, ...rfcs: number[]]

// Flags in the order of IANA's columns: Source, Destination, Forwardable, Globally Reachable,
// Reserved-by-Protocol. T and F are True and False, - is N/A, and a row without flags has blank
// cells. 192.0.0.170 and 192.0.0.171 share a row there.
// Sources: https://www.iana.org/assignments/iana-ipv4-special-registry and
// https://www.iana.org/assignments/iana-ipv6-special-registry
const specialPurpose: readonly Row[] = [
  ['thisNetwork', '0.0.0.0/8', '"This network"', 'TFFFT', 791],
  ['unspecified', '0.0.0.0/32', '"This host on this network"', 'TFFFT', 1122],
  ['private', '10.0.0.0/8', 'Private-Use', 'TTTFF', 1918],
  ['shared', '100.64.0.0/10', 'Shared Address Space', 'TTTFF', 6598],
  ['loopback', '127.0.0.0/8', 'Loopback', 'FFFFT', 1122],
  ['linkLocal', '169.254.0.0/16', 'Link Local', 'TTFFT', 3927],
  ['private', '172.16.0.0/12', 'Private-Use', 'TTTFF', 1918],
  ['protocolAssignment', '192.0.0.0/24', 'IETF Protocol Assignments', 'FFFFF', 6890],
  ['protocolAssignment', '192.0.0.0/29', 'IPv4 Service Continuity Prefix', 'TTTFF', 7335],
  ['dummy', '192.0.0.8/32', 'IPv4 dummy address', 'TFFFF', 7600],
  ['protocolAssignment', '192.0.0.9/32', 'Port Control Protocol Anycast', 'TTTTF', 7723],
  ['protocolAssignment', '192.0.0.10/32', 'Traversal Using Relays around NAT Anycast', 'TTTTF', 8155],
  ['protocolAssignment', '192.0.0.170/32', 'NAT64/DNS64 Discovery', 'FFFFT', 8880, 7050],
  ['protocolAssignment', '192.0.0.171/32', 'NAT64/DNS64 Discovery', 'FFFFT', 8880, 7050],
  ['documentation', '192.0.2.0/24', 'Documentation (TEST-NET-1)', 'FFFFF', 5737],
  ['as112', '192.31.196.0/24', 'AS112-v4', 'TTTTF', 7535],
  ['amt', '192.52.193.0/24', 'AMT', 'TTTTF', 7450],
  ['relayAnycast', '192.88.99.0/24', 'Deprecated (6to4 Relay Anycast)', '', 7526],
  ['relayAnycast', '192.88.99.2/32', '6a44-relay anycast address', 'TTTFF', 6751],
  ['private', '192.168.0.0/16', 'Private-Use', 'TTTFF', 1918],
  ['as112', '192.175.48.0/24', 'Direct Delegation AS112 Service', 'TTTTF', 7534],
  ['benchmarking', '198.18.0.0/15', 'Benchmarking', 'TTTFF', 2544],
  ['documentation', '198.51.100.0/24', 'Documentation (TEST-NET-2)', 'FFFFF', 5737],
  ['documentation', '203.0.113.0/24', 'Documentation (TEST-NET-3)', 'FFFFF', 5737],
  ['reserved', '240.0.0.0/4', 'Reserved', 'FFFFT', 1112],
  ['broadcast', '255.255.255.255/32', 'Limited Broadcast', 'FTFFT', 8190, 919],

  ['loopback', '::1/128', 'Loopback Address', 'FFFFT', 4291],
  ['unspecified', '::/128', 'Unspecified Address', 'TFFFT', 4291],
  [null, '::ffff:0:0/96', 'IPv4-mapped Address', 'FFFFT', 4291],
  [null, '64:ff9b::/96', 'IPv4-IPv6 Translat.', 'TTTTF', 6052],
  ['translation', '64:ff9b:1::/48', 'IPv4-IPv6 Translat.', 'TTTFF', 8215],
  ['discard', '100::/64', 'Discard-Only Address Block', 'TTTFF', 6666],
  ['dummy', '100:0:0:1::/64', 'Dummy IPv6 Prefix', 'TFFFF', 9780],
  ['protocolAssignment', '2001::/23', 'IETF Protocol Assignments', 'FFFFF', 2928],
  ['teredo', '2001::/32', 'TEREDO', 'TTT-F', 4380, 8190],
  ['protocolAssignment', '2001:1::1/128', 'Port Control Protocol Anycast', 'TTTTF', 7723],
  ['protocolAssignment', '2001:1::2/128', 'Traversal Using Relays around NAT Anycast', 'TTTTF', 8155],
  ['protocolAssignment', '2001:1::3/128', 'DNS-SD Service Registration Protocol Anycast', 'TTTTF', 9665],
  ['benchmarking', '2001:2::/48', 'Benchmarking', 'TTTFF', 5180],
  ['amt', '2001:3::/32', 'AMT', 'TTTTF', 7450],
  ['as112', '2001:4:112::/48', 'AS112-v6', 'TTTTF', 7535],
  ['orchid', '2001:10::/28', 'Deprecated (previously ORCHID)', '', 4843],
  ['orchid', '2001:20::/28', 'ORCHIDv2', 'TTTTF', 7343],
  ['orchid', '2001:30::/28', 'Drone Remote ID Protocol Entity Tags (DETs) Prefix', 'TTTTF', 9374],
  ['documentation', '2001:db8::/32', 'Documentation', 'FFFFF', 3849],
  [null, '2002::/16', '6to4', 'TTT-F', 3056],
  ['as112', '2620:4f:8000::/48', 'Direct Delegation AS112 Service', 'TTTTF', 7534],
  ['documentation', '3fff::/20', 'Documentation', 'FFFFF', 9637],
  ['segmentRouting', '5f00::/16', 'Segment Routing (SRv6) SIDs', 'TTTFF', 9602],
  ['uniqueLocal', 'fc00::/7', 'Unique-Local', 'TTTFF', 4193, 8190],
  ['linkLocal', 'fe80::/10', 'Link-Local Unicast', 'TTFFT', 4291],
]

// Rows of the registries of the whole space. The sixteen rows of IPv4 multicast are one row here.
// ::/96 is in a note there. With 2000::/3 and the rows above, these rows cover every IPv6 address.
// Sources: https://www.iana.org/assignments/ipv4-address-space and
// https://www.iana.org/assignments/ipv6-address-space
const addressSpace: readonly Row[] = [
  ['multicast', '224.0.0.0/4', 'Multicast', '', 5771],
  ['reserved', '::/96', 'IPv4-compatible IPv6 address (deprecated)', '', 4291],
  ['reserved', '::/8', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', '100::/8', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', '200::/7', 'Reserved by IETF', '', 4048],
  ['reserved', '400::/6', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', '800::/5', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', '1000::/4', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', '4000::/3', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', '6000::/3', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', '8000::/3', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', 'a000::/3', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', 'c000::/3', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', 'e000::/4', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', 'f000::/5', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', 'f800::/6', 'Reserved by IETF', '', 3513, 4291],
  ['reserved', 'fe00::/9', 'Reserved by IETF', '', 3513, 4291],
  ['siteLocal', 'fec0::/10', 'Reserved by IETF', '', 3879],
  ['multicast', 'ff00::/8', 'Multicast', '', 3513, 4291],
]

/**
 * The IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190), and what the
 * registries of the IPv4 and IPv6 address space keep from ordinary unicast besides: multicast, and
 * the IPv6 addresses outside of `2000::/3`. Frozen, plain data.
 *
 * @example
 * specialPurposeRegistry.date // '2025-10-09'
 * const private4 = specialPurposeRegistry.entries.filter(({ kind }) => kind === 'private')
 * private4.map(({ prefix }) => Prefix.format(prefix)) // ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16']
 */
export const specialPurposeRegistry: SpecialPurposeRegistry = /* @__PURE__ */ registryOf('2025-10-09')

/** Rows by the first octet of the addresses that they cover, the longest prefix first. */
const rows4 = /* @__PURE__ */ byFirstOctet(4)
const rows6 = /* @__PURE__ */ byFirstOctet(6)

/**
 * A row as it is looked up: the words of its prefix and their masks, as signed numbers; IPv4 has
 * the first of each.
 */
interface Candidate {
  readonly entry: SpecialPurposeEntry
  readonly w0: number
  readonly w1: number
  readonly w2: number
  readonly w3: number
  readonly m0: number
  readonly m1: number
  readonly m2: number
  readonly m3: number
}

/** The row of the address, or of the IPv4 address that it stands for. */
function deciding(address: Address): SpecialPurposeEntry | undefined {
  if (address.family === 4) return find4(address.value)
  const embedded = embeddedValue(address)
  return embedded < 0 ? find6(address) : find4(embedded)
}

function find4(value: number): SpecialPurposeEntry | undefined {
  const rows = rows4[value >>> 24]
  if (rows === undefined) return undefined
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (((value ^ row.w0) & row.m0) === 0) return row.entry
  }
  return undefined
}

function find6({ w0, w1, w2, w3 }: Address6): SpecialPurposeEntry | undefined {
  const rows = rows6[w0 >>> 24]
  if (rows === undefined) return undefined
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (((w0 ^ row.w0) & row.m0) !== 0 || ((w1 ^ row.w1) & row.m1) !== 0) continue
    if (((w2 ^ row.w2) & row.m2) === 0 && ((w3 ^ row.w3) & row.m3) === 0) return row.entry
  }
  return undefined
}

function registryOf(date: string): SpecialPurposeRegistry {
  const entries = [
    ...specialPurpose.map((row) => entryOf(row, 'special-purpose')),
    ...addressSpace.map((row) => entryOf(row, 'address-space')),
  ]
  return Object.freeze({ date, entries: Object.freeze(entries) })
}

function entryOf(
  [kind, text, name, flags, ...rfcs]: Row,
  registry: SpecialPurposeEntry['registry'],
): SpecialPurposeEntry {
  const slash = text.indexOf('/')
  const address = Object.freeze(readAddress(text, 0, slash) as Address)
  const flag = (column: number): RegistryFlag => {
    const letter = flags[column]
    if (letter === undefined) return null
    return letter === '-' ? 'N/A' : letter === 'T'
  }
  return Object.freeze({
    prefix: Object.freeze({ address, length: Number(text.slice(slash + 1)) }),
    name,
    rfcs: Object.freeze(rfcs),
    kind,
    registry,
    source: flag(0),
    destination: flag(1),
    forwardable: flag(2),
    globallyReachable: flag(3),
    reservedByProtocol: flag(4),
  })
}

function byFirstOctet(family: Family): readonly (readonly Candidate[] | undefined)[] {
  const rows = Array.from<Candidate[] | undefined>({ length: 256 })
  const ofFamily = specialPurposeRegistry.entries.filter(({ prefix }) => prefix.address.family === family)
  for (const entry of ofFamily.sort((a, b) => b.prefix.length - a.prefix.length)) {
    const candidate = candidateOf(entry)
    const octet = candidate.w0 >>> 24
    const octets = 1 << Math.max(0, 8 - entry.prefix.length)
    for (let i = octet; i < octet + octets; i++) {
      const others = rows[i]
      if (others === undefined) rows[i] = [candidate]
      else others.push(candidate)
    }
  }
  return rows
}

function candidateOf(entry: SpecialPurposeEntry): Candidate {
  const { address, length } = entry.prefix
  const { w0, w1, w2, w3 } = address.family === 4 ? { w0: address.value, w1: 0, w2: 0, w3: 0 } : address
  return {
    entry,
    w0: w0 | 0,
    w1: w1 | 0,
    w2: w2 | 0,
    w3: w3 | 0,
    m0: maskWord(length),
    m1: maskWord(length - 32),
    m2: maskWord(length - 64),
    m3: maskWord(length - 96),
  }
}

/**
 * The mask bits of one 32-bit word: all for 32 and above, none for 0 and below. Not that of
 * prefix-core: a program that imports `Address` alone does not carry prefixes.
 */
function maskWord(length: number): number {
  if (length <= 0) return 0
  return length >= 32 ? -1 : -1 << (32 - length)
}

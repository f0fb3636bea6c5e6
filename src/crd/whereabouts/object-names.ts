import { assertAddress } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import { check, type KindOf } from '../../errors/check.js'
import { INVALID_OBJECT_NAME } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { subdomainProblem } from '../meta/names.js'
import { SHARED_LEASE } from './names.js'

// Names of upstream: https://github.com/k8snetworkplumbingwg/whereabouts, pkg/storage/kubernetes.
// Nothing is escaped. Two objects can have one name, and some names are refused by an API server.

/** A name, or why an API server refuses it. The failure has the name as upstream makes it. */
export type NameResult = Result<string, 'INVALID_OBJECT_NAME'>

/** What the name of a pool is made of. */
export interface PoolNameParts {
  /** The range, in the text that `spec.range` of the pool has: masked, as Go prints it. */
  readonly range: string
  /** `network_name` of the configuration. Left out or empty: a network without a name. */
  readonly networkName?: string | undefined
  /** The node of the slice. Left out or empty: the pool is not of a slice. */
  readonly nodeName?: string | undefined
}

const POOL_NAME_PARTS: KindOf<PoolNameParts> = { range: 'text', networkName: 'text?', nodeName: 'text?' }

/** What the name of a reservation is made of. */
export interface ReservationNameParts {
  readonly address: Address.Address
  /** `network_name` of the configuration. Left out or empty: a network without a name. */
  readonly networkName?: string | undefined
}

/** What the name of a NodeSlicePool is made of. */
export interface NodeSliceNameParts {
  /** `name` of the CNI configuration. */
  readonly name: string
  /** `network_name` of the IPAM configuration, which comes first. Left out or empty: `name`. */
  readonly networkName?: string | undefined
}

const NODE_SLICE_NAME_PARTS: KindOf<NodeSliceNameParts> = { name: 'text', networkName: 'text?' }

/**
 * The text of a range or an address as a part of a name: `:` and `/` become `-`, and a text that
 * ends in `:` gets a `0` first. O(length).
 *
 * @example
 * normalizeRange('2001:db8::/64') // '2001-db8---64'
 */
export function normalizeRange(range: string): string {
  check('normalizeRange', 'range', range, 'text')
  return (range.endsWith(':') ? `${range}0` : range).replace(/[:/]/g, '-')
}

/**
 * The name of the pool of a range: `[network-][node-]range`.
 *
 * Nothing is escaped: the network `a-b` and the node `c` have the name of the network `a` and the
 * node `b-c`. Without a network or a node the same holds between those two.
 *
 * @returns the failure `INVALID_OBJECT_NAME` for a name that an API server refuses: with a capital
 * letter, with a dash at its start (as of `::/96`), or of more than 253 characters
 * @example
 * poolName({ range: '10.0.0.0/8', networkName: 'blue' }) // { ok: true, value: 'blue-10.0.0.0-8' }
 */
export function poolName(parts: PoolNameParts): NameResult {
  check('poolName', 'parts', parts, POOL_NAME_PARTS)
  return checked('IPPool', joined(parts.networkName, parts.nodeName, normalizeRange(parts.range)))
}

/**
 * The name of the reservation of an address: `[network-]address`. IPv4-mapped IPv6 is written as
 * IPv4.
 *
 * @returns the failure `INVALID_OBJECT_NAME` for a name that an API server refuses: with a capital
 * letter, with a dash at its start (as of `::1`), or of more than 253 characters
 * @throws IpamError `INVALID_ARGUMENT` for an address that is none
 * @example
 * import { Address } from 'ipam-kit/cidr'
 * reservationName({ address: Address.parse('2001:db8::') }) // { ok: true, value: '2001-db8--0' }
 */
export function reservationName(parts: ReservationNameParts): NameResult {
  check('reservationName', 'parts', parts, 'object')
  check('reservationName', 'parts.networkName', parts.networkName, 'text?')
  assertAddress('reservationName', 'parts.address', parts.address)
  return checked('OverlappingRangeIPReservation', joined(parts.networkName, addressPart(parts.address)))
}

/**
 * The name of the NodeSlicePool of a network: its `network_name`, else the name of its
 * configuration.
 *
 * @returns the failure `INVALID_OBJECT_NAME` for a name that an API server refuses
 * @example
 * nodeSliceName({ name: 'lab', networkName: 'blue' }) // { ok: true, value: 'blue' }
 */
export function nodeSliceName(parts: NodeSliceNameParts): NameResult {
  check('nodeSliceName', 'parts', parts, NODE_SLICE_NAME_PARTS)
  return checked('NodeSlicePool', parts.networkName || parts.name)
}

/**
 * The name of the Lease that a writer of upstream takes: `whereabouts` for all pools of a cluster,
 * and with node slices the name of the pool of the slice.
 *
 * @param slice the parts of the name of the pool of a slice. Left out: without node slices
 * @returns the failure `INVALID_OBJECT_NAME` for a name that an API server refuses
 */
export function leaseName(slice?: PoolNameParts): NameResult {
  return slice === undefined ? ok(SHARED_LEASE) : poolName(slice)
}

/** The address and the network that the name of a reservation says. */
export interface ReservationReading {
  readonly address: Address.Address
  /** Empty: a network without a name. */
  readonly networkName: string
}

/**
 * The longest text of an address in a name: 39 hexadecimal digits and dashes. A mixed IPv6 text has
 * up to 45 characters.
 */
const MAX_ADDRESS_TEXT = 45

/**
 * What the name of a reservation can say, the reading with the shortest network first. A name has
 * several readings if the network ends like the start of an IPv6 address: `a-fd00--1` is the
 * address a:fd00::1 without a network, or fd00::1 of the network `a`. O(length).
 *
 * An IPv6 address is read in any spelling: `fd00-0-0-10-0-0-3-1` is fd00:0:0:10::3:1.
 *
 * @returns no reading for a name that no reservation has
 * @example
 * import { Address } from 'ipam-kit/cidr'
 * reservationReadings('a-fd00--1').map(({ address, networkName }) => [Address.format(address), networkName])
 * // [['a:fd00::1', ''], ['fd00::1', 'a']]
 */
export function reservationReadings(name: string): readonly ReservationReading[] {
  check('reservationReadings', 'name', name, 'text')
  const readings: ReservationReading[] = []
  // the address begins at the start, or behind a dash
  for (let start = 0; start >= 0; start = name.indexOf('-', start) + 1 || -1) {
    if (name.length - start > MAX_ADDRESS_TEXT) continue
    const address = readAddressPart(name.slice(start))
    const networkName = name.slice(0, Math.max(start - 1, 0))
    // a network with an empty name has no dash
    if (address !== undefined && (start === 0 || networkName !== '')) readings.push({ address, networkName })
  }
  return readings
}

/**
 * The address that the name of a reservation says: the inverse of {@link reservationName}.
 * O(length).
 *
 * @param networkName the network of the reservation, empty for a network without a name. Left out:
 * it is read from the name, and of several readings the one with the shortest network is taken
 * ({@link reservationReadings} has all)
 * @returns `undefined` for a name that no reservation of the network has
 * @example
 * import { Address } from 'ipam-kit/cidr'
 * const reading = readReservationName('blue-10.0.0.1')
 * reading && [Address.format(reading.address), reading.networkName] // ['10.0.0.1', 'blue']
 */
export function readReservationName(name: string, networkName?: string): ReservationReading | undefined {
  check('readReservationName', 'name', name, 'text')
  check('readReservationName', 'networkName', networkName, 'text?')
  const readings = reservationReadings(name)
  return networkName === undefined ? readings[0] : readings.find((reading) => reading.networkName === networkName)
}

/**
 * What stands before the range in the name of a pool: the network, the node, `network-node`, or an
 * empty text. Those cannot be told apart. O(length).
 *
 * @returns `undefined` if the name does not end in the range
 * @example
 * poolNamePrefix('blue-10.0.0.0-8', '10.0.0.0/8') // 'blue'
 */
export function poolNamePrefix(name: string, range: string): string | undefined {
  check('poolNamePrefix', 'name', name, 'text')
  const end = normalizeRange(range)
  if (name === end) return ''
  return name.length > end.length + 1 && name.endsWith(`-${end}`) ? name.slice(0, -end.length - 1) : undefined
}

function joined(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join('-')
}

function checked(kind: string, name: string): NameResult {
  const problem = subdomainProblem(name)
  return problem === undefined ? ok(name) : failWith(INVALID_OBJECT_NAME, { kind, name, problem })
}

function addressPart(address: Address.Address): string {
  return normalizeRange(Address.format(Address.unmap(address)))
}

function readAddressPart(text: string): Address.Address | undefined {
  if (text.endsWith('-')) return undefined
  const read = Address.safeParse(text.includes('-') ? text.replaceAll('-', ':') : text)
  return read.ok ? Address.unmap(read.value) : undefined
}

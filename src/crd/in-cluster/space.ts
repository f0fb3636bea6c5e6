import type { Family } from '../../cidr/index.js'
import { assertPrefix } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Range from '../../cidr/nouns/range.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check } from '../../errors/check.js'
import { INVALID_POOL_SPEC } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import type { IPAddressSpec } from '../cluster-api/ip-address.js'
import { ADDRESS_SPEC, PREFIX_SPEC } from './kinds.js'
import { DEFAULT_ALLOCATION_PREFIX_LENGTH } from './names.js'
import type { InClusterIPPoolSpec, InClusterPrefixPoolSpec } from './pools.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/**
 * The most that a count in a status can say: the largest 64-bit integer that a JSON number of
 * JavaScript carries.
 */
const MAX_COUNT = 2n ** 63n - 1024n

/** The addresses that a pool can allocate, and those that it does not. */
export interface AddressSpace {
  /** All of `spec.addresses`. */
  readonly addresses: RangeSet
  /**
   * The addresses of the subnet that are not handed out: the first, and for IPv4 the last. Empty if
   * they are allowed.
   */
  readonly reserved: RangeSet
  readonly excluded: RangeSet
  readonly gateway: Address | undefined
  /** `addresses` without reserved, excluded and gateway. */
  readonly available: RangeSet
}

/** The space that a pool of prefixes can allocate from. */
export interface PrefixSpace {
  readonly parents: RangeSet
  readonly excluded: RangeSet
  /** `parents` without excluded. */
  readonly available: RangeSet
  readonly childLength: number
  readonly gateway: Address | undefined
}

/**
 * The set arithmetic of a pool of addresses, as the in-cluster provider does it
 * (internal/poolutil/pool.go):
 *
 *     available = addresses - excluded - reserved - gateway
 *
 * Reserved are the first address (for IPv6 the subnet-router anycast address, RFC 4291 section
 * 2.6.1) and for IPv4 also the last of the subnet of the *lowest* address of the pool, before
 * exclusion. So an IPv4 /31 or /32 is empty unless reserved addresses are allowed. Zones are
 * dropped. O(n log n).
 *
 * @returns `INVALID_POOL_SPEC` for a text that does not parse, mixed families, a prefix that is too
 * long, or a spec without addresses
 */
export function addressSpace(spec: InClusterIPPoolSpec): Result<AddressSpace, 'INVALID_POOL_SPEC'> {
  check('addressSpace', 'spec', spec, ADDRESS_SPEC)

  return strictly(readAddressSpace(spec))
}

/** The space of what of a spec is right, and what is wrong with the rest. */
export interface SpaceReading<S> {
  /** Left out: a part that every address needs is wrong, or no entry is right. */
  readonly space: S | undefined
  readonly problems: readonly string[]
  /**
   * Whether it is unknown which addresses of `space` must not be given: an exclusion or the gateway
   * cannot be read. Such a pool gives nothing.
   */
  readonly isUnsafe: boolean
}

/**
 * As {@link addressSpace}, of the entries of `addresses` that are right. If they are of both
 * families, those of IPv4, or of IPv6 if only that has prefixes of this length.
 */
export function readAddressSpace(spec: InClusterIPPoolSpec): SpaceReading<AddressSpace> {
  const problems: string[] = []
  const ranges = readEntries('spec.addresses', spec.addresses, problems)
  const before = problems.length
  const exclusions = readEntries('spec.excludedAddresses', spec.excludedAddresses ?? [], problems)
  const gateway = readGateway(spec.gateway, problems)
  const isUnsafe = problems.length > before
  const family = servedFamily(
    ranges.map(({ first }) => first.family),
    spec.prefix,
  )
  if (ranges.some(({ first }) => first.family !== family)) {
    problems.push('spec.addresses: provided addresses are of mixed IP families')
  }
  if (isOfOther(exclusions, ranges)) {
    problems.push('spec.excludedAddresses: addresses and excluded addresses are of mixed IP families')
  }
  if (gateway !== undefined && family !== undefined && gateway.family !== family) {
    problems.push('spec.gateway: provided gateway and addresses are of mixed IP families')
  }
  const addresses = RangeSet.fromRanges(ranges.filter(({ first }) => first.family === family))
  const lowest = RangeSet.first(addresses)
  if (lowest === undefined && problems.length === 0) problems.push('spec.addresses: addresses is required')
  const max = Address.bitsOf(family ?? 6)
  const isLength = Number.isInteger(spec.prefix) && spec.prefix >= 0 && spec.prefix <= max
  if (!isLength) problems.push(`spec.prefix: ${spec.prefix} is not a prefix length from 0 to ${max}`)
  if (!isLength || lowest === undefined) return { space: undefined, problems, isUnsafe }

  const subnet = Prefix.of(lowest, spec.prefix)
  const reserved = spec.allocateReservedIPAddresses === true ? RangeSet.empty : subnetEdges(subnet)
  const excluded = RangeSet.fromRanges(exclusions)
  const router = gateway === undefined ? [] : [Range.of(gateway, gateway)]
  const kept = RangeSet.union(reserved, RangeSet.fromRanges([...exclusions, ...router].flatMap(inBothForms)))
  const available = RangeSet.subtract(addresses, kept)
  return { space: { addresses, reserved, excluded, gateway, available }, problems, isUnsafe }
}

/**
 * The space of a pool of prefixes. Unlike in a pool of addresses, the gateway is not excluded, and
 * no address is reserved.
 *
 * @returns `INVALID_POOL_SPEC` for a text that does not parse or has host bits, mixed families, or
 * a length out of range
 */
export function prefixSpace(spec: InClusterPrefixPoolSpec): Result<PrefixSpace, 'INVALID_POOL_SPEC'> {
  check('prefixSpace', 'spec', spec, PREFIX_SPEC)

  return strictly(readPrefixSpace(spec))
}

/**
 * As {@link prefixSpace}, of the entries of `prefixes` that are right. If they are of both
 * families, those of IPv4, or of IPv6 if only that has prefixes of this length.
 */
export function readPrefixSpace(spec: InClusterPrefixPoolSpec): SpaceReading<PrefixSpace> {
  const problems: string[] = []
  const prefixes: Prefix[] = []
  for (const entry of spec.prefixes) {
    const prefix = Prefix.safeParse(entry)
    if (!prefix.ok) problems.push(`spec.prefixes: ${JSON.stringify(entry)} is not a CIDR`)
    else if (Prefix.masked(prefix.value) !== prefix.value) problems.push(`spec.prefixes: ${entry} has host bits`)
    else prefixes.push(prefix.value)
  }
  if (spec.prefixes.length === 0) problems.push('spec.prefixes: prefixes is required')
  const before = problems.length
  const exclusions = readEntries('spec.excludedPrefixes', spec.excludedPrefixes ?? [], problems)
  const gateway = readGateway(spec.gateway, problems)
  const isUnsafe = problems.length > before
  const childLength = effectivePrefixLength(spec)
  const family = servedFamily(
    prefixes.map(({ address }) => address.family),
    childLength,
  )
  if (prefixes.some((prefix) => prefix.address.family !== family)) {
    problems.push('spec.prefixes: provided prefixes are of mixed IP families')
  }
  if (isOfOther(exclusions, prefixes.map(Range.fromPrefix))) {
    problems.push('spec.excludedPrefixes: prefixes and excluded prefixes are of mixed IP families')
  }
  if (gateway !== undefined && family !== undefined && gateway.family !== family) {
    problems.push('spec.gateway: provided gateway and prefixes are of mixed IP families')
  }
  const max = Address.bitsOf(family ?? 6)
  const isLength = Number.isInteger(childLength) && childLength >= 1 && childLength <= max
  if (!isLength) problems.push(`spec.allocationPrefixLength: ${childLength} is not a prefix length from 1 to ${max}`)
  if (!isLength || prefixes.length === 0) return { space: undefined, problems, isUnsafe }
  const ofFamily = prefixes.filter(({ address }) => address.family === family)
  const parents = RangeSet.fromRanges(ofFamily.map(Range.fromPrefix))
  const excluded = RangeSet.fromRanges(exclusions)
  const available = RangeSet.subtract(parents, RangeSet.fromRanges(exclusions.flatMap(inBothForms)))
  return { space: { parents, excluded, available, childLength, gateway }, problems, isUnsafe }
}

/** Of entries of both families, those of IPv4 are served, unless the length is one of IPv6 only. */
function servedFamily(families: readonly Family[], length: number): Family | undefined {
  const [has4, has6] = [families.includes(4), families.includes(6)]
  if (has4 && (!has6 || length <= Address.bitsOf(4))) return 4
  return has6 ? 6 : undefined
}

/** Whether one of the exclusions is of a family of which a pool has no entry. */
function isOfOther(exclusions: readonly Range.Range[], entries: readonly Range.Range[]): boolean {
  const families = new Set(entries.map(({ first }) => first.family))
  return families.size > 0 && exclusions.some(({ first }) => !families.has(first.family))
}

/** A range, and the other form of its addresses if they have two: IPv4, and IPv4 within IPv6. */
export function inBothForms(range: Range.Range): readonly Range.Range[] {
  const [first, last] = [range.first, range.last].map((address) =>
    address.family === 4 ? Address.toMapped(address) : Address.unmap(address),
  ) as [Address, Address]
  const hasBoth = first.family !== range.first.family && last.family === first.family
  return hasBoth ? [range, Range.of(first, last)] : [range]
}

function strictly<S>({ space, problems }: SpaceReading<S>): Result<S, 'INVALID_POOL_SPEC'> {
  return space === undefined || problems.length > 0
    ? failWith(INVALID_POOL_SPEC, { problems })
    : { ok: true, value: space }
}

/** Whether a prefix is one that the pool may hand out, in use or not. O(log n). */
export function isAllocatablePrefix(space: PrefixSpace, prefix: Prefix): boolean {
  check('isAllocatablePrefix', 'space', space, [
    'open',
    {
      parents: 'object',
      excluded: 'object',
      available: 'object',
      childLength: 'number',
    },
  ])
  assertPrefix('isAllocatablePrefix', 'prefix', prefix)

  return prefix.length === space.childLength && RangeSet.contains(space.available, Range.fromPrefix(prefix))
}

/**
 * The prefix that an IPAddress of a prefix pool stands for, with host bits cleared; `undefined` if
 * its address or its prefix does not parse.
 */
export function prefixOf(spec: Pick<IPAddressSpec, 'address' | 'prefix'>): Prefix | undefined {
  check('prefixOf', 'spec', spec, ['open', { address: 'text' }])

  const address = Address.safeParse(spec.address)
  if (!address.ok || spec.prefix === undefined) return undefined
  if (!Number.isInteger(spec.prefix) || spec.prefix < 0 || spec.prefix > Address.bitsOf(address.value.family))
    return undefined
  return Prefix.masked(Prefix.of(address.value, spec.prefix))
}

/** The length of the prefixes that a prefix pool hands out: 64 where the spec says 0 or nothing. */
export function effectivePrefixLength(spec: InClusterPrefixPoolSpec): number {
  return spec.allocationPrefixLength === undefined || spec.allocationPrefixLength === 0
    ? DEFAULT_ALLOCATION_PREFIX_LENGTH
    : spec.allocationPrefixLength
}

/**
 * A count as a field of a status: exact up to 2^53, and never more than a 64-bit integer takes. Go
 * clients refuse a number beyond that, and 2^63 - 1 itself is none that JavaScript can write.
 */
export function clampCount(count: bigint): number {
  return Number(count > MAX_COUNT ? MAX_COUNT : count)
}

function subnetEdges(subnet: Prefix): RangeSet {
  const first = Prefix.first(subnet)
  return RangeSet.fromAddresses(first.family === 4 ? [first, Prefix.last(subnet)] : [first])
}

function readEntries(path: string, entries: readonly string[], problems: string[]): readonly Range.Range[] {
  return entries.flatMap((entry) => {
    const read = RangeSet.safeParseEntry(entry, { zone: 'drop' })
    if (read.ok) return [read.value]
    problems.push(`${path}: ${JSON.stringify(entry.slice(0, 64))} is not a valid IP, range, nor CIDR`)
    return []
  })
}

function readGateway(gateway: string | undefined, problems: string[]): Address | undefined {
  if (gateway === undefined || gateway === '') return undefined
  const address = Address.safeParse(gateway, { zone: 'drop' })
  if (address.ok) return address.value
  problems.push(`spec.gateway: ${JSON.stringify(gateway.slice(0, 64))} is not a valid IP`)
  return undefined
}

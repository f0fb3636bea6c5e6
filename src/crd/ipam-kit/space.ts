import { type ReserveRule, subnetEdges } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Range from '../../cidr/nouns/range.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check, type KindOf } from '../../errors/check.js'
import { INVALID_POOL_SPEC } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import { type FieldError, formatFieldError, invalidField } from '../meta/field-error.js'
import { isName } from './block-name.js'
import type { FamilyGridPreferences } from './grid.js'
import type { IPPoolSpec, IPPoolSubnet } from './ip-pool.js'
import { MAX_SECONDS, MAX_SUBNET_TEXTS, MAX_SUBNETS } from './names.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/**
 * The addresses of a pool. In a pool of prefixes, the first two sets contain whole units only: the
 * pool does not allocate a unit that is partly outside of it or partly excluded.
 *
 *     ranges      |#########################|
 *     exclude           |####|
 *     reserved                  |###|
 *     given       |#####|    |##|   |#######|
 */
export interface PoolSpace {
  /** Addresses for any claim: ranges - exclude - edges - gateways - reserved. */
  readonly given: RangeSet
  /**
   * Addresses for a claim that requests exactly this address: the units that contain a reserved
   * address. None of them is in `given`.
   */
  readonly reserved: RangeSet
  /** Addresses for no claim, within the ranges or not: exclude + edges + gateways. */
  readonly kept: RangeSet
  /** The longest first: `subnetOf` finds the one of an address. */
  readonly subnets: readonly PoolSubnet[]
}

/** A network of a pool, and its gateway. */
export interface PoolSubnet {
  readonly prefix: Prefix
  /** Of IPv6 it may be link-local, and outside of the prefix. */
  readonly gateway: Address | undefined
}

/**
 * The lengths of units: the spec of the domain of a pool, or of the pool itself. Only
 * `allocationPrefixLength` matters.
 */
export interface PoolGrids {
  readonly ipv4?: FamilyGridPreferences | undefined
  readonly ipv6?: FamilyGridPreferences | undefined
}

const TEXTS = ['list?', 'text'] as const

const SPEC: KindOf<IPPoolSpec> = [
  'open',
  {
    domain: 'text',
    subnets: ['list', ['open', { cidr: 'text', ranges: TEXTS, exclude: TEXTS, reserved: TEXTS, gateway: 'text?' }]],
    skipEdges: ['one', { auto: 1, always: 1, never: 1 }],
    sticky: 'object?',
  },
]

/**
 * The sets of addresses of a pool. Subnets may overlap: what one subnet excludes or reserves is
 * excluded or reserved for the whole pool. `grids` is the spec of the {@link IPDomain}. Without it,
 * a pool that names no lengths is a pool of addresses. O(n log n).
 *
 * @returns `INVALID_POOL_SPEC` with every problem and the field that has it: what does not parse,
 *   has host bits, is IPv4 within IPv6, or is not of its subnet; the same subnet twice; none at
 *   all, or more than 256; more than 256 texts in a list; seconds that are out of range
 * @example
 * import { RangeSet } from 'ipam-kit/cidr'
 * const subnets = [{ cidr: '10.0.0.0/28', exclude: ['10.0.0.8/29'], reserved: ['10.0.0.5'], gateway: '10.0.0.1' }]
 * const pool = IPPool.parse({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPPool', metadata: { name: 'blue' }, spec: { subnets } })
 * const space = poolSpace(pool.spec)
 * space.ok && RangeSet.format(space.value.given) // ['10.0.0.2-10.0.0.4', '10.0.0.6-10.0.0.7']
 */
export function poolSpace(spec: IPPoolSpec, grids: PoolGrids = spec): Result<PoolSpace, 'INVALID_POOL_SPEC'> {
  check('poolSpace', 'spec', spec, SPEC)
  check('poolSpace', 'grids', grids, 'object')

  const { space, errors } = readPoolSpace(spec, grids)
  return errors.length === 0
    ? { ok: true, value: space }
    : failWith(INVALID_POOL_SPEC, { problems: errors.map(formatFieldError) })
}

/**
 * The subnet that an address is of: the longest one that has it. `undefined` for what is of none.
 * O(subnets).
 */
export function subnetOf({ subnets }: PoolSpace, address: Address): PoolSubnet | undefined {
  return subnets.find(({ prefix }) => Prefix.contains(prefix, address))
}

/** The space of what of a spec is right, and what is wrong with the rest. */
export interface PoolReading {
  readonly space: PoolSpace
  readonly errors: readonly FieldError[]
  /**
   * Whether the pool gives nothing: what all of it needs is wrong, no subnet is right, or it is
   * unknown in which subnet something is kept back.
   */
  readonly isUnsafe: boolean
}

/**
 * The addresses that the right parts of a spec give. A subnet gives nothing if something that it
 * keeps back cannot be read: an exclusion, a reserved address, or its gateway. What a wrong subnet
 * keeps back, the others do not give either.
 */
export function readPoolSpace(spec: IPPoolSpec, grids: PoolGrids): PoolReading {
  const errors: FieldError[] = []
  if (!isName(spec.domain)) errors.push(invalidField('spec.domain', shown(spec.domain), 'is not the name of a domain'))
  const { reuseAfterSeconds, sticky } = spec
  errors.push(...secondsErrors('spec.reuseAfterSeconds', reuseAfterSeconds, 0))
  if (sticky !== undefined) errors.push(...secondsErrors('spec.sticky.forSeconds', sticky.forSeconds, 1))
  const lengths = { 4: unitLength(4, grids.ipv4, errors), 6: unitLength(6, grids.ipv6, errors) }
  const isWrong = errors.length > 0
  const { subnets, isUnknown } = readSubnets(spec.subnets, errors)
  const union = (part: 'ranges' | 'exclude' | 'reserved') =>
    RangeSet.fromRanges(subnets.flatMap((subnet) => subnet[part]))
  // in a pool of prefixes, the first and the last one are usable
  const withHosts = subnets.flatMap(({ prefix }) =>
    lengths[prefix.address.family] === Address.bitsOf(prefix.address.family) ? [prefix] : [],
  )
  const edges = subnetEdges(withHosts, EDGES[spec.skipEdges])
  const gateways = subnets.flatMap(({ prefix, gateway }) =>
    gateway !== undefined && Prefix.contains(prefix, gateway) ? [gateway] : [],
  )
  const kept = RangeSet.union(RangeSet.union(union('exclude'), edges), RangeSet.fromAddresses(gateways))
  const usable = RangeSet.subtract(union('ranges'), kept)
  const given = wholeUnits(RangeSet.subtract(usable, union('reserved')), lengths)
  const reserved = RangeSet.subtract(wholeUnits(usable, lengths), given)
  const served = subnets.filter(({ isServed }) => isServed)
  const longestFirst = served
    .map(({ prefix, gateway }) => ({ prefix, gateway }))
    .sort((a, b) => b.prefix.length - a.prefix.length || Prefix.compare(a.prefix, b.prefix))
  const isUnsafe = isWrong || isUnknown || served.length === 0
  return { space: { given, reserved, kept, subnets: longestFirst }, errors, isUnsafe }
}

function secondsErrors(path: string, value: number, least: number): readonly FieldError[] {
  if (Number.isInteger(value) && value >= least && value <= MAX_SECONDS) return []
  return [invalidField(path, value, `is not from ${least} to ${MAX_SECONDS}`)]
}

const NONE = { first: 0, last: 0 }
const BOTH = { first: 1, last: 1 }
const EDGES: { readonly [Skip in IPPoolSpec['skipEdges']]: ReserveRule } = {
  auto: { v4: BOTH, v6: BOTH, pointToPoint: 'usable' },
  always: { v4: BOTH, v6: BOTH, pointToPoint: 'reserved' },
  never: { v4: NONE, v6: NONE, pointToPoint: 'usable' },
}

function unitLength(family: 4 | 6, grid: FamilyGridPreferences | undefined, errors: FieldError[]): number {
  const bits = Address.bitsOf(family)
  const length = grid?.allocationPrefixLength ?? bits
  if (Number.isInteger(length) && length >= 1 && length <= bits) return length
  errors.push(invalidField(`spec.ipv${family}.allocationPrefixLength`, length, `is not from 1 to ${bits}`))
  return bits
}

/** The whole units of a set: each range without the parts of units at its ends. */
function wholeUnits(set: RangeSet, lengths: { readonly 4: number; readonly 6: number }): RangeSet {
  if (lengths[4] === 32 && lengths[6] === 128) return set
  return RangeSet.fromRanges(
    RangeSet.ranges(set).flatMap((range) => {
      const length = lengths[range.first.family]
      const lowest = Prefix.of(range.first, length)
      const highest = Prefix.of(range.last, length)
      const first = Address.equals(Prefix.first(lowest), range.first) ? range.first : Address.next(Prefix.last(lowest))
      const last = Address.equals(Prefix.last(highest), range.last)
        ? range.last
        : Address.previous(Prefix.first(highest))
      return first === undefined || last === undefined || Address.compare(first, last) > 0 ? [] : [{ first, last }]
    }),
  )
}

interface Subnet extends PoolSubnet {
  /** Whether it is a subnet of the pool: else it only keeps back. */
  readonly isServed: boolean
  readonly ranges: readonly Range.Range[]
  readonly exclude: readonly Range.Range[]
  readonly reserved: readonly Range.Range[]
}

interface Subnets {
  readonly subnets: readonly Subnet[]
  /** Whether something is kept back that cannot be read, in a subnet that cannot be read. */
  readonly isUnknown: boolean
}

function readSubnets(list: readonly IPPoolSubnet[], errors: FieldError[]): Subnets {
  if (list.length === 0) errors.push(invalidField('spec.subnets', 0, 'a pool has at least one subnet'))
  if (list.length > MAX_SUBNETS) {
    errors.push(invalidField('spec.subnets', list.length, `a pool has at most ${MAX_SUBNETS} subnets`))
    return { subnets: [], isUnknown: true }
  }
  const indexes = new Map<string, number>()
  let isUnknown = false
  const subnets = list.flatMap((subnet, index) => {
    const path = `spec.subnets[${index}]`
    const prefix = readCidr(`${path}.cidr`, subnet.cidr, errors)
    if (prefix === undefined) {
      const wrong = keptBy(subnet)
      if (wrong === undefined) isUnknown = true
      return wrong ?? []
    }
    const text = Prefix.format(prefix)
    const former = indexes.get(text)
    if (former !== undefined) {
      errors.push(invalidField(`${path}.cidr`, shown(subnet.cidr), `is the subnet of spec.subnets[${former}] again`))
      return keptBy(subnet) ?? []
    }
    indexes.set(text, index)
    return [readSubnet(path, subnet, prefix, errors)]
  })
  return { subnets, isUnknown }
}

function readSubnet(path: string, subnet: IPPoolSubnet, prefix: Prefix, errors: FieldError[]): Subnet {
  const read = (part: 'ranges' | 'exclude' | 'reserved') =>
    readEntries(`${path}.${part}`, subnet[part] ?? [], prefix, errors)
  const ranges = subnet.ranges === undefined ? [Range.fromPrefix(prefix)] : read('ranges')
  if (subnet.ranges?.length === 0) {
    // a client may drop an empty list, and the empty subnet would become the whole subnet
    errors.push(invalidField(`${path}.ranges`, 0, 'is empty: leave it out for the whole subnet'))
  }
  const before = errors.length
  const gateway = readGateway(`${path}.gateway`, subnet.gateway, prefix, errors)
  const exclude = read('exclude')
  const reserved = read('reserved')
  const parts = { prefix, gateway, ranges, exclude, reserved, isServed: true }
  if (errors.length === before) return parts
  return { ...parts, exclude: [...(keptBy(subnet)?.exclude ?? []), Range.fromPrefix(prefix)] }
}

/**
 * What a subnet that gives nothing keeps back from the others: all of it, if some of that cannot be
 * read. `undefined` if its CIDR cannot be read either.
 */
function keptBy(subnet: IPPoolSubnet): Subnet | undefined {
  const { gateway = '', exclude = [], reserved = [] } = subnet
  const texts = [...exclude, ...reserved, ...(gateway === '' ? [] : [gateway])]
  const entries = texts.map((text) => RangeSet.safeParseEntry(text))
  const read = Prefix.safeParse(subnet.cidr)
  const isRead = entries.every(({ ok }) => ok)
  if (!read.ok && !isRead) return undefined
  const ranges = entries.flatMap((entry) => (entry.ok ? [entry.value] : []))
  // what is kept back of a text that is no CIDR has no subnet, and needs none
  const prefix = read.ok ? Prefix.masked(read.value) : Prefix.of(Address.parse('::'), 128)
  const whole = read.ok && !isRead ? [Range.fromPrefix(prefix)] : []
  return { prefix, gateway: undefined, ranges: [], exclude: [...ranges, ...whole], reserved: [], isServed: false }
}

function readCidr(path: string, text: string, errors: FieldError[]): Prefix | undefined {
  const prefix = Prefix.safeParse(text)
  if (prefix.ok && Prefix.safeParse(text, { profile: 'k8s-field' }).ok) return prefix.value
  const hasHostBits = prefix.ok && !Prefix.equals(Prefix.masked(prefix.value), prefix.value)
  const problem = !prefix.ok ? 'is not a CIDR' : hasHostBits ? 'has host bits' : 'is IPv4 within IPv6'
  errors.push(invalidField(path, shown(text), problem))
  return undefined
}

function readEntries(path: string, texts: readonly string[], prefix: Prefix, errors: FieldError[]): Range.Range[] {
  if (texts.length > MAX_SUBNET_TEXTS) {
    errors.push(invalidField(path, texts.length, `a list has at most ${MAX_SUBNET_TEXTS} texts`))
    return []
  }
  const subnet = Range.fromPrefix(prefix)
  return texts.flatMap((text, index) => {
    const entry = RangeSet.safeParseEntry(text, { profile: 'k8s-field' })
    if (entry.ok && Range.contains(subnet, entry.value)) return [entry.value]
    const within = `is not within ${Prefix.format(prefix)}`
    const problem = entry.ok ? within : 'is not an address, a range or a CIDR without host bits'
    errors.push(invalidField(`${path}[${index}]`, shown(text), problem))
    return []
  })
}

function readGateway(
  path: string,
  text: string | undefined,
  prefix: Prefix,
  errors: FieldError[],
): Address | undefined {
  if (text === undefined) return undefined
  const gateway = Address.safeParse(text, { profile: 'k8s-field' })
  const problem = gateway.ok ? gatewayProblem(gateway.value, prefix) : 'is not an address'
  if (gateway.ok && problem === undefined) return gateway.value
  errors.push(invalidField(path, shown(text), problem ?? ''))
  return undefined
}

function gatewayProblem(gateway: Address, prefix: Prefix): string | undefined {
  if (gateway.family === 6 && prefix.address.family === 6 && gateway.w0 >>> 22 === LINK_LOCAL) return undefined
  if (Prefix.contains(prefix, gateway)) return undefined
  return `is not within ${Prefix.format(prefix)}${prefix.address.family === 6 ? ' nor link-local' : ''}`
}

/** The first ten bits of fe80::/10. */
const LINK_LOCAL = 0xfe80 >>> 6

/** A text of the spec, shortened for an error message. */
function shown(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}...` : text
}

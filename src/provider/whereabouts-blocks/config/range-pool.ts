import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as Range from '../../../cidr/nouns/range.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { isName } from '../../../crd/ipam-kit/block-name.js'
import type { IPPool, IPPoolSpec } from '../../../crd/ipam-kit/ip-pool.js'
import { API_VERSION, MAX_BLOCK_SIZE, MAX_NAME_LENGTH } from '../../../crd/ipam-kit/names.js'
import { poolSpace } from '../../../crd/ipam-kit/space.js'
import { allocatableRange, rangeSpace } from '../../whereabouts/choose/space.js'
import { parseNodeSliceSize } from '../../whereabouts/config/node-slice-size.js'
import type { WhereaboutsConfig, WhereaboutsRange } from '../../whereabouts/config/types.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** The pool of a range. Several networks may have one pool. */
export interface RangePool {
  readonly name: string
  /** Where an address of it is unique. */
  readonly domain: string
  /** `network_name`, or empty. */
  readonly network: string
  /** Whether its addresses are unique in its CIDR only. */
  readonly isOwn: boolean
  readonly prefix: Prefix
  /** The bounds, if they are not those of the prefix. */
  readonly bounds: Range.Range | undefined
  /** What the range excludes between its bounds. */
  readonly excludes: RangeSet
  /** The static addresses in the prefix, with their gateways. */
  readonly statics: RangeSet
  readonly gateway: Address | undefined
  /** The prefix length of the slice of a Node. */
  readonly sliceLength: number | undefined
  /** Why there can be no such pool. */
  readonly problem: string | undefined
}

/** The pools of the ranges, in their order. O(excludes x log excludes). */
export function rangePoolsOf(config: WhereaboutsConfig): readonly RangePool[] {
  return config.ranges.map((range) => rangePoolOf(range, config))
}

function rangePoolOf(range: WhereaboutsRange, config: WhereaboutsConfig): RangePool {
  const { prefix } = range
  const sliceLength = config.nodeSliceSize === undefined ? undefined : parseNodeSliceSize(config.nodeSliceSize)
  const [all, interior] = [allocatableRange(range), Prefix.interior(prefix)]
  const isWhole = all === undefined || interior === undefined || Range.equals(all, interior)
  const bounds = isWhole ? undefined : all
  const gateway = config.gateway?.family === prefix.address.family ? config.gateway : undefined
  const statics = config.addresses.flatMap((one) => [one.prefix.address, ...(one.gateway ? [one.gateway] : [])])
  const names = namesOf(prefix, bounds, { ...config, sliceLength })
  const space = rangeSpace(range, [])
  const excludes =
    space.kind === 'space'
      ? RangeSet.subtract(RangeSet.fromRanges([space.range]), space.addresses)
      : RangeSet.fromAddresses([])
  const pool: RangePool = {
    ...names,
    network: config.networkName ?? '',
    isOwn: !config.overlappingRanges,
    prefix,
    bounds,
    excludes,
    statics: RangeSet.fromAddresses(statics.filter((address) => Prefix.contains(prefix, address))),
    gateway: gateway !== undefined && isGatewayOf(gateway, prefix) ? gateway : undefined,
    sliceLength,
    problem: undefined,
  }
  return { ...pool, problem: problemOf(pool, space, config) }
}

function problemOf(
  pool: RangePool,
  space: ReturnType<typeof rangeSpace>,
  { nodeSliceSize }: WhereaboutsConfig,
): string | undefined {
  const cidr = Prefix.format(pool.prefix)
  if (!isName(pool.name) || !isName(pool.domain)) {
    return `the pool of ${cidr} would have a name that is invalid or longer than ${MAX_NAME_LENGTH} characters: ${pool.name}`
  }
  if (space.kind === 'tooSmall') return `${cidr} has no address between its first and its last one`
  if (space.kind === 'badExclude') return `exclude ${space.exclude} cannot be read`
  if (nodeSliceSize !== undefined && pool.sliceLength === undefined) return 'node_slice_size is not a prefix length'
  const { spec } = ipPoolOfRange(pool)
  const read = poolSpace(spec)
  return read.ok ? undefined : read.failure.message
}

/** An IPPool of IPv6 may have a link-local gateway. */
function isGatewayOf(gateway: Address, prefix: Prefix): boolean {
  return Prefix.contains(prefix, gateway) || (gateway.family === 6 && gateway.w0 >>> 22 === 0xfe80 >>> 6)
}

const FIRST = 'whereabouts'

/**
 * The names of the pool and of its domain. The parts come in this order, so that no two pools have
 * one name:
 *
 *     whereabouts.10.0.0.0-24.from-10-0-0-9.to-10-0-0-99.own.slices-26.net.blue
 *
 * - `from`, `to`: the bounds. Networks may divide a CIDR among them by bounds
 * - `own`: without `enable_overlapping_ranges`, a domain for this CIDR alone
 * - `slices`: blocks of Nodes. A domain has blocks of one length
 * - `net`: `network_name`
 */
function namesOf(
  prefix: Prefix,
  bounds: Range.Range | undefined,
  {
    overlappingRanges,
    sliceLength,
    networkName,
  }: Pick<WhereaboutsConfig, 'overlappingRanges' | 'networkName'> & { readonly sliceLength: number | undefined },
): Pick<RangePool, 'name' | 'domain'> {
  const range = leading(Prefix.format(prefix)).replace(/[:/]/gu, '-')
  const interior = Prefix.interior(prefix)
  const [from, to] = [bounds?.first, bounds?.last]
  const rest = [
    ...(sliceLength === undefined ? [] : [`slices-${sliceLength}`]),
    ...(networkName === undefined ? [] : ['net', networkName]),
  ]
  const own = overlappingRanges ? [] : ['own']
  const name = [
    FIRST,
    range,
    ...(from === undefined || isSame(from, interior?.first) ? [] : [`from-${label(from)}`]),
    ...(to === undefined || isSame(to, interior?.last) ? [] : [`to-${label(to)}`]),
    ...own,
    ...rest,
  ]
  const domain = overlappingRanges ? [FIRST, ...rest] : [FIRST, range, ...own, ...rest]
  return { name: name.join('.'), domain: domain.join('.') }
}

function isSame(left: Address, right: Address | undefined): boolean {
  return right !== undefined && Address.equals(left, right)
}

/** A label of a name begins and ends with a letter or a digit. */
function label(address: Address): string {
  const text = leading(Address.format(address))
  return (text.endsWith(':') ? `${text}0` : text).replace(/[.:]/gu, '-')
}

function leading(text: string): string {
  return text.startsWith(':') ? `0${text}` : text
}

/** The label of a Namespace that has its name. */
export const NAMESPACE_LABEL = 'kubernetes.io/metadata.name'

/**
 * The IPPool of a range.
 *
 * @param namespaces whose Pods may use it; `undefined`: those of all
 */
export function ipPoolOfRange(pool: RangePool, namespaces?: readonly string[]): IPPool {
  const { name, domain, prefix, bounds, excludes, statics, gateway } = pool
  const exclude = rangeTexts(RangeSet.union(excludes, statics))
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name },
    spec: {
      domain,
      subnets: [
        {
          cidr: Prefix.format(prefix),
          ...(bounds && { ranges: [rangeText(bounds)] }),
          ...(exclude.length > 0 && { exclude }),
          ...(gateway && { gateway: Address.format(gateway) }),
        },
      ],
      ...ofNodes(pool),
      skipEdges: 'auto',
      order: 'lowest',
      reuseAfterSeconds: 0,
      ...selectorOf(namespaces),
      priority: 0,
      disabled: false,
    },
  }
}

/** The texts of a set: an address, or `first-last`. */
export function rangeTexts(set: RangeSet): readonly string[] {
  return [...RangeSet.ranges(set)].map(rangeText)
}

function rangeText(range: Range.Range): string {
  return Address.equals(range.first, range.last) ? Address.format(range.first) : Range.format(range)
}

function selectorOf(namespaces: readonly string[] | undefined): Pick<IPPoolSpec, 'namespaceSelector'> {
  if (namespaces === undefined) return {}
  const [only, ...others] = namespaces
  if (only !== undefined && others.length === 0) {
    return { namespaceSelector: { matchLabels: { [NAMESPACE_LABEL]: only } } }
  }
  const values = [...namespaces].sort()
  return { namespaceSelector: { matchExpressions: [{ key: NAMESPACE_LABEL, operator: 'In', values }] } }
}

/** A block has at most 1,024 addresses: a larger slice is several blocks. */
const MOST_BITS = Math.log2(MAX_BLOCK_SIZE)
const MOST_BLOCKS = 2 ** 31 - 1

/** The blocks of Nodes: a Node has one slice, and takes no address of the slice of another. */
function ofNodes({ prefix, sliceLength }: RangePool): Partial<Pick<IPPoolSpec, 'ipv4' | 'ipv6' | 'affinity'>> {
  if (sliceLength === undefined) return {}
  const { family } = prefix.address
  const blockPrefixLength = Math.max(sliceLength, Address.bitsOf(family) - MOST_BITS)
  const maxBlocksPerNode = 2 ** (blockPrefixLength - sliceLength)
  return {
    [family === 4 ? 'ipv4' : 'ipv6']: { blockPrefixLength },
    affinity: { by: 'node', borrow: false, ...(maxBlocksPerNode <= MOST_BLOCKS && { maxBlocksPerNode }) },
  }
}

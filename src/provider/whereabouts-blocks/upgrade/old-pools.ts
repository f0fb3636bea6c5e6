import * as Prefix from '../../../cidr/nouns/prefix.js'
import { asObject } from '../../../crd/meta/json.js'
import { isDeleting, type KubeObject } from '../../../crd/meta/object.js'
import { IPPool, type PoolRows, poolName, poolNamePrefix, readRows } from '../../../crd/whereabouts/index.js'
import type { WhereaboutsConfig } from '../../whereabouts/config/types.js'
import { type RangePool, rangePoolsOf } from '../config/range-pool.js'
import type { UpgradeOddity } from './report.js'

/** A range of a network, with the name of its pool of whereabouts. */
interface NamedRange {
  /** Left out: each Node has a pool of its own. */
  readonly pool: string | undefined
  readonly range: RangePool
}

/** A pool of whereabouts, with the ranges of all networks that it serves. */
export interface OldPool {
  readonly object: KubeObject
  /** Left out: the object cannot be read. */
  readonly read: PoolRows | undefined
  /** Without node slices, each name once. */
  readonly ranges: readonly RangePool[]
  /** Why the pool as a whole cannot be upgraded. */
  readonly oddities: readonly UpgradeOddity[]
}

/** The pools with what their networks make of them. O(pools x ranges). */
export function oldPools(networks: readonly WhereaboutsConfig[], objects: readonly KubeObject[]): readonly OldPool[] {
  const ranges = networks.flatMap(namedRanges)
  const pools = objects.map((object) => oldPool(object, ranges))
  return pools.map((pool) => ({ ...pool, oddities: [...pool.oddities, ...overlaps(pool, pools, ranges)] }))
}

function namedRanges(config: WhereaboutsConfig): readonly NamedRange[] {
  return rangePoolsOf(config).map((range) => {
    if (config.nodeSliceSize !== undefined) return { pool: undefined, range }
    const name = poolName({ range: Prefix.format(range.prefix), networkName: config.networkName })
    // a network whose pool has no name that an API server accepts has no pool
    return { pool: name.ok ? name.value : undefined, range }
  })
}

function oldPool(object: KubeObject, named: readonly NamedRange[]): OldPool {
  const { name } = object.metadata
  const parsed = IPPool.safeParse(object)
  if (!parsed.ok) {
    return { object, read: undefined, ranges: [], oddities: [obstacle('pool-unreadable', 'the object is no IPPool')] }
  }
  const { spec } = parsed.value
  // the model leaves out a row with the key __proto__
  const allocations = asObject(asObject(object.spec)?.allocations) ?? {}
  const read = readRows({ spec: { ...spec, allocations } })
  const oddities: UpgradeOddity[] = []
  if (isDeleting(object)) oddities.push(obstacle('pool-terminating', 'the pool is being deleted'))
  const own = named.filter(({ pool }) => pool === name).map(({ range }) => range)
  const ranges = [...new Map(own.map((range) => [range.name, range])).values()]
  if (read.range === undefined) return { object, read, ranges, oddities }
  const masked = Prefix.masked(read.range)
  const [first] = ranges
  if (first === undefined) oddities.push(withoutNetwork(name, masked, named))
  else if (!Prefix.equals(first.prefix, masked)) {
    oddities.push(obstacle('range', `its networks have ${Prefix.format(first.prefix)}, and it has ${spec.range}`))
  }
  const domains = [...new Set(ranges.map(({ domain }) => domain))]
  if (domains.length > 1) {
    oddities.push(obstacle('domains', `its networks would have its addresses in the domains ${domains.join(' and ')}`))
  }
  const problem = ranges.find((range) => range.problem !== undefined)?.problem
  if (problem !== undefined) oddities.push(obstacle('target', problem))
  return { object, read, ranges, oddities }
}

function withoutNetwork(name: string, range: Prefix.Prefix, named: readonly NamedRange[]): UpgradeOddity {
  const isSlice = named.some(
    ({ pool, range: { sliceLength, prefix } }) =>
      pool === undefined &&
      sliceLength !== undefined &&
      Prefix.contains(prefix, range) &&
      poolNamePrefix(name, Prefix.format(range)),
  )
  return isSlice
    ? obstacle('pool-sliced', 'it is the slice of a Node, and node slices cannot be upgraded')
    : obstacle('pool-unnamed', 'no network has its range')
}

/**
 * Other pools with addresses of this pool. While one of them is upgraded and the other is not,
 * nothing keeps both from giving an address.
 */
function overlaps(
  { object, ranges, read }: OldPool,
  pools: readonly OldPool[],
  named: readonly NamedRange[],
): readonly UpgradeOddity[] {
  const [own] = ranges
  if (own === undefined || read?.range === undefined || ranges.every(({ isOwn }) => isOwn)) return []
  const { name } = object.metadata
  const range = named.find(
    (other) =>
      other.pool !== name &&
      !other.range.isOwn &&
      other.range.network === own.network &&
      Prefix.overlaps(other.range.prefix, own.prefix),
  )
  if (range !== undefined) {
    return [obstacle('overlap', `a network has the range ${Prefix.format(range.range.prefix)}, which overlaps it`)]
  }
  const left = pools.find(
    (other) =>
      other.object !== object &&
      other.ranges.length === 0 &&
      other.read?.range !== undefined &&
      other.read.rows.length > 0 &&
      Prefix.overlaps(Prefix.masked(other.read.range), own.prefix),
  )
  if (left === undefined) return []
  return [obstacle('overlap', `IPPool ${left.object.metadata.name} has rows, no network, and a range that overlaps it`)]
}

export function obstacle(
  kind: UpgradeOddity['kind'],
  problem: string,
  of: Pick<UpgradeOddity, 'key' | 'address'> = {},
): UpgradeOddity {
  return { kind, isObstacle: true, ...of, problem }
}

import type { Address } from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { hasFamily, PoolView } from '../../blocks/pool/pool-view.js'
import type { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { allocatableRange } from '../../whereabouts/choose/space.js'
import type { BlockNetwork } from '../config/network.js'
import { type RangePool, rangePoolsOf, rangeTexts } from '../config/range-pool.js'

/** One source of addresses of a network: the pool of a range, or a pool that is named. */
export interface Place {
  readonly pool: string
  /** Left out: the configuration names the pool. */
  readonly range?: RangePool | undefined
}

export function placesOf({ config, pools }: BlockNetwork): readonly Place[] {
  if (pools.length > 0) return pools.map((pool) => ({ pool }))
  return rangePoolsOf(config).map((range) => ({ pool: range.name, range }))
}

/** The families of which a place gives one address each. */
export function familiesOf({ range }: Place, view: PoolView): readonly (4 | 6)[] {
  if (range !== undefined) return [range.prefix.address.family]
  return ([4, 6] as const).filter((family) => hasFamily(view.object, family))
}

/** Whether an address lies in a subnet of a place. */
export function isOf({ range }: Place, view: PoolView, address: Address): boolean {
  if (range !== undefined) return Prefix.contains(range.prefix, address)
  return view.space?.subnets.some(({ prefix }) => Prefix.contains(prefix, address)) === true
}

/**
 * Why a pool cannot give addresses to its network: it does not exist, or it gives addresses that
 * the configuration does not. `undefined`: it can, as far as this shows. O(n log n), n excludes.
 */
export function placeProblem({ pool, range }: Place, known: KnownBlocks): string | undefined {
  const view = known.pool(pool)
  if (!(view instanceof PoolView)) {
    return typeof view === 'object' ? `IPPool ${pool}: ${view.unreadable}` : `there is no IPPool ${pool}`
  }
  if (range === undefined || view.space === undefined) return undefined
  const { domain } = view.object.spec
  if (domain !== range.domain) return `IPPool ${pool} is in the domain ${domain}, not in ${range.domain}`
  const more = RangeSet.subtract(view.space.given, givenBy(range))
  if (RangeSet.isEmpty(more)) return undefined
  return `IPPool ${pool} gives ${rangeTexts(more)[0]}, which the configuration does not`
}

/** Of static addresses some are those of one Pod: the pool does not know them. */
export function givenBy({ prefix, bounds, excludes, gateway }: RangePool): RangeSet.RangeSet {
  const range = bounds ?? allocatableRange({ prefix })
  const all = range === undefined ? RangeSet.fromRanges([]) : RangeSet.fromRanges([range])
  const without = gateway === undefined ? excludes : RangeSet.union(excludes, RangeSet.fromAddresses([gateway]))
  return RangeSet.subtract(all, without)
}

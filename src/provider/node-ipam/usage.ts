import type { LedgerEntry } from '../../allocator/index.js'
import { Prefix, RangeSet } from '../../cidr/index.js'
import { formatRef } from '../../crd/meta/object.js'
import { ClusterCIDR } from '../../crd/node-ipam/index.js'
import type { PoolUsage } from '../../plan/holdings.js'
import type { NodeIPAMContext } from './context.js'
import type { SubnetSpace } from './range.js'

/** A range by the name of its pool, and what it divides. */
interface NamedSpaces {
  readonly pool: string
  readonly spaces: readonly SubnetSpace[]
  /** A range that is being deleted gives no subnets. */
  readonly isGiving: boolean
}

/**
 * How many subnets of each range are in use. A subnet of which a part is in use counts. O(e log e)
 * in the entries that overlap the ranges.
 */
export function usageOf(context: NodeIPAMContext): readonly PoolUsage[] {
  return rangesOf(context).flatMap(({ pool, spaces, isGiving }) =>
    ([4, 6] as const).flatMap((family) => {
      const own = spaces.filter(({ prefix }) => prefix.address.family === family)
      if (own.length === 0) return []
      const counts = own.map((space) => countsOf(space, context))
      const sum = (of: (each: Counts) => bigint) => counts.reduce((all, each) => all + of(each), 0n)
      const capacity = isGiving ? { total: sum(({ total }) => total), free: sum(({ free }) => free) } : NOTHING
      return [{ pool, family, used: sum(({ used }) => used), ...capacity }]
    }),
  )
}

const NOTHING = { total: undefined, free: undefined }

interface Counts {
  readonly total: bigint
  readonly free: bigint
  readonly used: bigint
}

function rangesOf({ cache, state }: NodeIPAMContext): readonly NamedSpaces[] {
  const { range } = state
  if (range !== undefined) return [{ pool: range.name, spaces: range.spaces, isGiving: true }]
  return [...(cache.ranges ?? [])].flatMap(({ object, read }) => {
    if (!read.ok) return []
    const pool = formatRef({ kind: ClusterCIDR.info.kind, name: object.metadata.name })
    return [{ pool, spaces: read.value.spaces, isGiving: object.metadata.deletionTimestamp === undefined }]
  })
}

function countsOf({ prefix, within, length }: SubnetSpace, { holdings }: NodeIPAMContext): Counts {
  const total = 1n << BigInt(length - prefix.length)
  const size = Prefix.size(prefix) / total
  const entries = holdings.ledger().holders(prefix)
  const subnetsOf = (taken: readonly LedgerEntry[]) => {
    const subnets = taken.map((entry) =>
      entry.prefix.length > length ? Prefix.masked({ ...entry.prefix, length }) : entry.prefix,
    )
    return RangeSet.size(RangeSet.intersect(RangeSet.fromPrefixes(subnets), within)) / size
  }
  return {
    total,
    used: subnetsOf(entries.filter(({ reason }) => reason === 'held')),
    // a subnet that a plan is about to write counts as free until then
    free: total - subnetsOf(entries.filter(({ reason }) => reason !== 'pending')),
  }
}

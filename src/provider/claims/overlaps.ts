import type { Prefix } from '../../cidr/index.js'
import { prefixes, type RangeSet } from '../../cidr/nouns/range-set.js'
import { formatRef, type ObjectRef } from '../../crd/meta/object.js'
import type { Extent, Holder, Holding, Holdings } from '../../plan/holdings.js'

/**
 * Pools that have addresses in common: those of one namespace, and all cluster-scoped ones. Two
 * more ledgers for each namespace say which pools have a space at an extent, and which IPAddress
 * objects hold it, so that a change costs O(pools that overlap it), for any number of pools.
 */
type Index = 'spaces' | 'addresses'

/** The ledgers in which a pool of a namespace is found, and its addresses. */
function heldIn(index: Index, namespace: string | undefined): readonly string[] {
  return [`${index} ${namespace ?? ''}`, `${index} *`]
}

/** The ledgers of what a pool of a namespace can overlap. */
function seenFrom(index: Index, namespace: string | undefined): readonly string[] {
  return namespace === undefined ? [`${index} *`] : [`${index} ${namespace}`, `${index} `]
}

export function isIndex(ledger: string): boolean {
  return ledger.startsWith('spaces ') || ledger.startsWith('addresses ')
}

/** What a pool holds: its space. */
export function heldByPool(pool: ObjectRef, space: RangeSet): readonly Holding[] {
  const key = formatRef(pool)
  return prefixes(space).flatMap((prefix) =>
    heldIn('spaces', pool.namespace).map(
      (ledger) => ({ pool: ledger, prefix, key, reason: 'foreign', field: 'spec' }) as const,
    ),
  )
}

/** The keys of other pools that have an extent in their space. O(these). */
export function poolsOver(pool: ObjectRef, extents: Iterable<Prefix>, holdings: Holdings): ReadonlySet<string> {
  const keys = new Set<string>()
  for (const { key } of overlapping('spaces', pool.namespace, extents, holdings)) keys.add(key)
  keys.delete(formatRef(pool))
  return keys
}

/**
 * The keys of the pools that have an extent in their space, after a pool has got or lost it. The
 * ledger of the extent is one of those in which that pool was found. O(these).
 */
export function poolsAt({ pool: ledger, prefix }: Extent, holdings: Holdings): Iterable<string> {
  const [index, namespace] = ledger.split(' ')
  // what is in a ledger of a namespace is in that of all as well
  if (index !== 'spaces' || namespace === '*') return []
  const names = seenFrom('spaces', namespace === '' ? undefined : namespace)
  return names.flatMap((name) => Array.from(holdings.ledger(name).overlapping(prefix), ({ holder }) => holder.key))
}

/** What an IPAddress holds for other pools that have its extent in their space. */
export function foreignOf(own: Holding, pool: ObjectRef, holdings: Holdings): readonly Holding[] {
  const others = [...poolsOver(pool, [own.prefix], holdings), ...heldIn('addresses', pool.namespace)]
  return others.map((ledger) => ({ ...own, pool: ledger, reason: 'foreign' }))
}

/** The IPAddress objects that hold an extent for any pool that can overlap this one. */
export function addressesIn(pool: ObjectRef, extents: Iterable<Prefix>, holdings: Holdings): readonly ObjectRef[] {
  const holders = overlapping('addresses', pool.namespace, extents, holdings)
  return Array.from(holders).flatMap(({ object }) => object ?? [])
}

function* overlapping(
  index: Index,
  namespace: string | undefined,
  extents: Iterable<Prefix>,
  holdings: Holdings,
): Iterable<Holder> {
  for (const extent of extents) {
    for (const ledger of seenFrom(index, namespace)) {
      for (const { holder, reason } of holdings.ledger(ledger).overlapping(extent)) {
        if (reason === 'foreign') yield holder
      }
    }
  }
}

import type { Prefix } from '../../cidr/index.js'
import { prefixes, type RangeSet } from '../../cidr/nouns/range-set.js'
import { formatRef, type ObjectRef } from '../../crd/meta/object.js'
import type { Extent, Holder, Holding, Holdings } from '../../plan/holdings.js'

/**
 * Pools that have addresses in common: those of one domain, and all without one. The domain is the
 * namespace, unless the ledger of a pool has another one. Two more ledgers for each domain say
 * which pools have a space at an extent, and which IPAddress objects hold it. So a change costs
 * O(pools that overlap it), for any number of pools.
 */
type Index = 'spaces' | 'addresses'

/** The ledgers in which a pool of a domain is found, and its addresses. */
function heldIn(index: Index, domain: string | undefined): readonly string[] {
  return [`${index} ${domain ?? ''}`, `${index} *`]
}

/** The ledgers of what a pool of a domain can overlap. */
function seenFrom(index: Index, domain: string | undefined): readonly string[] {
  return domain === undefined ? [`${index} *`] : [`${index} ${domain}`, `${index} `]
}

export function isIndex(ledger: string): boolean {
  return ledger.startsWith('spaces ') || ledger.startsWith('addresses ')
}

/** A pool, and where its addresses are unique. */
export interface PlacedPool {
  readonly ref: ObjectRef
  readonly domain: string | undefined
}

/** What a pool holds: its space. */
export function heldByPool({ ref, domain }: PlacedPool, space: RangeSet): readonly Holding[] {
  const key = formatRef(ref)
  return prefixes(space).flatMap((prefix) =>
    heldIn('spaces', domain).map(
      (ledger) => ({ pool: ledger, prefix, key, reason: 'foreign', field: 'spec' }) as const,
    ),
  )
}

/** The keys of other pools that have an extent in their space. O(these). */
export function poolsOver(
  { ref, domain }: PlacedPool,
  extents: Iterable<Prefix>,
  holdings: Holdings,
): ReadonlySet<string> {
  const keys = new Set<string>()
  for (const { key } of overlapping('spaces', domain, extents, holdings)) keys.add(key)
  keys.delete(formatRef(ref))
  return keys
}

/**
 * The keys of the pools that have an extent in their space, after a pool has got or lost it. The
 * ledger of the extent is one of those in which that pool was found. O(these).
 */
export function poolsAt({ pool: ledger, prefix }: Extent, holdings: Holdings): Iterable<string> {
  const at = ledger.indexOf(' ')
  const [index, domain] = [ledger.slice(0, at), ledger.slice(at + 1)]
  // what is in a ledger of a domain is in that of all as well
  if (index !== 'spaces' || domain === '*') return []
  const names = seenFrom('spaces', domain === '' ? undefined : domain)
  return names.flatMap((name) => Array.from(holdings.ledger(name).overlapping(prefix), ({ holder }) => holder.key))
}

/** What an IPAddress holds for other pools that have its extent in their space. */
export function foreignOf(own: Holding, pool: PlacedPool, holdings: Holdings): readonly Holding[] {
  const others = [...poolsOver(pool, [own.prefix], holdings), ...heldIn('addresses', pool.domain)]
  return others.map((ledger) => ({ ...own, pool: ledger, reason: 'foreign' }))
}

/**
 * The holders of extents of any pool that can overlap this one, itself included: IPAddress objects,
 * and those that are about to be written.
 */
export function holdersIn({ domain }: PlacedPool, extents: Iterable<Prefix>, holdings: Holdings): readonly Holder[] {
  return [...overlapping('addresses', domain, extents, holdings)]
}

function* overlapping(
  index: Index,
  domain: string | undefined,
  extents: Iterable<Prefix>,
  holdings: Holdings,
): Iterable<Holder> {
  for (const extent of extents) {
    for (const ledger of seenFrom(index, domain)) {
      for (const { holder } of holdings.ledger(ledger).overlapping(extent)) yield holder
    }
  }
}

import { assertAddress } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import { check } from '../../errors/check.js'
import { assertOwner, type OccupyOptions, type Owner, ownerId } from '../request.js'
import { AddressPool } from './address-pool.js'
import type { AddressPoolSpec } from './pool-spec.js'

type Address = Address.Address

/** A live object that names the owner of an address. */
export interface ObservedHold extends Pick<OccupyOptions, 'sequence' | 'stickyKey'> {
  readonly address: Address
  readonly owner: Owner
}

/**
 * A contradiction between live objects, or between them and the pool. The address is in use in
 * every case.
 */
export type RebuildFinding =
  /** Several owners hold one address. */
  | { readonly kind: 'duplicate'; readonly address: Address; readonly owners: readonly Owner[] }
  /** An address that the pool does not give out. */
  | { readonly kind: 'outOfPool'; readonly address: Address; readonly owners: readonly Owner[] }
  /**
   * Several objects name the same owner and address. The one with the lowest sequence counts.
   */
  | { readonly kind: 'repeated'; readonly address: Address; readonly owners: readonly Owner[] }

export interface Rebuilt {
  readonly pool: AddressPool
  /** In the order of addresses; for one address: `duplicate`, `outOfPool`, `repeated`. */
  readonly findings: readonly RebuildFinding[]
}

/**
 * A pool from live objects: after a restart, or to check a stored pool. The order of the objects
 * does not matter. All contradictions are reported. O(n log n).
 *
 * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid, and for a spec as in
 * {@link AddressPool}
 * @example
 * const hold = (uid: string) => ({ address: Address.parse('10.0.0.1'), owner: { uid } })
 * const { pool, findings } = rebuildPool({ ranges: RangeSet.parse(['10.0.0.0/29']) }, [hold('a'), hold('b')])
 * pool.counts().used // 1n
 * findings.map((finding) => finding.kind) // ['duplicate']
 */
export function rebuildPool(spec: AddressPoolSpec, observed: Iterable<ObservedHold>): Rebuilt {
  const pool = new AddressPool(spec)
  check('rebuildPool', 'observed', observed, 'iterable')
  const holds: ObservedHold[] = []
  for (const hold of observed) {
    check('rebuildPool', 'observed[]', hold, 'object')
    assertAddress('rebuildPool', 'observed[].address', hold.address)
    assertOwner('rebuildPool', hold.owner)
    holds.push(hold)
  }
  // the result does not depend on the order of the objects
  holds.sort(inOrder)
  const repeated: RebuildFinding[] = []
  for (const { address, owner, ...options } of holds) {
    const others = pool.holdsOf(address)
    if (others.some((other) => ownerId(other.owner) === ownerId(owner))) {
      repeated.push({ kind: 'repeated', address, owners: [owner] })
    }
    pool.occupy(address, owner, options)
  }
  return { pool, findings: [...findingsOf(pool), ...repeated].sort(byAddress) }
}

function* findingsOf(pool: AddressPool): IterableIterator<RebuildFinding> {
  for (const { address, owners } of pool.entries()) {
    if (owners.length > 1) yield { kind: 'duplicate', address, owners }
    if (!pool.hasAddress(address)) yield { kind: 'outOfPool', address, owners }
  }
}

/** By sequence, where all have one, and then by address and owner. */
function inOrder(a: ObservedHold, b: ObservedHold): number {
  const bySequence = (a.sequence ?? Number.POSITIVE_INFINITY) - (b.sequence ?? Number.POSITIVE_INFINITY)
  if (bySequence !== 0 && !Number.isNaN(bySequence)) return bySequence
  return Address.compare(a.address, b.address) || compareTexts(textOf(a), textOf(b))
}

function textOf({ owner, stickyKey }: ObservedHold): string {
  return [ownerId(owner), owner.key, owner.kind, stickyKey].join('\n')
}

function byAddress(a: RebuildFinding, b: RebuildFinding): number {
  return Address.compare(a.address, b.address)
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

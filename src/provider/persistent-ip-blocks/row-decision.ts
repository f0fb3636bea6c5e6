import * as Address from '../../cidr/nouns/address.js'
import type { Pod } from '../../crd/core/index.js'
import { IPAMClaim } from '../../crd/ipamclaims/index.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { type Effect, guard, type Holdings, patchStatus } from '../../plan/index.js'
import type { Decision } from '../blocks/sweep/decision.js'
import type { KnownBlocks, PlacedRow } from '../blocks/tasks/known-blocks.js'
import { heldByClaim } from '../persistent-ip/serving/claim-status.js'
import { hostOf } from '../persistent-ip/serving/holds.js'
import { heldByPod, podStage } from '../persistent-ip/serving/pod-stage.js'
import type { ServingCache } from '../persistent-ip/serving/watches.js'
import { CLAIM_KIND, interfaceName, livingOwner, ownerEnded, refOfOwner } from './row-owners.js'
import { addressIn } from './row-record.js'

/** What decides on a row. */
export interface RowView {
  readonly cache: ServingCache
  readonly known: KnownBlocks
  readonly holdings: Holdings
  /** The network of a domain; `undefined`: no definition of it was read. */
  networkOf(domain: string): string | undefined
}

/**
 * Decides what to do with a row of a network. It stays while its owner exists and has no other
 * address, and while any object has its address. That of a claim also stays while a Pod names the
 * claim, and no other claim has the name: another process may be about to write the Pod.
 */
export function rowDecision(place: PlacedRow, view: RowView): Decision {
  const { row } = place.entry
  const { cache } = view
  if (refOfOwner(row) === undefined || isHeld(place, view)) return { kind: 'stays' }
  const living = livingOwner(row, cache)
  if (living !== undefined) {
    if (!isSurplus(place, living, view)) return { kind: 'stays' }
    return {
      kind: 'surplus',
      checks: [unchanged(living)],
      why: `${row.owner} has another address`,
    }
  }
  if (row.kind !== CLAIM_KIND) {
    return { kind: 'surplus', checks: ownerEnded(row, cache), why: `its owner ${row.owner} has ended` }
  }
  const isNamed = cache.claims.entry(row.owner) === undefined && cache.pods.by('claim', row.owner).some(isRunning)
  return isNamed ? { kind: 'stays' } : { kind: 'missing', checks: ownerEnded(row, cache) }
}

/** For the status of a claim: no permission for the claim itself is necessary. */
function unchanged(owner: KubeObject): Effect {
  const why = 'it has other addresses'
  return IPAMClaim.is(owner) ? patchStatus(owner, {}, why) : guard(owner, why)
}

function isRunning({ pod }: { readonly pod: Pod }): boolean {
  return podStage(pod) !== 'ended'
}

/** Whether an object has the address of a row. */
function isHeld(place: PlacedRow, { holdings, networkOf }: RowView): boolean {
  const network = networkOf(place.parsed.object.spec.domain)
  return network !== undefined && holdings.ledger(network).holders(hostOf(addressIn(place))).length > 0
}

/** Whether a living owner has other addresses of the family, each with a row. */
function isSurplus(place: PlacedRow, owner: KubeObject, { known }: RowView): boolean {
  const address = addressIn(place)
  const { row } = place.entry
  const has = addressesOf(owner, row.interface).filter(({ family }) => family === address.family)
  // without a definition of the network, no address counts as held in it
  if (has.length === 0 || has.some((one) => Address.equals(one, address))) return false
  const rows = known.rowsOf(row.uid).filter(({ entry }) => entry.row.interface === row.interface)
  return has.every((one) => rows.some((other) => Address.equals(addressIn(other), one)))
}

function addressesOf(owner: KubeObject, name: string | undefined): readonly Address.Address[] {
  if (name === undefined) return heldByClaim(owner as IPAMClaim).map(({ address }) => address)
  const held = heldByPod({ spec: {}, ...owner } as Pod)
  return held.flatMap(({ network, prefix }) => (interfaceName(network) === name ? [prefix.address] : []))
}

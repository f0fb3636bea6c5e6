import * as Address from '../../../cidr/nouns/address.js'
import { IPAddress } from '../../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import { isDeleting, type ObjectRef } from '../../../crd/meta/object.js'
import { type Effect, guard, proofOfAbsence } from '../../../plan/index.js'
import { isControlledBy } from '../../claims/address-object.js'
import { addressOfUnit } from '../block/grid.js'
import type { PlacedRow } from '../tasks/known-blocks.js'
import { type Owners, ownerAbsent } from './owners.js'

/** What to do with a row. */
export type Decision =
  /** The row stays: its owner exists, or that is not certain. */
  | { readonly kind: 'stays' }
  /** The owner does not need the row: it is removed at once, if the checks hold. */
  | { readonly kind: 'surplus'; readonly checks: readonly Effect[]; readonly why: string }
  /** The owner was created again under another uid: the row gets that uid. */
  | { readonly kind: 'successor'; readonly uid: string; readonly check: Effect }
  /** The owner does not exist: after the grace period the row is removed, if the checks hold. */
  | { readonly kind: 'missing'; readonly checks: readonly Effect[] }

/**
 * An IPAddress by the name of its claim; `unreadable`: it exists, and its content cannot be read.
 */
export type OrphanedAddress = IPAddress | 'unreadable' | undefined

/**
 * Decides what to do with a row.
 *
 * The IPAddress of a claim counts as well: it has the address, whatever owner the row names. While
 * it exists, the row stays: for the claim of the name if it exists, else until the IPAddress is
 * deleted.
 *
 * @param owner the owner that the row names
 * @param owners the owners that exist
 */
export function decisionOn(place: PlacedRow, owner: ObjectRef, owners: Owners, address: OrphanedAddress): Decision {
  const { row } = place.entry
  if (!IPAddressClaim.is(owner)) {
    if (owners.isThere(owner, row.uid)) return { kind: 'stays' }
    return {
      kind: 'missing',
      checks: ownerAbsent(owner, row.uid, 'the row is removed only if its owner does not exist'),
    }
  }
  const uid = owners.uidOf(owner)
  if (address === 'unreadable') return { kind: 'stays' }
  const isSame = address !== undefined && hasAddress(place, address)
  if (uid === row.uid) {
    const isOther = address !== undefined && !isSame && !isDeleting(address)
    if (!isOther || !isControlledBy(address, { metadata: { uid } })) return { kind: 'stays' }
    const check = guard(address, 'the claim has this address, not the one of the row')
    return { kind: 'surplus', checks: [check], why: `${row.owner} has another address` }
  }
  if (address !== undefined && isSame) {
    // the provider of claims deals with an IPAddress that no claim controls: it is adopted, or
    // removed
    if (uid === undefined || !isControlledBy(address, { metadata: { uid } })) return { kind: 'stays' }
    return { kind: 'successor', uid, check: guard(address, 'the claim of this name has adopted it') }
  }
  const checks = ownerAbsent(owner, row.uid, 'the row is removed only if its claim does not exist')
  const { apiVersion, kind } = IPAddress.info
  const ref = { ...owner, apiVersion, kind }
  const others =
    address === undefined
      ? proofOfAbsence({ ref }, 'an IPAddress that is not in the cache may have the address')
      : [guard(address, 'a new IPAddress of the name may have the address')]
  return { kind: 'missing', checks: [...checks, ...others] }
}

function hasAddress({ parsed, entry }: PlacedRow, { spec }: IPAddress): boolean {
  const own = Address.safeParse(spec.address, { zone: 'drop' })
  const first = addressOfUnit(parsed.prefix, parsed.object.spec.allocationPrefixLength, entry.unit)
  return own.ok && Address.equals(own.value, first)
}

import * as Address from '../../../cidr/nouns/address.js'
import { IPAddress } from '../../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import { isDeleting, type ObjectRef } from '../../../crd/meta/object.js'
import { type Effect, guard, proofOfAbsence } from '../../../plan/index.js'
import { isControlledBy } from '../../claims/address-object.js'
import { addressOfUnit } from '../block/grid.js'
import type { Place } from '../tasks/known-blocks.js'
import { type Owners, ownerAbsent } from './owners.js'

/** What is to be done about a row. */
export type Decision =
  /** Its owner is there, or it cannot be told. */
  | { readonly kind: 'stays' }
  /** Its owner has something else: it goes, if the check holds. */
  | { readonly kind: 'surplus'; readonly check: Effect }
  /** Its owner was made anew, and continues with what it had. */
  | { readonly kind: 'successor'; readonly uid: string; readonly check: Effect }
  /** Its owner is not there: if that stays so, the row goes, if the checks hold. */
  | { readonly kind: 'missing'; readonly checks: readonly Effect[] }

/**
 * An IPAddress by the name of its claim; `unreadable`: there is one, and what it holds is not
 * known.
 */
export type OrphanedAddress = IPAddress | 'unreadable' | undefined

/**
 * What becomes of a row.
 *
 * A claim is known by its IPAddress as well: that has the address, whoever is found in the row. So
 * while there is one, the row stays for it: for the claim of the name, if there is one, else until
 * the IPAddress has gone.
 *
 * @param owner the owner that the row names
 * @param owners those that are there
 */
export function decisionOn(place: Place, owner: ObjectRef, owners: Owners, address: OrphanedAddress): Decision {
  const { row } = place.entry
  if (!IPAddressClaim.is(owner)) {
    if (owners.isThere(owner, row.uid)) return { kind: 'stays' }
    return {
      kind: 'missing',
      checks: ownerAbsent(owner, row.uid, 'what its owner has is taken back only if it is gone'),
    }
  }
  const uid = owners.uidOf(owner)
  if (address === 'unreadable') return { kind: 'stays' }
  const isSame = address !== undefined && hasAddress(place, address)
  if (uid === row.uid) {
    const isOther = address !== undefined && !isSame && !isDeleting(address)
    if (!isOther || !isControlledBy(address, { metadata: { uid } })) return { kind: 'stays' }
    return { kind: 'surplus', check: guard(address, 'the claim has this address, and not the other one') }
  }
  if (address !== undefined && isSame) {
    // one that is nobody's goes first, and one that is not its yet is adopted, or removed: that is
    // the affair of the provider of claims
    if (uid === undefined || !isControlledBy(address, { metadata: { uid } })) return { kind: 'stays' }
    return { kind: 'successor', uid, check: guard(address, 'the claim of this name has adopted it') }
  }
  const checks = ownerAbsent(owner, row.uid, 'what a claim has is taken back only if it is gone')
  const { apiVersion, kind } = IPAddress.info
  const ref = { ...owner, apiVersion, kind }
  const others =
    address === undefined
      ? proofOfAbsence({ ref }, 'an IPAddress that was not seen may have it')
      : [guard(address, 'another IPAddress of the name may have it by now')]
  return { kind: 'missing', checks: [...checks, ...others] }
}

function hasAddress({ parsed, entry }: Place, { spec }: IPAddress): boolean {
  const own = Address.safeParse(spec.address, { zone: 'drop' })
  const first = addressOfUnit(parsed.prefix, parsed.object.spec.allocationPrefixLength, entry.unit)
  return own.ok && Address.equals(own.value, first)
}

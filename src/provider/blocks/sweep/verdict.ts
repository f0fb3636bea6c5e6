import * as Address from '../../../cidr/nouns/address.js'
import { IPAddress } from '../../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import { isDeleting, type ObjectRef } from '../../../crd/meta/object.js'
import { type Effect, guard } from '../../../plan/index.js'
import { isControlledBy } from '../../claims/address-object.js'
import { addressOfUnit } from '../grid.js'
import type { Place } from '../known-blocks.js'

/** What is to be done about a row. */
export type Verdict =
  /** Its owner is there, or it can not be told. */
  | { readonly kind: 'stays' }
  /** Its owner has something else: it goes, if the check holds. */
  | { readonly kind: 'stray'; readonly check: Effect }
  /** Its owner was made anew, and goes on with what it had. */
  | { readonly kind: 'heir'; readonly uid: string; readonly check: Effect }
  /** Its owner is not there: if that stays so, the row goes, if the checks hold. */
  | { readonly kind: 'missing'; readonly checks: readonly Effect[] }

/** An IPAddress by the name of its claim; `unreadable`: there is one, and what it holds is not known. */
export type LeftAddress = IPAddress | 'unreadable' | undefined

/**
 * What becomes of a row.
 *
 * A claim is known by its IPAddress as well: that has the address, whoever is found in the row. So while there is one, the row stays for it: for the claim of the
 * name, if there is one, else until the IPAddress has gone.
 *
 * @param owner the owner that the row names
 * @param uid that of the object that has this name now
 */
export function verdictOn(place: Place, owner: ObjectRef, uid: string | undefined, address: LeftAddress): Verdict {
  const { row } = place.entry
  const absent = (ref: ObjectRef, why: string, of?: string): Effect => ({ kind: 'absent', ref, uid: of, why })
  if (!IPAddressClaim.is(owner)) {
    if (uid === row.uid) return { kind: 'stays' }
    const why = 'what its owner has is taken back only if it is gone'
    return { kind: 'missing', checks: [absent(owner, why, row.uid)] }
  }
  if (address === 'unreadable') return { kind: 'stays' }
  const isSame = address !== undefined && hasAddress(place, address)
  if (uid === row.uid) {
    const isOther = address !== undefined && !isSame && !isDeleting(address)
    if (!isOther || !isControlledBy(address, { metadata: { uid } })) return { kind: 'stays' }
    return { kind: 'stray', check: guard(address, 'the claim has this address, and not the other one') }
  }
  if (address !== undefined && isSame) {
    // one that is nobody's goes first, and one that is not its yet is adopted, or removed: that is the affair of the provider of claims
    if (uid === undefined || !isControlledBy(address, { metadata: { uid } })) return { kind: 'stays' }
    return { kind: 'heir', uid, check: guard(address, 'the claim of this name has adopted it') }
  }
  const checks = [absent(owner, 'what a claim has is taken back only if it is gone', row.uid)]
  const { apiVersion, kind } = IPAddress.info
  const ref = { apiVersion, kind, namespace: owner.namespace, name: owner.name }
  if (address === undefined) checks.push(absent(ref, 'an IPAddress that was not seen may have it'))
  return { kind: 'missing', checks }
}

function hasAddress({ book, entry }: Place, { spec }: IPAddress): boolean {
  const own = Address.safeParse(spec.address, { zone: 'drop' })
  const first = addressOfUnit(book.prefix, book.object.spec.allocationPrefixLength, entry.unit)
  return own.ok && Address.equals(own.value, first)
}

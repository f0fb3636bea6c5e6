import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { OwnerReference } from '../../crd/meta/object.js'
import { isSameOwner, isSameOwnerName } from './identity.js'
import type { DesiredClaim } from './resolution.js'

/**
 * The metadata that a claim of this owner lacks, as a merge patch; `undefined` if it lacks nothing.
 * Other owners, finalizers, labels and annotations stay. The spec never changes.
 */
export function repairOf(
  claim: IPAddressClaim,
  desired: DesiredClaim,
): { readonly metadata: { readonly [field: string]: unknown } } | undefined {
  const { metadata } = claim
  const repair: { [field: string]: unknown } = {}
  const owners = metadata.ownerReferences ?? []
  const ownerReferences = withOwner(owners, desired.ownerReference)
  if (ownerReferences !== owners) repair.ownerReferences = ownerReferences
  const finalizers = metadata.finalizers ?? []
  if (desired.finalizer !== undefined && !finalizers.includes(desired.finalizer)) {
    repair.finalizers = [...finalizers, desired.finalizer]
  }
  for (const field of ['labels', 'annotations'] as const) {
    const lacking = Object.entries(desired[field]).filter(([key, value]) => metadata[field]?.[key] !== value)
    if (lacking.length > 0) repair[field] = Object.fromEntries(lacking)
  }
  return Object.keys(repair).length === 0 ? undefined : { metadata: repair }
}

/**
 * The list with this owner and its flags; the list itself if it is so already. A reference to an
 * earlier object of its name is removed. An object has at most one controller: a present one stays.
 */
function withOwner(owners: readonly OwnerReference[], owner: OwnerReference): readonly OwnerReference[] {
  const isStale = (candidate: OwnerReference) => isSameOwnerName(owner, candidate) && candidate.uid !== owner.uid
  const living = owners.some(isStale) ? owners.filter((candidate) => !isStale(candidate)) : owners
  const index = living.findIndex((candidate) => isSameOwner(owner, candidate))
  const before = living[index]
  const hasOtherController = living.some((candidate, at) => at !== index && candidate.controller === true)
  const { controller, ...uncontrolled } = owner
  const wanted = hasOtherController ? uncontrolled : owner
  if (before === undefined) return [...living, wanted]
  const isAsWanted =
    before.apiVersion === wanted.apiVersion &&
    (!('controller' in wanted) || before.controller === wanted.controller) &&
    (wanted.blockOwnerDeletion === undefined || before.blockOwnerDeletion === wanted.blockOwnerDeletion)
  return isAsWanted ? living : living.with(index, { ...before, ...wanted })
}

import { findCondition, stateOf } from '../../claim/index.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { ADDRESS, CLAIM } from '../../crd/cluster-api/kinds.js'
import { CLUSTER_NAME_LABEL, READY_CONDITION } from '../../crd/cluster-api/names.js'
import { formatRef, isDeleting, nameKey, type ObjectMeta } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { EARLIER_UID_ANNOTATION } from './dialects.js'
import { isExpectedPool, isSameOwner, isSameOwnerName, type OwnerIdentity } from './identity.js'
import type { ClaimOwner, ConflictReason, DesiredClaim, Resolution, ResolvedClaim } from './resolution.js'

/**
 * The state of a desired claim, from the claim of its name and the IPAddress that this one names.
 * Without a claim, `address` is the IPAddress of its name, if it exists. Nothing is looked up by
 * the text of an address. O(owners of the claim).
 *
 * Source: cluster-api-provider-proxmox, pkg/kubernetes/ipam. Upstream accepts an IPAddress for
 * another claim, and makes no difference for one that is being deleted.
 *
 * @throws IpamError `INVALID_ARGUMENT` for objects of other names, which do not belong to the claim
 *
 * @example
 * const owner = { apiVersion: 'example.com/v1', kind: 'Machine', metadata: { name: 'vm', namespace: 'default', uid: 'u1' } }
 * const pools = [{ apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }]
 * const [desired] = claimsFor(owner, [{ pools }], 'capv')
 * resolveClaim(desired).kind // 'missing'
 */
export function resolveClaim(desired: DesiredClaim, claim?: IPAddressClaim, address?: IPAddress): Resolution {
  check('resolveClaim', 'desired', desired, ['open', { namespace: 'text', name: 'text', poolRef: 'object' }])
  if (claim !== undefined) check('resolveClaim', 'claim', claim, ['open', { spec: 'object', metadata: 'object' }])
  if (address !== undefined) check('resolveClaim', 'address', address, ['open', { spec: 'object', metadata: 'object' }])

  const name = `IPAddressClaim ${nameKey(desired)}`
  if (claim === undefined) {
    if (address === undefined) return { kind: 'missing', message: `${name} is not there` }
    assertName('address', address, desired.namespace, desired.name)
    return { kind: 'missing', message: `${name} is not there, but an IPAddress of its name is`, orphanAddress: address }
  }
  assertName('claim', claim, desired.namespace, desired.name)
  const addressName = claim.status?.addressRef?.name
  if (address !== undefined) assertName('address', address, desired.namespace, addressName)
  const isMine = isOwnClaim(claim, desired)
  if (isDeleting(claim)) {
    const usable = isMine && address !== undefined && conflictOf(desired, claim, address) === undefined
    return {
      kind: 'deleting',
      message: `${name} is being deleted${isMine ? '' : `, and is not ours${earlierOwner(desired, claim)}`}`,
      claim,
      whose: isMine ? 'mine' : 'foreign',
      ...(usable ? { address } : {}),
    }
  }
  const conflict = conflictOf(desired, claim, address)
  if (conflict !== undefined) {
    return { kind: 'conflict', reason: conflict.reason, message: `${name} ${conflict.message}`, claim }
  }
  if (address === undefined) return pending(claim, name)
  const annotations = { ...address.metadata.annotations, ...claim.metadata.annotations }
  return { kind: 'bound', message: `${name} has ${address.spec.address}`, claim, address, annotations }
}

/**
 * The states of all desired claims of an owner. Claims and addresses of other names and namespaces
 * are ignored. O(n).
 *
 * @example
 * resolveClaims([], [], []) // []
 */
export function resolveClaims(
  desired: readonly DesiredClaim[],
  claims: readonly IPAddressClaim[],
  addresses: readonly IPAddress[],
): readonly ResolvedClaim[] {
  check('resolveClaims', 'desired', desired, ['list', 'object'])
  check('resolveClaims', 'claims', claims, ['list', CLAIM])
  check('resolveClaims', 'addresses', addresses, ['list', ADDRESS])

  const claimByName = new Map(claims.map((claim) => [nameKey(claim.metadata), claim]))
  const addressByName = new Map(addresses.map((address) => [nameKey(address.metadata), address]))
  return desired.map((each) => {
    const { namespace } = each
    const claim = claimByName.get(nameKey(each))
    const addressName = claim === undefined ? each.name : claim.status?.addressRef?.name
    const address = addressName === undefined ? undefined : addressByName.get(nameKey({ namespace, name: addressName }))
    return { desired: each, resolution: resolveClaim(each, claim, address) }
  })
}

/**
 * The relation of a claim to an owner. `earlier`: it belongs to an earlier object of the owner's
 * name, and the operator has named the uid of that object. Without that it is `foreign`: a restored
 * machine looks like one that was made again while the earlier one still runs.
 */
export type Ownership = 'mine' | 'unowned' | 'earlier' | 'foreign'

/** The relation of a claim to an owner. O(owners). */
export function ownershipOf(claim: IPAddressClaim, { ownerReference, earlierUid }: ClaimOwner): Ownership {
  const { ownerReferences = [] } = claim.metadata
  if (ownerReferences.length === 0) return 'unowned'
  if (ownerReferences.some((reference) => isSameOwner(ownerReference, reference))) return 'mine'
  return isOfEarlier(claim, ownerReference) && ownerReferences.every(({ uid }) => uid === earlierUid)
    ? 'earlier'
    : 'foreign'
}

function isOfEarlier({ metadata }: IPAddressClaim, owner: OwnerIdentity): boolean {
  return metadata.ownerReferences?.every((reference) => isSameOwnerName(owner, reference)) === true
}

/**
 * Whether a claim was restored from a backup and belongs to this owner: it has no owner, or the
 * earlier one that the operator has named. It must not name another Cluster than that of the owner.
 */
export function isRestored(claim: IPAddressClaim, owner: ClaimOwner): boolean {
  const ownership = ownershipOf(claim, owner)
  const mayAdopt = owner.adoptsUnowned && (ownership === 'unowned' || ownership === 'earlier')
  return mayAdopt && !isOfOther(claim, owner.ownerCluster)
}

function isOfOther(claim: IPAddressClaim, cluster: string | undefined): boolean {
  const named = clusterNameOf(claim)
  return named !== '' && named !== cluster
}

/**
 * A claim that is being deleted with its earlier owner is not adopted: the deletion cannot be
 * undone.
 */
function isOwnClaim(claim: IPAddressClaim, desired: DesiredClaim): boolean {
  const ownership = ownershipOf(claim, desired)
  if (ownership === 'mine') return true
  if (ownership === 'earlier' && isDeleting(claim)) return false
  return isRestored(claim, desired)
}

/** What the operator can do about a claim of an earlier owner, for messages. */
function earlierOwner(desired: DesiredClaim, claim: IPAddressClaim): string {
  const { kind, name } = desired.ownerReference
  const [earlier] = claim.metadata.ownerReferences ?? []
  const isNamed = earlier?.uid === desired.earlierUid || !isOfEarlier(claim, desired.ownerReference)
  if (earlier === undefined || isNamed || !desired.adoptsUnowned) return ''
  return `. It is of an earlier ${kind} ${name}. If that one does not run beside this one, annotate this one with ${EARLIER_UID_ANNOTATION}: ${earlier.uid}`
}

/** The Cluster that a claim names, `''` if it names none. */
function clusterNameOf({ metadata, spec }: IPAddressClaim): string {
  return spec.clusterName || metadata.labels?.[CLUSTER_NAME_LABEL] || ''
}

function conflictOf(
  desired: DesiredClaim,
  claim: IPAddressClaim,
  address: IPAddress | undefined,
): { readonly reason: ConflictReason; readonly message: string } | undefined {
  if (!isOwnClaim(claim, desired)) {
    const { kind, name, uid } = desired.ownerReference
    const of = isOfOther(claim, desired.ownerCluster) ? `, and is of Cluster ${clusterNameOf(claim)}` : ''
    const hint = earlierOwner(desired, claim)
    return { reason: 'OwnerMismatch', message: `is not owned by ${kind} ${name} with uid ${uid}${of || hint}` }
  }
  const { poolRef } = claim.spec
  if (!isExpectedPool(desired.poolRef, poolRef)) {
    return {
      reason: 'PoolMismatch',
      message: `is for ${formatRef(poolRef)}, and ${formatRef(desired.poolRef)} is wanted`,
    }
  }
  const addressName = claim.status?.addressRef?.name
  if (addressName === undefined) return undefined
  if (address === undefined) {
    return { reason: 'AddressMissing', message: `names IPAddress ${addressName}, which is not there` }
  }
  if (!isExpectedPool(desired.poolRef, address.spec.poolRef)) {
    const of = formatRef(address.spec.poolRef)
    return { reason: 'AddressPoolRef', message: `names IPAddress ${addressName}, which is of ${of}` }
  }
  if (address.spec.claimRef.name === desired.name) return undefined
  const other = address.spec.claimRef.name
  return { reason: 'AddressClaimRef', message: `names IPAddress ${addressName}, which is for the claim ${other}` }
}

function pending(claim: IPAddressClaim, name: string): Resolution {
  const ready = findCondition(claim.status?.conditions, READY_CONDITION)
  const isRefused = ready?.status === 'False'
  const why = isRefused ? `: ${ready.reason}${ready.message === '' ? '' : `: ${ready.message}`}` : ''
  const message = `${name} has no address yet${why}`
  return { kind: 'pending', message, claim, state: stateOf(claim), reason: isRefused ? ready.reason : undefined }
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertName(
  argument: 'claim' | 'address',
  object: { readonly metadata: ObjectMeta },
  namespace: string,
  name: string | undefined,
): void {
  const got = nameKey(object.metadata)
  const expected = name === undefined ? 'none, for a claim that names none' : nameKey({ namespace, name })
  if (got !== expected) refuse('resolveClaim', argument, expected, got)
}

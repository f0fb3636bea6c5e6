import * as Address from '../../cidr/nouns/address.js'
import { phaseOf } from '../../claim/index.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { CLUSTER_NAME_LABEL } from '../../crd/cluster-api/names.js'
import { samePool } from '../../crd/cluster-api/references.js'
import {
  formatRef,
  groupOf,
  isDeleting,
  type KindInfo,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  refOf,
} from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import type { DeleteEffect } from '../../plan/effect.js'
import type { Offer } from './definition.js'
import { MARKER_ANNOTATION } from './external.js'
import { poolOfAddress, withGroup } from './references.js'
import type { PoolKinds } from './rules.js'

/**
 * The IPAddress that fulfils a claim: named like it, owned by claim (as controller) and pool, both
 * blocking owner deletion, and protected by a finalizer, as the Cluster API contract for IPAM
 * providers wants it.
 */
export function newIPAddress(
  claim: IPAddressClaim,
  pool: KubeObject,
  offer: Offer,
  finalizer: string,
  marker?: string,
): IPAddress {
  const { name, namespace } = claim.metadata
  const { apiVersion, kind } = IPAddress.info
  const clusterName = claim.metadata.labels?.[CLUSTER_NAME_LABEL]
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      ...(clusterName === undefined ? {} : { labels: { [CLUSTER_NAME_LABEL]: clusterName } }),
      ...(marker === undefined ? {} : { annotations: { [MARKER_ANNOTATION]: marker } }),
      finalizers: [finalizer],
      ownerReferences: ownersFor([], claim, pool),
    },
    spec: {
      claimRef: { name },
      poolRef: claim.spec.poolRef,
      address: Address.format(offer.address),
      prefix: offer.prefix,
      ...(offer.gateway === undefined ? {} : { gateway: offer.gateway }),
    },
  }
}

/** Whether an IPAddress with the name of a claim is for that claim and from its pool. */
export function fulfils(address: IPAddress, claim: IPAddressClaim, pools: PoolKinds): boolean {
  return (
    address.metadata.namespace === claim.metadata.namespace &&
    address.spec.claimRef.name === claim.metadata.name &&
    samePool(withGroup(address.spec.poolRef, pools), claim.spec.poolRef)
  )
}

/** Whether an IPAddress with the name of a claim is the one that the claim has. */
export function isOf(address: IPAddress, claim: IPAddressClaim, pools: PoolKinds): boolean {
  return fulfils(address, claim, pools) || isControlledBy(address, claim)
}

/** Whether exactly this claim is the controller of an IPAddress, not another claim of its name. */
export function isControlledBy(address: IPAddress, claim: { readonly metadata: Pick<ObjectMeta, 'uid'> }): boolean {
  return controllersOf(address).some((owner) => IPAddressClaim.is(owner) && owner.uid === claim.metadata.uid)
}

/**
 * The owners that control an object: at most one, unless the object was never validated by an API
 * server.
 */
export function controllersOf({ metadata }: KubeObject): readonly OwnerReference[] {
  return (metadata.ownerReferences ?? []).filter((owner) => owner.controller === true)
}

/**
 * Reads an IPAddress that does not fit its schema, as far as the ledger of its pool needs it. An
 * address that was written is in use, whatever else is wrong with the object. `undefined` if it
 * names no pool.
 */
export function salvage(object: KubeObject): IPAddress | undefined {
  const spec = fieldsOf(object.spec)
  const poolRef = fieldsOf(spec.poolRef)
  const { kind, name, apiGroup } = poolRef
  if (typeof kind !== 'string' || typeof name !== 'string') return undefined
  const claimName = fieldsOf(spec.claimRef).name
  const prefix = typeof spec.prefix === 'string' ? Number(spec.prefix) : spec.prefix
  return {
    apiVersion: IPAddress.info.apiVersion,
    kind: IPAddress.info.kind,
    metadata: { name: object.metadata.name, namespace: object.metadata.namespace, uid: object.metadata.uid },
    spec: {
      claimRef: { name: typeof claimName === 'string' ? claimName : '' },
      poolRef: { kind, name, apiGroup: typeof apiGroup === 'string' ? apiGroup : '' },
      address: typeof spec.address === 'string' ? spec.address : '',
      ...(typeof prefix === 'number' ? { prefix } : {}),
    },
  }
}

function fieldsOf(value: unknown): { readonly [field: string]: unknown } {
  return typeof value === 'object' && value !== null ? (value as { readonly [field: string]: unknown }) : {}
}

/**
 * Whether an IPAddress was left by an earlier claim of this name and has to be deleted. Its
 * controller is a claim of this name with another uid. An IPAddress of the same pool is adopted
 * instead, as after a restore, unless it is being deleted. An IPAddress of a pool that this
 * provider does not serve is left to its own provider. One that is being deleted without a
 * controller counts as left behind too, for a claim that is not Bound.
 */
export function isStale(address: IPAddress, claim: IPAddressClaim, pools: PoolKinds): boolean {
  const { name, namespace, uid } = claim.metadata
  if (address.spec.claimRef.name !== name || address.metadata.namespace !== namespace) return false
  if (poolOfAddress(address, pools) === undefined) return false
  const controllers = controllersOf(address)
  if (controllers.length === 0) return isDeleting(address) && phaseOf(claim) !== 'Bound'
  const isOfEarlierClaim = controllers.some(
    (owner) => IPAddressClaim.is(owner) && owner.name === name && owner.uid !== uid,
  )
  return isOfEarlierClaim && (isDeleting(address) || !fulfils(address, claim, pools))
}

/**
 * The metadata that an adopted IPAddress lacks, as a merge patch; `undefined` if it lacks nothing.
 * The spec stays as it is, and so do other owners, labels and finalizers.
 */
export function repairOf(
  address: IPAddress,
  claim: IPAddressClaim,
  pool: KubeObject,
  finalizer: string,
): { readonly metadata: { readonly [field: string]: unknown } } | undefined {
  const { metadata } = address
  const repair: { [field: string]: unknown } = {}
  const existing = metadata.ownerReferences ?? []
  const owners = ownersFor(existing, claim, pool)
  if (owners !== existing) repair.ownerReferences = owners
  const finalizers = metadata.finalizers ?? []
  // an object that is being deleted takes no new finalizer
  if (!finalizers.includes(finalizer) && metadata.deletionTimestamp === undefined) {
    repair.finalizers = [...finalizers, finalizer]
  }
  const clusterName = claim.metadata.labels?.[CLUSTER_NAME_LABEL]
  if (clusterName !== undefined && metadata.labels?.[CLUSTER_NAME_LABEL] !== clusterName) {
    repair.labels = { [CLUSTER_NAME_LABEL]: clusterName }
  }
  return Object.keys(repair).length === 0 ? undefined : { metadata: repair }
}

/**
 * The owners of an IPAddress: the present ones, then claim and pool. An object with another
 * controller, made by another tool, does not get the claim as an owner, as upstream: an object has
 * at most one controller.
 */
function ownersFor(
  existing: readonly OwnerReference[],
  claim: IPAddressClaim,
  pool: KubeObject,
): readonly OwnerReference[] {
  const claimOwner = ownerReference(claim, IPAddressClaim.info, true)
  const poolOwner = ownerReference(pool, pool, false)
  const foreignController = existing.some((owner) => owner.controller === true && !sameOwner(owner, claimOwner))
  return upsert(foreignController ? existing : upsert(existing, claimOwner), poolOwner)
}

/**
 * The list with this owner once, in the place of the first one of its name; the list itself if it
 * is so already. Other owners of its name are earlier objects, and would be a second controller.
 */
function upsert(owners: readonly OwnerReference[], owner: OwnerReference): readonly OwnerReference[] {
  const index = owners.findIndex((candidate) => sameOwner(candidate, owner))
  const before = owners[index]
  if (before === undefined) return [...owners, owner]
  const same =
    before.apiVersion === owner.apiVersion &&
    before.uid === owner.uid &&
    before.controller === owner.controller &&
    before.blockOwnerDeletion === owner.blockOwnerDeletion
  const isOnly = owners.every((candidate, at) => at === index || !sameOwner(candidate, owner))
  if (same && isOnly) return owners
  return owners.with(index, owner).filter((candidate, at) => at === index || !sameOwner(candidate, owner))
}

/**
 * Whether two owners have the same kind and name; the uid of one may be that of an earlier object.
 */
function sameOwner(left: OwnerReference, right: OwnerReference): boolean {
  return left.kind === right.kind && left.name === right.name && groupOf(left.apiVersion) === groupOf(right.apiVersion)
}

function ownerReference(
  object: KubeObject,
  { apiVersion, kind }: Pick<KindInfo, 'apiVersion' | 'kind'>,
  controller: boolean,
): OwnerReference {
  return {
    apiVersion,
    kind,
    name: object.metadata.name,
    uid: uidOf(object),
    controller,
    blockOwnerDeletion: true,
  }
}

/**
 * Deletes exactly this version of an IPAddress. A write of this provider that is still in flight
 * could put the finalizer back, and the deletion would never complete.
 */
export function deletionOf(address: IPAddress): DeleteEffect {
  const asItIs = { uid: uidOf(address), resourceVersion: address.metadata.resourceVersion }
  return { kind: 'delete', ref: refOf(address), if: asItIs, why: `${address.spec.address} is free again` }
}

/**
 * The uid of an object that was read from a store.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an object that has none: it was not read from a store
 */
function uidOf(object: KubeObject): string {
  const { uid } = object.metadata
  if (uid !== undefined && uid !== '') return uid
  const argument = `metadata.uid of ${formatRef(refOf(object))}`
  refuse('planClaim', argument, 'the uid that the store gave', 'none')
}

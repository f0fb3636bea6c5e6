import { Cluster } from '../../crd/cluster-api/cluster.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { CLUSTER_NAME_LABEL } from '../../crd/cluster-api/names.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import type { KindInfo, ObjectRef } from '../../crd/meta/object.js'
import type { PoolKinds } from './rules.js'

/**
 * The objects that a plan for a claim needs besides the claim itself. Read them, and pass those
 * that exist.
 */
export interface ClaimReads {
  /** The IPAddress of the claim. */
  readonly address: ObjectRef
  /** The pool; `undefined` if it is not of a kind that this provider serves. */
  readonly pool: ObjectRef | undefined
  /** The Cluster; `undefined` if the claim names none. */
  readonly cluster: ObjectRef | undefined
}

/** The objects that a plan for a claim needs. */
export function claimReads(claim: IPAddressClaim, pools: PoolKinds): ClaimReads {
  const { name, namespace } = claim.metadata
  return {
    address: refTo(IPAddress.info, namespace, name),
    pool: poolRefOf(claim.spec.poolRef, namespace, pools),
    cluster: clusterRefOf(claim),
  }
}

/** The Cluster that a claim belongs to. */
export function clusterRefOf(claim: IPAddressClaim): ObjectRef | undefined {
  const name = clusterNameOf(claim)
  return name === undefined ? undefined : refTo(Cluster.info, claim.metadata.namespace, name)
}

/** Names an object of a kind. */
export function refTo({ apiVersion, kind }: KindInfo, namespace: string | undefined, name: string): ObjectRef {
  return { apiVersion, kind, namespace, name }
}

/**
 * The pool that a reference in an object of some namespace means: cluster-scoped if its kind is,
 * else of that namespace. `undefined` for other groups and kinds; a claim with an empty group is
 * not served either, as upstream.
 */
export function poolRefOf(
  reference: IPPoolReference,
  namespace: string | undefined,
  { kinds }: PoolKinds,
): ObjectRef | undefined {
  const found = kinds.find(({ group, kind }) => kind === reference.kind && group === reference.apiGroup)
  if (found === undefined) return undefined
  return refTo(found, found.namespaced ? namespace : undefined, reference.name)
}

/**
 * The pool of an IPAddress. An empty group, as in a v1beta1 object without one, means the group of
 * the pools here. Upstream's index of addresses does the same, and an address that is not counted
 * would be given again.
 */
export function poolOfAddress(address: IPAddress, pools: PoolKinds): ObjectRef | undefined {
  return poolRefOf(withGroup(address.spec.poolRef, pools), address.metadata.namespace, pools)
}

/** A pool reference with the group that an empty one stands for. */
export function withGroup(reference: IPPoolReference, { emptyGroup }: PoolKinds): IPPoolReference {
  return reference.apiGroup === '' ? { ...reference, apiGroup: emptyGroup } : reference
}

/** The Cluster that a claim belongs to: `spec.clusterName`, else the label. */
function clusterNameOf(claim: IPAddressClaim): string | undefined {
  return claim.spec.clusterName || claim.metadata.labels?.[CLUSTER_NAME_LABEL] || undefined
}

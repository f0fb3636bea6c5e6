import type { ConditionUpdate } from '../../claim/conditions.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import type { ClaimSummary } from './resolution.js'

/** The place of a claim in the spec of a machine. */
export interface ClaimPlace {
  /** The name of the owner: the machine, or its infrastructure object. */
  readonly owner: string
  /** From 0. */
  readonly deviceIndex: number
  /** The index as a text, for a device without a name. */
  readonly deviceName: string
  /** The place of the pool among those of the device, from 0. */
  readonly poolIndex: number
  readonly pool: IPPoolReference
  /** The annotations of the request for this pool. */
  readonly annotations: { readonly [key: string]: string }
}

/** The fields of the owner that labels of a claim may use. */
export interface OwnerLabels {
  readonly labels: { readonly [key: string]: string }
  /** `undefined` if the owner belongs to no Cluster. */
  readonly clusterName: string | undefined
}

/**
 * How an infrastructure provider names, marks and releases its claims. Plain data and pure
 * functions: write your own, or change one of `dialects`.
 */
export interface Dialect {
  readonly name: string
  /** @throws IpamError for a place without a name in this dialect */
  readonly claimName: (place: ClaimPlace) => string
  readonly labels: (owner: OwnerLabels) => { readonly [key: string]: string }
  readonly annotations: (place: ClaimPlace) => { readonly [key: string]: string }
  /** Whether `spec.clusterName` is written. */
  readonly setsClusterName: boolean
  /** The flags of the owner reference. */
  readonly ownerFlags: { readonly controller?: true; readonly blockOwnerDeletion?: true }
  /** The finalizer that holds a claim while its address is in use. */
  readonly finalizer?: string | undefined
  /**
   * Whether to adopt a claim of the right name, pool and Cluster, as after a restore: one without
   * an owner, or of the earlier owner that `ipam-kit.dev/earlier-uid` names. Else it is a conflict.
   * All of `dialects` adopt.
   */
  readonly adoptsUnowned: boolean
  /**
   * How a claim ends: it is deleted, or its finalizer is removed, and the garbage collector deletes
   * it after its owner.
   */
  readonly release: 'delete' | 'finalizer'
  /** The group of a pool reference without one. Left out: none. */
  readonly defaultPoolGroup?: string | undefined
  /**
   * Whether a claim of the owner was made in this dialect, not by another controller for the same
   * owner. Only such claims are removed with a device.
   */
  readonly isMarked: (claim: IPAddressClaim) => boolean
  /** The condition of the owner; `undefined` for none. */
  readonly condition: (summary: ClaimSummary) => ConditionUpdate | undefined
}

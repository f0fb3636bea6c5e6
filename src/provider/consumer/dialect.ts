import type { ConditionUpdate } from '../../claim/conditions.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import type { ClaimSummary } from './resolution.js'

/** Where in the spec of a machine a claim comes from. */
export interface ClaimPlace {
  /** Name of the owner: of the machine, or of what stands for it. */
  readonly owner: string
  /** From 0. */
  readonly deviceIndex: number
  /** Its index, for a device without a name. */
  readonly deviceName: string
  /** The place of the pool among those of the device, from 0. */
  readonly poolIndex: number
  readonly pool: IPPoolReference
  /** The annotations that the request for this pool brings. */
  readonly annotations: { readonly [key: string]: string }
}

/** What a dialect can take from the owner of a claim. */
export interface OwnerLabels {
  readonly labels: { readonly [key: string]: string }
  /** `undefined` if the owner belongs to no Cluster. */
  readonly clusterName: string | undefined
}

/**
 * How one infrastructure provider names, marks and releases its claims. Plain data and pure
 * functions: write your own, or change one of `dialects`.
 */
export interface Dialect {
  readonly name: string
  /** @throws IpamError for a place that it cannot name */
  readonly claimName: (place: ClaimPlace) => string
  readonly labels: (owner: OwnerLabels) => { readonly [key: string]: string }
  readonly annotations: (place: ClaimPlace) => { readonly [key: string]: string }
  /** Whether `spec.clusterName` is written. */
  readonly setsClusterName: boolean
  /** The flags of the owner reference. */
  readonly ownerFlags: { readonly controller?: true; readonly blockOwnerDeletion?: true }
  /** What holds a claim while its address is in use. */
  readonly finalizer?: string | undefined
  /**
   * Whether a claim of the right name, pool and Cluster is taken over that has no owner at all, or
   * one that had the name of ours and another uid, as after a restore. Otherwise it is a conflict.
   * Every dialect of `dialects` does so.
   */
  readonly adoptsUnowned: boolean
  /**
   * What ends a claim: its deletion, or the finalizer is taken off, and the garbage collector
   * deletes it after its owner.
   */
  readonly release: 'delete' | 'finalizer'
  /** The group of a pool that is named without one. Left out: none. */
  readonly defaultPoolGroup?: string | undefined
  /**
   * Whether a claim of the owner was made in this dialect, and is not one that another controller
   * made for the same owner. Only those are ever removed with a device.
   */
  readonly isMarked: (claim: IPAddressClaim) => boolean
  /** The condition that the owner shows; `undefined` if it shows none. */
  readonly condition: (summary: ClaimSummary) => ConditionUpdate | undefined
}

import type { Address } from '../../cidr/nouns/address.js'
import type { Model } from '../../crd/meta/model.js'
import type { Json, KubeObject } from '../../crd/meta/object.js'
import type { MergePatch } from '../../plan/effect.js'
import type { PlanTime } from '../../plan/index.js'
import type { ProviderFinalizers } from '../claims/definition.js'
import type { CloudNetwork } from './cloud.js'

/** The policy in the object of a pool, whatever its kind. */
export interface ExternalPolicy {
  /**
   * Existing addresses that the pool may use, in the order in which they are given. They are never
   * deleted.
   */
  readonly preallocated: readonly Address[]
  /**
   * The maximum number of addresses: those of claims and those that the pool has created, counted
   * once each. Left out: no limit.
   */
  readonly max?: number | undefined
  /** How many free addresses are created in advance. */
  readonly minFree: number
  /**
   * What happens with an address that the pool has created when its claim does not need it any
   * more. A retained one is given to the next claim.
   */
  readonly reclaim: 'Delete' | 'Retain'
  /** The network in the object, for the cloud to read; null: not specified. */
  readonly network: Json
  /**
   * Credentials, or where to find them, for the cloud to read. Left out: null, the cloud needs none
   * from the pool.
   */
  readonly access?: Json | undefined
  /** The prefix length in an IPAddress. Left out: that of a single address, 32 or 128. */
  readonly prefix?: number | undefined
  readonly gateway?: string | undefined
  /**
   * Addresses to adopt from another controller of this pool; they are never deleted. `listed`: the
   * addresses in the status when the pool is planned for the first time. `tags`: addresses with one
   * of these tags, at any time. Left out: none.
   */
  readonly adopt?: { readonly listed: readonly Address[]; readonly tags: readonly string[] } | undefined
}

/** The observed state of a pool, for its status. */
export interface PoolReport {
  readonly network: CloudNetwork | undefined
  /**
   * Canonical texts, in order of value. Each is in one of these lists at most; a missing one is in
   * `claimed` too.
   */
  readonly claimed: readonly string[]
  readonly available: readonly string[]
  /**
   * Addresses that the pool may use, but that are missing in the cloud, in another network,
   * attached elsewhere, or given by another pool. Checked with each inventory.
   */
  readonly failed: readonly FailedAddress[]
  /** Addresses of claims that the cloud does not have any more. */
  readonly missing: readonly string[]
  /**
   * Addresses that an earlier id of the pool has created, and no claim has. They are neither given
   * nor deleted before the operator confirms that the pool was moved.
   */
  readonly inherited: readonly string[]
  /** Unusable entries of the pool, and unusable items of lists of the cloud, as sentences. */
  readonly problems: readonly string[]
  /** Why a new claim has to wait; left out: it does not. */
  readonly shortage: Shortage | undefined
  /**
   * Whether the cloud has answered yet. Until then all lists except `claimed` are empty, and the
   * status keeps its present ones.
   */
  readonly isKnown: boolean
}

export interface FailedAddress {
  readonly address: string
  readonly reason: 'NotFound' | 'OtherNetwork' | 'Attached' | 'OtherPool'
}

/** Why a pool has nothing to give. */
export interface Shortage {
  readonly kind: 'max' | 'cloud' | 'invalid'
  readonly reason: 'PoolExhausted' | 'PoolNotReady' | 'AllocationFailed' | 'BackendExhausted' | 'BackendDenied'
  readonly message: string
  /** The operation that has failed, for `cloud`. */
  readonly operation?: string | undefined
}

/** A kind of pools whose addresses are in a cloud. */
export interface ExternalPoolKind<P extends KubeObject> {
  readonly model: Model<P>
  readonly finalizers?: Partial<ProviderFinalizers> | undefined
  /** The annotations of a pool that its policy is read from. */
  readonly annotations?: readonly string[] | undefined
  /** On a pool: it stays until its addresses are released. */
  readonly poolFinalizer: string
  /**
   * Reads a pool, or returns its problems as sentences. Pure; called once for each version. An
   * entry that cannot be used is a problem beside the policy, and not part of it.
   */
  policyOf(
    pool: P,
  ):
    | { readonly ok: true; readonly policy: ExternalPolicy; readonly problems?: readonly string[] | undefined }
    | { readonly ok: false; readonly problems: readonly string[] }
  /** The merge patch that writes a report to the status; `undefined`: the status has it already. */
  statusPatch(pool: P, report: PoolReport, time: PlanTime): MergePatch | undefined
}

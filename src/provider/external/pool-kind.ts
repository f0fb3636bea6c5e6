import type { Address } from '../../cidr/nouns/address.js'
import type { RangeSet } from '../../cidr/nouns/range-set.js'
import type { Model } from '../../crd/meta/model.js'
import type { Json, KubeObject } from '../../crd/meta/object.js'
import type { MergePatch } from '../../plan/effect.js'
import type { PlanTime } from '../../plan/index.js'
import type { ProviderFinalizers } from '../claims/definition.js'
import type { CloudNetwork } from './cloud.js'

/** What the object of a pool says, whatever its kind. */
export interface ExternalPolicy {
  /**
   * Addresses that were there before the pool and that it may use, in the order in which they are
   * given. None of them is ever deleted.
   */
  readonly preallocated: readonly Address[]
  /**
   * The most addresses that claims have and the pool has created, counted once each. Left out: no
   * limit.
   */
  readonly max?: number | undefined
  /** How many free addresses are created in advance. */
  readonly minFree: number
  /**
   * What becomes of an address that the pool has created and that no claim needs any more. A
   * retained one is given to the next claim.
   */
  readonly reclaim: 'Delete' | 'Retain'
  /** As the object names its network, for the cloud to read; null: it does not. */
  readonly network: Json
  /**
   * Credentials, or where they are, for the cloud to read. Left out: null, the cloud needs none of
   * the pool.
   */
  readonly access?: Json | undefined
  /**
   * The length of the subnet that an IPAddress says. Left out: that of a single address, 32 or 128.
   */
  readonly prefix?: number | undefined
  readonly gateway?: string | undefined
  /** Where new addresses are chosen, if the cloud can be asked for a certain one. */
  readonly ranges?: RangeSet | undefined
  /**
   * What is taken over of another controller of this pool, and never deleted: the addresses that
   * the status lists when the pool is planned for the first time, and those that have one of these
   * tags, at any time. Left out: nothing.
   */
  readonly adopt?: { readonly listed: readonly Address[]; readonly tags: readonly string[] } | undefined
}

/** What a pool is found to be, for its status. */
export interface PoolReport {
  readonly network: CloudNetwork | undefined
  /** Canonical texts, in order of value. Each is in one of these lists at most. */
  readonly claimed: readonly string[]
  readonly available: readonly string[]
  /**
   * What the pool may use and the cloud does not have, has in another network, or has attached
   * elsewhere, or what another pool gives. Looked at again with each inventory.
   */
  readonly failed: readonly FailedAddress[]
  /**
   * Of which it cannot be told whether the pool has created them. People have to remove them in the
   * cloud, or put the marker of the pool on them.
   */
  readonly quarantined: readonly string[]
  /** What the cloud has listed and cannot be used, in sentences. */
  readonly problems: readonly string[]
  /** Why a claim that comes now waits; left out: it does not. */
  readonly shortage: Shortage | undefined
  /**
   * Whether the cloud has told anything yet. Until then the lists but `claimed` are empty, and the
   * status keeps those that it has.
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
  /** On a pool: it stays until its addresses are given back. */
  readonly poolFinalizer: string
  /**
   * Reads a pool, or says in sentences what is wrong with it. Pure; called once for each version.
   */
  policyOf(
    pool: P,
  ):
    | { readonly ok: true; readonly policy: ExternalPolicy }
    | { readonly ok: false; readonly problems: readonly string[] }
  /** The merge patch that has the status say a report; `undefined`: it says that already. */
  statusPatch(pool: P, report: PoolReport, time: PlanTime): MergePatch | undefined
}

import type { ClaimState } from '../../claim/index.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { ADDRESS } from '../../crd/cluster-api/kinds.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import type { OwnerReference } from '../../crd/meta/object.js'
import type { KindOf } from '../../errors/check.js'

/** The owner of claims, and which claims it adopts. */
export interface ClaimOwner {
  readonly ownerReference: OwnerReference
  /** As in the `Dialect`. */
  readonly adoptsUnowned: boolean
  /**
   * The Cluster of the owner, whether the dialect writes it or not: a restored claim of another
   * Cluster is not adopted.
   */
  readonly ownerCluster?: string | undefined
  /** The uid of an earlier object of the owner's name, from `ipam-kit.dev/earlier-uid`. */
  readonly earlierUid?: string | undefined
}

/** A claim as its consumer wants it. */
export interface DesiredClaim extends ClaimOwner {
  readonly name: string
  readonly namespace: string
  readonly labels: { readonly [key: string]: string }
  readonly annotations: { readonly [key: string]: string }
  readonly finalizer?: string | undefined
  readonly poolRef: IPPoolReference
  readonly clusterName?: string | undefined
  /** The index of the device in the machine, from 0. */
  readonly deviceIndex: number
  readonly deviceName: string
  readonly poolIndex: number
}

/**
 * Why an existing claim of the right name cannot be used.
 *
 * - `OwnerMismatch`: it has another owner, or has lost its owner and is not of this Cluster. An
 *   earlier object of the owner's name is another owner, until an annotation of the owner names it
 * - `PoolMismatch`: it is for another pool than the desired one. The spec of a claim never changes
 * - `AddressMissing`: the IPAddress that it names does not exist (yet)
 * - `AddressPoolRef`, `AddressClaimRef`: that IPAddress is of another pool, or for another claim
 */
export type ConflictReason = 'OwnerMismatch' | 'PoolMismatch' | 'AddressMissing' | 'AddressPoolRef' | 'AddressClaimRef'

/** The state of a desired claim, with a sentence about it. */
export type Resolution =
  /**
   * The claim does not exist. `orphanAddress`: an IPAddress of its name exists, and a provider may
   * adopt it.
   */
  | { readonly kind: 'missing'; readonly message: string; readonly orphanAddress?: IPAddress | undefined }
  /** The claim has no address yet. `state` and `reason` are those of its condition Ready. */
  | {
      readonly kind: 'pending'
      readonly message: string
      readonly claim: IPAddressClaim
      readonly state: ClaimState
      readonly reason: string | undefined
    }
  /**
   * The claim has its address. `annotations`: those of the address, overridden by those of the
   * claim.
   */
  | {
      readonly kind: 'bound'
      readonly message: string
      readonly claim: IPAddressClaim
      readonly address: IPAddress
      readonly annotations: { readonly [key: string]: string }
    }
  /** The claim is being deleted. `address`: may be used until then. */
  | {
      readonly kind: 'deleting'
      readonly message: string
      readonly claim: IPAddressClaim
      readonly whose: 'mine' | 'foreign'
      readonly address?: IPAddress | undefined
    }
  | {
      readonly kind: 'conflict'
      readonly message: string
      readonly claim: IPAddressClaim
      readonly reason: ConflictReason
    }

/** A desired claim, and its state. */
export interface ResolvedClaim {
  readonly desired: DesiredClaim
  readonly resolution: Resolution
}

/** What a check of an argument holds of a resolved claim. */
export const RESOLVED: KindOf<ResolvedClaim> = [
  'open',
  {
    desired: ['open', { deviceName: 'text', annotations: 'object' }],
    resolution: [
      'by',
      'kind',
      {
        missing: 'object',
        pending: 'object',
        bound: ['open', { address: ADDRESS }],
        deleting: 'object',
        conflict: 'object',
      },
    ],
  },
]

/** The number of claims in each state. */
export interface ClaimCounts {
  readonly total: number
  readonly missing: number
  readonly pending: number
  readonly bound: number
  readonly deleting: number
  readonly conflict: number
  /** Claims that name an address, usable or not. */
  readonly fulfilled: number
}

/** The input of a condition. */
export interface ClaimSummary {
  readonly counts: ClaimCounts
  readonly claims: readonly ResolvedClaim[]
}

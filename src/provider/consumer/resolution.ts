import type { ClaimState } from '../../claim/index.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import type { OwnerReference } from '../../crd/meta/object.js'

/** A claim as its consumer wants it. */
export interface DesiredClaim {
  readonly name: string
  readonly namespace: string
  readonly labels: { readonly [key: string]: string }
  readonly annotations: { readonly [key: string]: string }
  readonly ownerReference: OwnerReference
  readonly finalizer?: string | undefined
  readonly poolRef: IPPoolReference
  readonly clusterName?: string | undefined
  /** The place of the device among those of the machine, from 0. */
  readonly deviceIndex: number
  readonly deviceName: string
  readonly poolIndex: number
  /** As in the `Dialect`. */
  readonly adoptsUnowned: boolean
  /**
   * The Cluster of the owner, whether the dialect writes it or not: a restored claim that names
   * another one is not adopted.
   */
  readonly ownerCluster?: string | undefined
}

/**
 * Why a claim of the right name is of no use.
 *
 * - `OwnerMismatch`: it is another's, or has lost its owner and is not of our Cluster
 * - `PoolMismatch`: it is for another pool than is wanted now. The spec of a claim never changes
 * - `AddressMissing`: the IPAddress that it names is not there (yet)
 * - `AddressPoolRef`, `AddressClaimRef`: that IPAddress is of another pool, or for another claim
 */
export type ConflictReason = 'OwnerMismatch' | 'PoolMismatch' | 'AddressMissing' | 'AddressPoolRef' | 'AddressClaimRef'

/** Where a desired claim stands. Every one says so in a sentence. */
export type Resolution =
  /**
   * There is no such claim. `orphanAddress`: an IPAddress has its name all the same, and a provider
   * may adopt it.
   */
  | { readonly kind: 'missing'; readonly message: string; readonly orphanAddress?: IPAddress | undefined }
  /** It has no address yet. `state` and `reason` are what its condition Ready says. */
  | {
      readonly kind: 'pending'
      readonly message: string
      readonly claim: IPAddressClaim
      readonly state: ClaimState
      readonly reason: string | undefined
    }
  /** It has its address. `annotations`: those of the address, and over them those of the claim. */
  | {
      readonly kind: 'bound'
      readonly message: string
      readonly claim: IPAddressClaim
      readonly address: IPAddress
      readonly annotations: { readonly [key: string]: string }
    }
  /** It is on its way out. `address`: what it has is ours to use until then. */
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

/** A desired claim, and where it stands. */
export interface ResolvedClaim {
  readonly desired: DesiredClaim
  readonly resolution: Resolution
}

/** How many claims stand where. */
export interface ClaimCounts {
  readonly total: number
  readonly missing: number
  readonly pending: number
  readonly bound: number
  readonly deleting: number
  readonly conflict: number
  /** Claims that name an address, whether it is of any use or not. */
  readonly fulfilled: number
}

/** What a condition is made from. */
export interface ClaimSummary {
  readonly counts: ClaimCounts
  readonly claims: readonly ResolvedClaim[]
}

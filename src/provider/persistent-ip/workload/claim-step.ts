import type { IPAMClaim } from '../../../crd/ipamclaims/index.js'
import type { KubeObject, ObjectRef, OwnerReference } from '../../../crd/meta/object.js'

/** What is done about one claim of a workload. A host does it if the proofs of the step hold. */
export type ClaimStep =
  /** The claim is created. */
  | { readonly kind: 'make'; readonly claim: IPAMClaim }
  /** The claim is as it should be, or it stays as it is. */
  | { readonly kind: 'keep'; readonly claim: KubeObject }
  /** The claim gets an owner, a finalizer or a label that it lacks. */
  | {
      readonly kind: 'mend'
      readonly claim: KubeObject
      readonly metadata: MendedMetadata
      readonly why: string
      readonly proofs: readonly ClaimProof[]
    }
  /** The workload cannot have the claim now. Nothing is written. */
  | {
      readonly kind: 'refuse'
      /** The name of the claim; of one without a name that of the network. */
      readonly name: string
      readonly reason: ClaimRefusal
      readonly message: string
      /** The name of the Pod that asks for the claim. Left out: a virtual machine does. */
      readonly pod?: string | undefined
    }
  /** The finalizer of the claim is removed. */
  | {
      readonly kind: 'release'
      readonly claim: KubeObject
      readonly finalizer: string
      readonly why: string
      readonly proofs: readonly ClaimProof[]
    }
  /** The finalizer is removed, and the claim is deleted: its interface is unplugged. */
  | {
      readonly kind: 'remove'
      readonly claim: KubeObject
      readonly finalizer: string
      readonly why: string
      readonly proofs: readonly ClaimProof[]
    }

/** The members of `metadata` that a claim gets. */
export interface MendedMetadata {
  readonly labels?: { readonly [key: string]: string } | undefined
  readonly finalizers: readonly string[]
  readonly ownerReferences: readonly OwnerReference[]
}

/**
 * What has to be true when a step is done. `absent`: the store has no such object; without a uid no
 * object of that name. `unchanged`: the store has this version of the object.
 */
export type ClaimProof =
  | { readonly absent: { readonly ref: ObjectRef; readonly uid?: string | undefined } }
  | { readonly unchanged: KubeObject }

/**
 * Why a workload cannot have a claim.
 *
 * - `ClaimTerminating`: the claim is being deleted. The next one is made when it does not exist
 * - `OwnerMismatch`: the claim has another owner, none or several
 * - `NetworkMismatch`: the claim is of another network than the interface
 * - `NameConflict`: another network of the workload has the name of the claim
 * - `InvalidName`: an API server refuses the name of the claim, or the label with the workload
 * - `InvalidOwner`: the annotation of the Pod cannot be read, or names a kind that is not allowed
 * - `OwnerNotFound`: an owner that the Pod names does not exist
 * - `OwnerTerminating`: an owner that the Pod names is being deleted
 * - `NetworkNotReady`: the network does not exist, cannot be read, or does not honour claims
 */
export type ClaimRefusal =
  | 'ClaimTerminating'
  | 'OwnerMismatch'
  | 'NetworkMismatch'
  | 'NameConflict'
  | 'InvalidName'
  | 'InvalidOwner'
  | 'OwnerNotFound'
  | 'OwnerTerminating'
  | 'NetworkNotReady'

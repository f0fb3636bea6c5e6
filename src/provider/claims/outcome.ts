import type { Outcome } from '../../plan/index.js'
import type { WaitReason } from './definition.js'

/** The outcome of a plan for a claim. */
export type ClaimOutcome =
  /** The claim is for a pool that this provider does not serve. Nothing is written to it. */
  | (Outcome & { readonly kind: 'ignored' })
  /** The claim, its Cluster or its pool is paused: nothing is allocated and nothing released. */
  | (Outcome & { readonly kind: 'paused'; readonly by: 'claim' | 'cluster' | 'pool' })
  /**
   * The claim waits for its Cluster, its pool, a free address, or for an object that is in the way.
   */
  | (Outcome & {
      readonly kind: 'waiting'
      /**
       * `ExternalCall`: it waits for the result of the call among the effects. `Reservation`: for
       * the plan of its pool.
       */
      readonly reason: 'ClusterNotFound' | WaitReason | 'ExternalCall' | 'Reservation'
      /** The external system stores no markers: if the answer is lost, an address may leak. */
      readonly leakPossible?: true | undefined
    })
  /** The claim has this address, or has it when the effects are done. */
  | (Outcome & {
      readonly kind: 'bound'
      readonly address: string
      readonly prefix: number | undefined
      readonly gateway: string | undefined
    })
  /**
   * The claim is being deleted. Its address stays in use, because consumers have finalizers on the
   * claim.
   */
  | (Outcome & { readonly kind: 'held'; readonly finalizers: readonly string[] })
  /** The claim is being deleted. Its address stays in use until the grace period ends. */
  | (Outcome & { readonly kind: 'releasing'; readonly remainingSeconds: number })
  /** The claim is being deleted. Its address, if it had one, is free when the effects are done. */
  | (Outcome & {
      readonly kind: 'released'
      readonly address: string | undefined
      /**
       * An address that an external system may have for this claim was not released: its pool was
       * deleted by force.
       */
      readonly leakPossible?: true | undefined
    })
  /**
   * An IPAddress has no claim, and is deleted after this number of seconds. `undefined`: never, or
   * not while something holds it.
   */
  | (Outcome & { readonly kind: 'orphaned'; readonly remainingSeconds: number | undefined })
  /** An IPAddress has no claim, and is deleted when the effects are done. */
  | (Outcome & { readonly kind: 'swept'; readonly address: string })

/** An object that the provider cannot read. */
export type UnreadableOutcome = Outcome & { readonly kind: 'unreadable' }

import type { Outcome } from '../../plan/index.js'
import type { WaitReason } from './definition.js'

/** What a plan for a claim came to. */
export type ClaimOutcome =
  /** The claim is for a pool that this provider does not serve. Nothing is written to it. */
  | (Outcome & { readonly kind: 'ignored' })
  /** The claim, its Cluster or its pool is paused: nothing is allocated and nothing released. */
  | (Outcome & { readonly kind: 'paused'; readonly by: 'claim' | 'cluster' | 'pool' })
  /**
   * The claim waits: for its Cluster, its pool, room in it, or for an object that is in the way.
   */
  | (Outcome & {
      readonly kind: 'waiting'
      /**
       * `ExternalCall`: for the answer of an external system that is asked by the effects.
       * `Reservation`: for the plan of its pool.
       */
      readonly reason: 'ClusterNotFound' | WaitReason | 'ExternalCall' | 'Reservation'
      /**
       * The external system keeps no markers: if the answer is lost, an address may be lost with
       * it.
       */
      readonly leakPossible?: true | undefined
    })
  /** The claim has this address, or will have when the effects are done. */
  | (Outcome & {
      readonly kind: 'bound'
      readonly address: string
      readonly prefix: number | undefined
      readonly gateway: string | undefined
    })
  /**
   * The claim is being deleted and its address stays in use, because consumers have finalizers on
   * the claim.
   */
  | (Outcome & { readonly kind: 'held'; readonly finalizers: readonly string[] })
  /** The claim is being deleted and its address stays in use until the grace period is over. */
  | (Outcome & { readonly kind: 'releasing'; readonly remainingSeconds: number })
  /**
   * The claim is being deleted and its address, if it had one, is free when the effects are done.
   */
  | (Outcome & {
      readonly kind: 'released'
      readonly address: string | undefined
      /**
       * What an external system may have for this claim could not be given back: its pool was
       * removed by force.
       */
      readonly leakPossible?: true | undefined
    })
  /**
   * There is no claim, but an IPAddress for it: removed after so many seconds. `undefined`: not at
   * all, or not while something holds it.
   */
  | (Outcome & { readonly kind: 'orphaned'; readonly remainingSeconds: number | undefined })
  /** There is no claim, and the IPAddress for it is gone when the effects are done. */
  | (Outcome & { readonly kind: 'swept'; readonly address: string })

/** An object that the provider was shown and cannot read. */
export type UnreadableOutcome = Outcome & { readonly kind: 'unreadable' }

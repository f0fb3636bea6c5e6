import type { OwnerReference } from '../../crd/meta/object.js'
import type { Propagation } from '../../plan/effect.js'
import type { Outcome } from '../../plan/index.js'

/** What a plan for an object came to. */
export type GcOutcome =
  /**
   * Nothing is to be done: it has no owner, or one that lives. `unresolved`: the references that
   * cannot be followed. Each of them counts as an owner that lives.
   */
  | (Outcome & { readonly kind: 'kept'; readonly unresolved: readonly OwnerReference[] })
  /** It stays, and loses the references to owners that are gone or that go without it. */
  | (Outcome & {
      readonly kind: 'pruned'
      readonly removed: readonly OwnerReference[]
      readonly unresolved: readonly OwnerReference[]
    })
  /**
   * It is deleted, as no owner of it is left. `propagation`: what then happens to its own
   * dependents.
   */
  | (Outcome & { readonly kind: 'collected'; readonly propagation: Propagation })
  /**
   * It is being deleted and held until this number of dependents are deleted (`foregroundDeletion`)
   * or no longer refer to it (`orphan`).
   */
  | (Outcome & {
      readonly kind: 'held'
      readonly by: 'foregroundDeletion' | 'orphan'
      readonly dependents: number
    })
  /**
   * It is being deleted, and it and one of its owners waited for each other: the owner no longer
   * waits.
   */
  | (Outcome & { readonly kind: 'unblocked' })
  /** It is being deleted, and it need not wait for any dependent any more. */
  | (Outcome & { readonly kind: 'finished' })
  /** It is being deleted, and the collector has no part in that. */
  | (Outcome & { readonly kind: 'leaving' })
  /** Nothing is decided, because a kind has not been listed yet. */
  | (Outcome & { readonly kind: 'unlisted' })

import type { OwnerReference } from '../../crd/meta/object.js'
import type { Propagation } from '../../plan/effect.js'
import type { Outcome } from '../../plan/index.js'

/** The outcome of a plan for an object. */
export type GcOutcome =
  /**
   * Nothing is to be done: the object has no owner, or a living one. `unresolved`: references that
   * cannot be followed. Each of them counts as a living owner.
   */
  | (Outcome & { readonly kind: 'kept'; readonly unresolved: readonly OwnerReference[] })
  /**
   * The object stays, and loses references to owners that do not exist, or that are deleted without
   * it.
   */
  | (Outcome & {
      readonly kind: 'pruned'
      readonly removed: readonly OwnerReference[]
      readonly unresolved: readonly OwnerReference[]
    })
  /**
   * The object is deleted: it has no owner left. `propagation`: what happens to its own dependents.
   */
  | (Outcome & { readonly kind: 'collected'; readonly propagation: Propagation })
  /**
   * The object is being deleted. It is held until this number of dependents are deleted
   * (`foregroundDeletion`) or no longer refer to it (`orphan`).
   */
  | (Outcome & {
      readonly kind: 'held'
      readonly by: 'foregroundDeletion' | 'orphan'
      readonly dependents: number
    })
  /**
   * The object is being deleted, and was waiting for one of its owners, which was waiting for it:
   * the owner no longer waits.
   */
  | (Outcome & { readonly kind: 'unblocked' })
  /** The object is being deleted, and no longer waits for a dependent. */
  | (Outcome & { readonly kind: 'finished' })
  /** The object is being deleted, without work for the collector. */
  | (Outcome & { readonly kind: 'leaving' })
  /** Nothing is decided, because a kind has not been listed yet. */
  | (Outcome & { readonly kind: 'unlisted' })

import type { UpgradePhase } from '../../whereabouts/tasks/objects.js'
import type { UpgradeDifference } from './compare.js'
import type { UpgradeOddity } from './report.js'

/** Both sides name the same holder of each address. */
export interface SameRows {
  readonly kind: 'same'
  readonly message: string
  /** The number of rows. */
  readonly rows: number
  /** The `resourceVersion` that the pool of whereabouts had while the blocks were read. */
  readonly version: string
  /** The phase of the pool at that version. Left out: it has none. */
  readonly phase?: UpgradePhase | 'unknown' | undefined
}

/** The pool and the blocks do not name the same holder of each address. */
export interface DifferentRows extends Omit<SameRows, 'kind'> {
  readonly kind: 'different'
  readonly differences: readonly UpgradeDifference[]
}

/** The pool is not ready for the upgrade, or the blocks cannot have its rows. */
export interface UpgradeNotReady {
  readonly kind: 'notReady'
  readonly message: string
  readonly oddities: readonly UpgradeOddity[]
}

/** The task does not belong to the phase of the pool. It has written nothing. */
export interface WrongPhase {
  readonly kind: 'wrongPhase'
  readonly message: string
  /** The phase of the pool. Left out: it has none. */
  readonly phase?: UpgradePhase | 'unknown' | undefined
}

/**
 * The upgrade of the pool has lost the Lease since its start: a plugin of upstream may have written
 * rows.
 */
export interface OtherWriter {
  readonly kind: 'otherWriter'
  readonly message: string
  /**
   * What holds the Lease now: the upgrade itself if it has taken the Lease back for another pool.
   * Empty: it is free.
   */
  readonly holder: string
}

/** The end of `copyRows` and `verifyUpgrade`. */
export type UpgradeOutcome = SameRows | DifferentRows | UpgradeNotReady | WrongPhase

/** The end of the tasks that change the phase of a pool. */
export type PhaseOutcome =
  /** The pool is in the phase that the task brings it to. */
  | {
      readonly kind: 'phase'
      readonly message: string
      /** Left out: the pool has no phase any more. */
      readonly phase?: UpgradePhase | undefined
      /** The number of rows of the pool. */
      readonly rows: number
      /** The `resourceVersion` of the pool. */
      readonly version: string
    }
  | DifferentRows
  | UpgradeNotReady
  | WrongPhase
  /** A writer of upstream holds the Lease now. Repeat the task. */
  | { readonly kind: 'leaseHeld'; readonly message: string; readonly holder: string }
  | OtherWriter
  /** Of `finishUpgrade`: the pool does not exist, so nothing says how its upgrade has ended. */
  | { readonly kind: 'noPool'; readonly message: string }

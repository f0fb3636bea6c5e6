import type { Address } from '../../../cidr/nouns/address.js'
import type { Change, Step, TaskTime } from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import type { Assignment } from './assignment.js'
import type { TaskObjects } from './objects.js'
import type { AddOutcome } from './outcome.js'

/** The next step, or how the ADD ends. */
export type SideStep = { readonly step: Step<never> } | { readonly outcome: AddOutcome }

/**
 * Where an ADD writes its rows too: the blocks, while a pool is upgraded to them. An ADD without it
 * takes no address of a pool that has a phase.
 */
export interface OtherSide {
  /** Addresses that other holders have there, as far as known. */
  readonly taken: readonly Address[]
  /** Addresses that the interface has there, though a pool has no row of it. */
  readonly own: readonly Address[]
  observe(change: Change): void
  listed(query: TaskQuery): void
  refused(refusal: TaskRefusal): boolean
  /**
   * Called before rows are written to pools. `undefined`: it is known whether each of the addresses
   * is free there, and `taken` has those that are not. `again`: `own` has more addresses, so
   * addresses have to be chosen again.
   */
  review(assignments: readonly Assignment[], objects: TaskObjects, time: TaskTime): SideStep | 'again' | undefined
  /**
   * Called when the pools have all rows. `undefined`: the other side has them too, and the pools
   * had them after that.
   */
  write(assignments: readonly Assignment[], objects: TaskObjects, time: TaskTime): SideStep | undefined
  /** Removes what `write` has written. `undefined`: nothing is left. */
  undo(time: TaskTime): Step<never> | undefined
}

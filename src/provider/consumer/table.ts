import { refuse } from '../../errors/refuse.js'
import type { Resolution } from './resolution.js'

/** The state of a claim in the table. */
export type ConsumerState = (typeof STATES)[number]

/**
 * The event for the claims of an owner.
 *
 * - `Reconcile`: the owner exists, and wants the claim
 * - `Paused`: the owner or its Cluster is paused
 * - `OwnerDeleting`: the owner is being deleted, and its infrastructure still exists
 * - `InfrastructureGone`: the addresses of the owner are no longer in use
 * - `Removed`: the owner exists, and the device or pool is no longer in its spec
 * - `AllBound`: every claim of the owner is Bound
 */
export type ConsumerEvent = 'Reconcile' | 'Paused' | 'OwnerDeleting' | 'InfrastructureGone' | 'Removed' | 'AllBound'

/** The action for one claim. */
export type ConsumerAction =
  /** Nothing is written. */
  | 'Nothing'
  /** Create it, with owner and finalizer. */
  | 'Create'
  /** Add owner, finalizer, labels and annotations where they are missing. */
  | 'Repair'
  /**
   * Remove the finalizer, if the claim belongs to the earlier owner of the name that the operator
   * has named; wait for its deletion.
   */
  | 'DropStaleFinalizer'
  /** Nothing is written, because the address is in use. */
  | 'Hold'
  /** Remove the finalizer, and delete the claim if the dialect or the caller says so. */
  | 'Release'
  /** Delete the claim, and remove the finalizer. */
  | 'Delete'
  /** As `Delete`, once the caller says that the device is detached; until then `Hold`. */
  | 'DeleteWhenDetached'
  /** Remove the finalizer. */
  | 'LetGo'
  /** As `LetGo`, once the caller says that the device is detached; until then `Hold`. */
  | 'LetGoWhenDetached'
  /** Configure the addresses on the machine. */
  | 'Configure'

/** One cell of the table. */
export interface ConsumerRule {
  readonly event: ConsumerEvent
  readonly state: ConsumerState
  readonly does: ConsumerAction
}

const STATES = ['Missing', 'Pending', 'Bound', 'Conflict', 'Deleting(foreign)', 'Deleting(mine)'] as const

/** By event, the action in each of these states. */
const ACTIONS: { readonly [E in ConsumerEvent]: readonly ConsumerAction[] } = {
  Reconcile: ['Create', 'Repair', 'Repair', 'Nothing', 'DropStaleFinalizer', 'Nothing'],
  Paused: ['Nothing', 'Nothing', 'Nothing', 'Nothing', 'Nothing', 'Nothing'],
  OwnerDeleting: ['Nothing', 'Hold', 'Hold', 'Nothing', 'Nothing', 'Hold'],
  InfrastructureGone: ['Nothing', 'Release', 'Release', 'Nothing', 'Nothing', 'LetGo'],
  Removed: ['Nothing', 'Delete', 'DeleteWhenDetached', 'Nothing', 'Nothing', 'LetGoWhenDetached'],
  AllBound: ['Nothing', 'Nothing', 'Configure', 'Nothing', 'Nothing', 'Nothing'],
}

/**
 * All rules of a consumer: every event in every state. A claim of another owner is never written,
 * and an address that may be in use is never released: in doubt, the cell waits.
 *
 * `Conflict` of `InfrastructureGone` means a claim of another owner. A claim of this owner that was
 * not usable, for another pool or without its address, is released as `Bound` is.
 */
export const consumerRules: readonly ConsumerRule[] = /* @__PURE__ */ (Object.keys(ACTIONS) as ConsumerEvent[]).flatMap(
  (event) => STATES.map((state) => ({ event, state, does: actionOn(event, state) })),
)

/**
 * The action for a claim. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for an event or a state that is not in the table
 */
export function actionOn(event: ConsumerEvent, state: ConsumerState): ConsumerAction {
  const actions = Object.hasOwn(ACTIONS, event) ? ACTIONS[event] : []
  return actions[STATES.indexOf(state)] ?? refuse('planClaims', 'event', 'a cell of the table', `${event} in ${state}`)
}

/**
 * The state of a claim in the table. A claim of this owner whose IPAddress does not exist (yet) is
 * `Pending`, not a conflict. O(1).
 */
export function consumerStateOf(resolution: Resolution): ConsumerState {
  const { kind } = resolution
  if (kind === 'deleting') return `Deleting(${resolution.whose})`
  if (kind === 'conflict') return resolution.reason === 'AddressMissing' ? 'Pending' : 'Conflict'
  return kind === 'missing' ? 'Missing' : kind === 'pending' ? 'Pending' : 'Bound'
}

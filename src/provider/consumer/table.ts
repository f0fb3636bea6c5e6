import { refuse } from '../../errors/refuse.js'
import type { Resolution } from './resolution.js'

/** Where a claim stands, as the table names it. */
export type ConsumerState = (typeof STATES)[number]

/**
 * What moves the claims of an owner.
 *
 * - `Reconcile`: the owner lives, and wants the claim
 * - `Paused`: the owner or its Cluster is paused
 * - `OwnerDeleting`: the owner is on its way out, and its infrastructure is still there
 * - `InfrastructureGone`: nothing uses the addresses of the owner any more
 * - `Removed`: the owner lives, and its device or pool is no longer in its spec
 * - `AllBound`: every claim of the owner is Bound
 */
export type ConsumerEvent = 'Reconcile' | 'Paused' | 'OwnerDeleting' | 'InfrastructureGone' | 'Removed' | 'AllBound'

/** What is done about one claim. */
export type ConsumerAction =
  /** Nothing is written. */
  | 'Nothing'
  /** Create it, with owner and finalizer. */
  | 'Create'
  /** See to it that it has owner, finalizer, labels and annotations. */
  | 'Repair'
  /**
   * Take our finalizer off, if the claim is of an owner that had the name of ours before and so is
   * gone; wait for its end.
   */
  | 'DropStaleFinalizer'
  /** Nothing is written, because the address is in use. */
  | 'Hold'
  /** Take the finalizer off, and delete it where the dialect or the caller says so. */
  | 'Release'
  /** Delete it, and take the finalizer off. */
  | 'Delete'
  /** As `Delete`, once the caller says that the device is detached; until then `Hold`. */
  | 'DeleteWhenDetached'
  /** Take the finalizer off. */
  | 'LetGo'
  /** As `LetGo`, once the caller says that the device is detached; until then `Hold`. */
  | 'LetGoWhenDetached'
  /** Give the addresses to the machine. */
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
 * The whole of what a consumer does: every event in every state. A claim of another owner is never
 * written to, and an address that may be in use is never given up: where one of the two is not
 * certain, the cell waits.
 *
 * `Conflict` of `InfrastructureGone` is a claim of another owner. One of ours that was of no use,
 * for another pool or without its address, is released as `Bound` is.
 */
export const consumerRules: readonly ConsumerRule[] = /* @__PURE__ */ (Object.keys(ACTIONS) as ConsumerEvent[]).flatMap(
  (event) => STATES.map((state) => ({ event, state, does: actionOn(event, state) })),
)

/**
 * What is done about a claim. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for an event or a state that the table does not know
 */
export function actionOn(event: ConsumerEvent, state: ConsumerState): ConsumerAction {
  const actions = Object.hasOwn(ACTIONS, event) ? ACTIONS[event] : []
  return actions[STATES.indexOf(state)] ?? refuse('event', 'a cell of the table', `${event} in ${state}`)
}

/**
 * The name of where a claim stands. One of ours that names an IPAddress which is not there (yet) is
 * `Pending`: that is nobody's mistake. O(1).
 */
export function consumerStateOf(resolution: Resolution): ConsumerState {
  const { kind } = resolution
  if (kind === 'deleting') return `Deleting(${resolution.whose})`
  if (kind === 'conflict') return resolution.reason === 'AddressMissing' ? 'Pending' : 'Conflict'
  return kind === 'missing' ? 'Missing' : kind === 'pending' ? 'Pending' : 'Bound'
}

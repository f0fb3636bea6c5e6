import { ipamError } from '../../errors/index.js'
import type { Resolution } from './resolution.js'

/** Where a claim stands, as the table names it. */
export type ConsumerState = 'Missing' | 'Pending' | 'Bound' | 'Conflict' | 'Deleting(foreign)' | 'Deleting(mine)'

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
  /** Take our finalizer off, if the claim is of an owner that had the name of ours before and so is gone; wait for its end. */
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

const STATES: readonly ConsumerState[] = [
  'Missing',
  'Pending',
  'Bound',
  'Conflict',
  'Deleting(foreign)',
  'Deleting(mine)',
]

/**
 * The whole of what a consumer does: every event in every state. A claim of another owner is never written to, and an address that may be in use is
 * never given up: where one of the two is not certain, the cell waits.
 *
 * `Conflict` of `InfrastructureGone` is a claim of another owner. One of ours that was of no use, for another pool or without its address, is released
 * as `Bound` is.
 */
export const consumerRules: readonly ConsumerRule[] = [
  ...row('Reconcile', 'Create', 'Repair', 'Repair', 'Nothing', 'DropStaleFinalizer', 'Nothing'),
  ...row('Paused', 'Nothing', 'Nothing', 'Nothing', 'Nothing', 'Nothing', 'Nothing'),
  ...row('OwnerDeleting', 'Nothing', 'Hold', 'Hold', 'Nothing', 'Nothing', 'Hold'),
  ...row('InfrastructureGone', 'Nothing', 'Release', 'Release', 'Nothing', 'Nothing', 'LetGo'),
  ...row('Removed', 'Nothing', 'Delete', 'DeleteWhenDetached', 'Nothing', 'Nothing', 'LetGoWhenDetached'),
  ...row('AllBound', 'Nothing', 'Nothing', 'Configure', 'Nothing', 'Nothing', 'Nothing'),
]

/**
 * What is done about a claim. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for an event or a state that the table does not know
 * @example
 * actionOn('OwnerDeleting', 'Bound') // 'Hold'
 * actionOn('InfrastructureGone', 'Bound') // 'Release'
 */
export function actionOn(event: ConsumerEvent, state: ConsumerState): ConsumerAction {
  const found = consumerRules.find((rule) => rule.event === event && rule.state === state)
  if (found !== undefined) return found.does
  throw ipamError('INVALID_ARGUMENT', {
    argument: 'event',
    expected: 'a cell of the table',
    got: `${event} in ${state}`,
  })
}

/** The name of where a claim stands. One of ours that names an IPAddress which is not there (yet) is `Pending`: that is nobody's mistake. O(1). */
export function consumerStateOf(resolution: Resolution): ConsumerState {
  switch (resolution.kind) {
    case 'missing':
      return 'Missing'
    case 'pending':
      return 'Pending'
    case 'bound':
      return 'Bound'
    case 'conflict':
      return resolution.reason === 'AddressMissing' ? 'Pending' : 'Conflict'
    case 'deleting':
      return resolution.whose === 'mine' ? 'Deleting(mine)' : 'Deleting(foreign)'
  }
}

function row(event: ConsumerEvent, ...actions: ConsumerAction[]): ConsumerRule[] {
  return STATES.map((state, index) => ({ event, state, does: actions[index] as ConsumerAction }))
}

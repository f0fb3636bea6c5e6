import { ipamError } from '../errors/failure.js'
import type { ClaimEffect, ClaimEvent, ClaimState } from './state.js'

/** The states by name, as the table and diagrams show them. */
export type StateName =
  | 'Pending'
  | 'Pending(PoolNotReady)'
  | 'Bound'
  | 'Error(PoolExhausted)'
  | 'Error(AllocationFailed)'
  | 'Error(BackendExhausted)'
  | 'Error(BackendDenied)'

/** One row of the machine. */
export interface Transition {
  readonly from: StateName
  readonly event: ClaimEvent
  readonly to: StateName
  readonly effects: readonly ClaimEffect[]
}

/**
 * The whole machine. Every event is defined in every state; what a row says is all that happens.
 *
 * `Error(PoolExhausted)` is left by two roads: the pool has room again, or it went away. `Bound` is
 * left only when the address itself is gone: a pool that is full, invalid or missing takes nothing
 * away from a claim that is bound.
 */
export const transitions: readonly Transition[] = [
  ...withoutAddress('Pending'),
  ...withoutAddress('Pending(PoolNotReady)'),

  row('Bound', 'AddressAllocated', 'Bound', 'setAddressRef', 'setReady'),
  row('Bound', 'AddressLost', 'Pending', 'clearAddressRef'),
  row('Bound', 'PoolUnavailable', 'Bound'),
  row('Bound', 'PoolExhausted', 'Bound'),
  row('Bound', 'PoolHasRoom', 'Bound'),
  row('Bound', 'AllocationFailed', 'Bound'),
  row('Bound', 'BackendExhausted', 'Bound'),
  row('Bound', 'BackendDenied', 'Bound'),

  ...withoutAddress('Error(PoolExhausted)'),
  ...withoutAddress('Error(AllocationFailed)'),
  ...withoutAddress('Error(BackendExhausted)'),
  ...withoutAddress('Error(BackendDenied)'),
]

/**
 * The state after an event, and what has to be done about it. Pure.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a state or an event that the machine does not know
 * @example
 * transition({ phase: 'Error', reason: 'PoolExhausted' }, 'PoolHasRoom') // [{ phase: 'Pending' }, []]
 */
export function transition(state: ClaimState, event: ClaimEvent): [next: ClaimState, effects: readonly ClaimEffect[]] {
  const from = nameOf(state)
  const found = transitions.find((candidate) => candidate.from === from && candidate.event === event)
  if (found === undefined) {
    throw ipamError('INVALID_ARGUMENT', {
      argument: 'event',
      expected: 'an event that the claim machine defines in this state',
      got: `${event} in ${from}`,
    })
  }
  return [states[found.to], found.effects]
}

/** The name of a state in {@link transitions}. */
export function nameOf(state: ClaimState): StateName {
  const reason = 'reason' in state ? state.reason : undefined
  return (reason === undefined ? state.phase : `${state.phase}(${reason})`) as StateName
}

const states: { readonly [name in StateName]: ClaimState } = {
  Pending: { phase: 'Pending' },
  'Pending(PoolNotReady)': { phase: 'Pending', reason: 'PoolNotReady' },
  Bound: { phase: 'Bound' },
  'Error(PoolExhausted)': { phase: 'Error', reason: 'PoolExhausted' },
  'Error(AllocationFailed)': { phase: 'Error', reason: 'AllocationFailed' },
  'Error(BackendExhausted)': { phase: 'Error', reason: 'BackendExhausted' },
  'Error(BackendDenied)': { phase: 'Error', reason: 'BackendDenied' },
}

function row(from: StateName, event: ClaimEvent, to: StateName, ...effects: ClaimEffect[]): Transition {
  return { from, event, to, effects }
}

/**
 * The rows of a state without an address: what happens decides what the state is next, and not what
 * it was.
 */
function withoutAddress(from: StateName): Transition[] {
  return [
    row(from, 'AddressAllocated', 'Bound', 'setAddressRef', 'setReady'),
    row(from, 'AddressLost', from),
    row(from, 'PoolUnavailable', 'Pending(PoolNotReady)', 'setNotReady', 'retryOnPoolChange'),
    row(from, 'PoolExhausted', 'Error(PoolExhausted)', 'setNotReady', 'retryOnPoolChange'),
    row(from, 'PoolHasRoom', 'Pending'),
    row(from, 'AllocationFailed', 'Error(AllocationFailed)', 'setNotReady', 'retryLater'),
    row(from, 'BackendExhausted', 'Error(BackendExhausted)', 'setNotReady', 'retryLater'),
    row(from, 'BackendDenied', 'Error(BackendDenied)', 'setNotReady', 'retryLater'),
  ]
}

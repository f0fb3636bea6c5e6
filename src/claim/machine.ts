import { ipamError } from '../errors/index.js'
import type { ClaimEffect, ClaimEvent, ClaimState } from './state.js'

/** The states by name, as the table and diagrams show them. */
export type StateName =
  | 'Pending'
  | 'Pending(PoolNotReady)'
  | 'Bound'
  | 'Error(PoolExhausted)'
  | 'Error(AllocationFailed)'

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
 * `Error(PoolExhausted)` is left by two roads: the pool has room again, or it went away. `Bound` is left only when the address
 * itself is gone: a pool that is full, invalid or missing takes nothing away from a claim that is bound.
 */
export const transitions: readonly Transition[] = [
  row('Pending', 'AddressAllocated', 'Bound', 'setAddressRef', 'setReady'),
  row('Pending', 'AddressLost', 'Pending'),
  row('Pending', 'PoolUnavailable', 'Pending(PoolNotReady)', 'setNotReady', 'retryOnPoolChange'),
  row('Pending', 'PoolExhausted', 'Error(PoolExhausted)', 'setNotReady', 'retryOnPoolChange'),
  row('Pending', 'PoolHasRoom', 'Pending'),
  row('Pending', 'AllocationFailed', 'Error(AllocationFailed)', 'setNotReady', 'retryLater'),

  row('Pending(PoolNotReady)', 'AddressAllocated', 'Bound', 'setAddressRef', 'setReady'),
  row('Pending(PoolNotReady)', 'AddressLost', 'Pending(PoolNotReady)'),
  row('Pending(PoolNotReady)', 'PoolUnavailable', 'Pending(PoolNotReady)', 'setNotReady', 'retryOnPoolChange'),
  row('Pending(PoolNotReady)', 'PoolExhausted', 'Error(PoolExhausted)', 'setNotReady', 'retryOnPoolChange'),
  row('Pending(PoolNotReady)', 'PoolHasRoom', 'Pending'),
  row('Pending(PoolNotReady)', 'AllocationFailed', 'Error(AllocationFailed)', 'setNotReady', 'retryLater'),

  row('Bound', 'AddressAllocated', 'Bound', 'setAddressRef', 'setReady'),
  row('Bound', 'AddressLost', 'Pending', 'clearAddressRef'),
  row('Bound', 'PoolUnavailable', 'Bound'),
  row('Bound', 'PoolExhausted', 'Bound'),
  row('Bound', 'PoolHasRoom', 'Bound'),
  row('Bound', 'AllocationFailed', 'Bound'),

  row('Error(PoolExhausted)', 'AddressAllocated', 'Bound', 'setAddressRef', 'setReady'),
  row('Error(PoolExhausted)', 'AddressLost', 'Error(PoolExhausted)'),
  row('Error(PoolExhausted)', 'PoolUnavailable', 'Pending(PoolNotReady)', 'setNotReady', 'retryOnPoolChange'),
  row('Error(PoolExhausted)', 'PoolExhausted', 'Error(PoolExhausted)', 'setNotReady', 'retryOnPoolChange'),
  row('Error(PoolExhausted)', 'PoolHasRoom', 'Pending'),
  row('Error(PoolExhausted)', 'AllocationFailed', 'Error(AllocationFailed)', 'setNotReady', 'retryLater'),

  row('Error(AllocationFailed)', 'AddressAllocated', 'Bound', 'setAddressRef', 'setReady'),
  row('Error(AllocationFailed)', 'AddressLost', 'Error(AllocationFailed)'),
  row('Error(AllocationFailed)', 'PoolUnavailable', 'Pending(PoolNotReady)', 'setNotReady', 'retryOnPoolChange'),
  row('Error(AllocationFailed)', 'PoolExhausted', 'Error(PoolExhausted)', 'setNotReady', 'retryOnPoolChange'),
  row('Error(AllocationFailed)', 'PoolHasRoom', 'Pending'),
  row('Error(AllocationFailed)', 'AllocationFailed', 'Error(AllocationFailed)', 'setNotReady', 'retryLater'),
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
}

function row(from: StateName, event: ClaimEvent, to: StateName, ...effects: ClaimEffect[]): Transition {
  return { from, event, to, effects }
}

import { check, type KindOf } from '../errors/check.js'
import { INVALID_ARGUMENT } from '../errors/definitions.js'
import { ipamError } from '../errors/failure.js'
import type { ClaimEffect, ClaimEvent, ClaimState } from './state.js'

/** The names of the states, as in the table and the diagrams. */
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
 * All transitions of the machine. Every event is defined in every state.
 *
 * A claim leaves `Error(PoolExhausted)` when the pool has a free address again, or when the pool
 * becomes unavailable. It leaves `Bound` only when the address itself is lost: a pool that is full,
 * invalid or missing does not change a Bound claim.
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
 * Returns the state after an event, and the effects of the transition. Pure.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an unknown state or event
 * @example
 * transition({ phase: 'Error', reason: 'PoolExhausted' }, 'PoolHasRoom') // [{ phase: 'Pending' }, []]
 */
export function transition(state: ClaimState, event: ClaimEvent): [next: ClaimState, effects: readonly ClaimEffect[]] {
  check('transition', 'state', state, STATE)
  check('transition', 'event', event, EVENT)

  const from = nameOf(state)
  const found = transitions.find((candidate) => candidate.from === from && candidate.event === event)
  if (found === undefined) {
    throw ipamError(INVALID_ARGUMENT, {
      function: 'transition',
      argument: 'event',
      expected: 'an event that the claim machine defines in this state',
      got: `${event} in ${from}`,
    })
  }
  return [states[found.to], found.effects]
}

const STATE: KindOf<ClaimState> = [
  'by',
  'phase',
  {
    Pending: ['open', { reason: ['one?', { PoolNotReady: 1 }] }],
    Bound: 'object',
    Error: [
      'open',
      { reason: ['one', { PoolExhausted: 1, AllocationFailed: 1, BackendExhausted: 1, BackendDenied: 1 }] },
    ],
  },
]

const EVENT: KindOf<ClaimEvent> = [
  'one',
  {
    AddressAllocated: 1,
    AddressLost: 1,
    PoolUnavailable: 1,
    PoolExhausted: 1,
    PoolHasRoom: 1,
    AllocationFailed: 1,
    BackendExhausted: 1,
    BackendDenied: 1,
  },
]

/** The name of a state in {@link transitions}. */
export function nameOf(state: ClaimState): StateName {
  check('nameOf', 'state', state, STATE)

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

/** The rows of a state without an address: the next state depends only on the event. */
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

import { type ClaimEvent, type ClaimState, phaseOf, stateOf, transition } from 'ipam-kit/claim'
import { isIpamError } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { nameOf, type StateName, transitions } from '../../src/claim/machine.js'

const states: { readonly [name in StateName]: ClaimState } = {
  Pending: { phase: 'Pending' },
  'Pending(PoolNotReady)': { phase: 'Pending', reason: 'PoolNotReady' },
  Bound: { phase: 'Bound' },
  'Error(PoolExhausted)': { phase: 'Error', reason: 'PoolExhausted' },
  'Error(AllocationFailed)': { phase: 'Error', reason: 'AllocationFailed' },
  'Error(BackendExhausted)': { phase: 'Error', reason: 'BackendExhausted' },
  'Error(BackendDenied)': { phase: 'Error', reason: 'BackendDenied' },
}
const events: readonly ClaimEvent[] = [
  'AddressAllocated',
  'AddressLost',
  'PoolUnavailable',
  'PoolExhausted',
  'PoolHasRoom',
  'AllocationFailed',
  'BackendExhausted',
  'BackendDenied',
]

describe('the table', () => {
  test('has exactly one row for every event in every state', () => {
    const rows = transitions.map(({ from, event }) => `${from} ${event}`)
    const wanted = Object.keys(states).flatMap((state) => events.map((event) => `${state} ${event}`))
    expect(rows.toSorted()).toEqual(wanted.toSorted())
  })

  test('leads only to states that it knows, each of which can be reached and left', () => {
    const targets = new Set(transitions.map(({ to }) => to))
    expect([...targets].toSorted()).toEqual(Object.keys(states).toSorted())
    for (const state of Object.keys(states)) {
      expect(transitions.some(({ from, to }) => from === state && to !== state)).toBe(true)
    }
  })

  test('is what transition() follows', () => {
    for (const { from, event, to, effects } of transitions) {
      expect(transition(states[from], event)).toEqual([states[to], effects])
    }
  })

  test('writes a condition for every row that ends with a reason, and an address reference for every one that ends bound', () => {
    for (const { event, to, effects } of transitions) {
      if (event === 'AddressAllocated') expect(effects).toEqual(['setAddressRef', 'setReady'])
      if (event === 'PoolExhausted' && to === 'Error(PoolExhausted)') expect(effects).toContain('setNotReady')
      if (event === 'PoolUnavailable' && to !== 'Bound') expect(effects).toContain('setNotReady')
      if (effects.includes('setNotReady')) expect(to).toMatch(/\(/)
    }
  })
})

describe('what the machine promises', () => {
  test('Error(PoolExhausted) goes back to Pending when the pool has room', () => {
    expect(transition(states['Error(PoolExhausted)'], 'PoolHasRoom')).toEqual([{ phase: 'Pending' }, []])
  })

  test('no error is final: an allocation binds from every state', () => {
    for (const state of Object.values(states))
      expect(transition(state, 'AddressAllocated')[0]).toEqual({ phase: 'Bound' })
  })

  test('nothing but the loss of its address takes anything from a bound claim', () => {
    for (const event of events.filter((it) => it !== 'AddressLost')) {
      expect(transition(states.Bound, event)[0]).toEqual({ phase: 'Bound' })
    }
    expect(transition(states.Bound, 'AddressLost')).toEqual([{ phase: 'Pending' }, ['clearAddressRef']])
  })

  test('an unknown event or state is a mistake of the caller', () => {
    const call = () => transition(states.Pending, 'Nonsense' as ClaimEvent)
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    try {
      transition({ phase: 'Lost' } as unknown as ClaimState, 'PoolHasRoom')
      expect.unreachable()
    } catch (error) {
      expect(isIpamError(error, 'INVALID_ARGUMENT')).toBe(true)
    }
  })
})

describe('the phase of a claim', () => {
  const ready = (status: string, reason: string) => ({ status: { conditions: [{ type: 'Ready', status, reason }] } })

  test.each([
    ['Pending', 'without a status', {}],
    ['Pending', 'with an empty status', { status: {} }],
    ['Bound', 'with an address reference and no condition', { status: { addressRef: { name: 'x' } } }],
    [
      'Bound',
      'with an address reference and a false condition',
      { status: { addressRef: { name: 'x' }, ...ready('False', 'PoolExhausted').status } },
    ],
    ['Pending', 'with an empty address reference', { status: { addressRef: { name: '' } } }],
    ['Error', 'that is exhausted', ready('False', 'PoolExhausted')],
    ['Error', 'whose allocation failed', ready('False', 'AllocationFailed')],
    ['Pending', 'whose pool is not ready', ready('False', 'PoolNotReady')],
    ['Pending', 'with an unknown reason', ready('False', 'SomethingElse')],
    ['Pending', 'with an unknown status', ready('Unknown', 'PoolExhausted')],
    ['Pending', 'that is ready without an address', ready('True', 'AddressAllocated')],
  ])('%s: a claim %s', (phase, _, claim) => {
    expect(phaseOf(claim)).toBe(phase)
  })

  test('carries the reason where the machine has a state for it', () => {
    expect(nameOf(stateOf(ready('False', 'PoolNotReady')))).toBe('Pending(PoolNotReady)')
    expect(nameOf(stateOf(ready('False', 'PoolExhausted')))).toBe('Error(PoolExhausted)')
    expect(nameOf(stateOf(ready('False', 'Else')))).toBe('Pending')
  })
})

import { findCondition, setCondition } from 'ipam-kit/claim'
import { describe, expect, test } from 'vitest'
import type { Condition } from '../../src/claim/conditions.js'

const ready: Condition = {
  type: 'Ready',
  status: 'False',
  reason: 'PoolExhausted',
  message: 'full',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}
const other: Condition = { ...ready, type: 'Audited', status: 'True', reason: 'Seen' }
const later = '2026-01-01T01:00:00Z'

describe('setCondition', () => {
  test('adds one that is not there, behind the others', () => {
    const { lastTransitionTime: _, ...update } = ready
    expect(setCondition([other], update, later)).toEqual([other, { ...ready, lastTransitionTime: later }])
    expect(setCondition(undefined, update, later)).toEqual([{ ...ready, lastTransitionTime: later }])
  })

  test('keeps the time while the status stays, whatever else changes', () => {
    const next = setCondition([ready, other], { ...ready, reason: 'PoolNotReady', message: 'gone' }, later)
    expect(next).toEqual([{ ...ready, reason: 'PoolNotReady', message: 'gone' }, other])
  })

  test('takes the new time when the status changes', () => {
    const next = setCondition([other, ready], { ...ready, status: 'True', reason: 'AddressAllocated' }, later)
    expect(next[1]).toMatchObject({ status: 'True', lastTransitionTime: later })
    expect(next[0]).toBe(other)
  })

  test('returns the same list if there is nothing to write', () => {
    const list = [other, ready]
    expect(setCondition(list, ready, later)).toBe(list)
  })

  test('writes a generation that has moved on', () => {
    const list = [{ ...ready, observedGeneration: 1 }]
    expect(setCondition(list, { ...ready, observedGeneration: 2 }, later)).toEqual([
      { ...ready, observedGeneration: 2 },
    ])
  })

  test('shortens a message that the API server would refuse, and shows that it did', () => {
    const [long] = setCondition([], { ...ready, message: 'x'.repeat(40_000) }, later)
    expect(long?.message).toHaveLength(32_768)
    expect(long?.message.endsWith('…')).toBe(true)
  })

  test('changes nothing in its arguments', () => {
    const list = Object.freeze([Object.freeze({ ...ready })])
    setCondition(list, { ...ready, status: 'True' }, later)
    expect(list).toEqual([ready])
  })
})

test('findCondition finds by type', () => {
  expect(findCondition([other, ready], 'Ready')).toBe(ready)
  expect(findCondition(undefined, 'Ready')).toBeUndefined()
})

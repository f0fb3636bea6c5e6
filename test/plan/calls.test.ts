import { Calls, type ExternalResult } from 'ipam-kit/plan'
import { beforeEach, describe, expect, test } from 'vitest'

const ABOUT = 'IPAddressClaim default/a'
const about = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', namespace: 'default', name: 'a' }
const REFUSED: ExternalResult = { ok: false, failure: { message: 'no room', retryable: true, nothingDone: true } }
const LOST: ExternalResult = { ok: false, failure: { message: 'timed out', retryable: true } }
const GIVEN: ExternalResult = { ok: true, value: '10.0.0.1' }

let calls: Calls
beforeEach(() => {
  calls = new Calls()
})

const callOf = (operation: string) => ({ operation, key: 'marker', about, input: null })
const get = (operation = 'allocate') => calls.get(ABOUT, operation, 'marker')

function begin(operation = 'allocate', effectSeconds?: number): void {
  calls.begin({ call: callOf(operation), effectSeconds })
}

function answer(given: ExternalResult, operation = 'allocate', atMs = 0): boolean {
  return calls.answered({ call: callOf(operation), answer: given, atMs })
}

/** A call from its plan to its result. */
function call(given: ExternalResult, operation = 'allocate'): void {
  begin(operation)
  calls.sent(callOf(operation), 0)
  answer(given, operation)
}

test('a call is known by its object, operation and key, with its result and the number of failures', () => {
  call(REFUSED)
  call(REFUSED)
  call(GIVEN, 'confirm')
  expect([get()?.last?.failures, get('confirm')?.last?.failures, get('release')]).toEqual([2, 0, undefined])
  expect([calls.get(ABOUT, 'allocate', 'other'), calls.get('Pod default/a', 'allocate', 'marker')]).toEqual([
    undefined,
    undefined,
  ])
  expect([...calls.of(ABOUT)].map((known) => known.call.operation)).toEqual(['allocate', 'confirm'])
})

test('a call is in flight from its plan to its result, and has its time when it is sent', () => {
  begin()
  expect([get()?.sentAtMs, [...calls.inFlight].length]).toEqual([undefined, 1])
  calls.sent(callOf('allocate'), 7)
  expect(get()?.sentAtMs).toBe(7)
  answer(GIVEN, 'allocate', 9)
  expect([...calls.inFlight]).toEqual([])
  expect(get()?.value).toMatchObject({ of: '10.0.0.1', sentAtMs: 7, atMs: 9 })
})

test('a failure replaces the last result, and not the last value', () => {
  call(GIVEN)
  call(REFUSED)
  expect(get()).toMatchObject({ last: { answer: REFUSED, failures: 1 }, value: { of: '10.0.0.1' } })
})

test('the result of a call that is not in flight is dropped', () => {
  expect(answer(GIVEN)).toBe(false)
  begin()
  calls.end(callOf('allocate'))
  expect(answer(GIVEN)).toBe(false)
  expect(get()?.last).toBeUndefined()
})

describe('the time after which a call has no effect any more', () => {
  const sendAt = (atMs: number) => {
    begin('allocate', 60)
    calls.sent(callOf('allocate'), atMs)
  }

  test.each([[GIVEN], [REFUSED]])('has passed when the outcome is known: %o', (given) => {
    sendAt(1000)
    expect(get()?.endsAtMs).toBe(61_000)
    answer(given)
    expect(get()?.endsAtMs).toBe(Number.NEGATIVE_INFINITY)
  })

  test('counts from when it was sent, if the outcome is unknown', () => {
    sendAt(1000)
    answer(LOST, 'allocate', 50_000)
    expect(get()?.endsAtMs).toBe(61_000)
    // a later call with a known outcome says nothing of the earlier one
    sendAt(52_000)
    answer(GIVEN)
    expect(get()?.endsAtMs).toBe(61_000)
  })

  test('counts for a call that was never answered', () => {
    sendAt(1000)
    calls.end(callOf('allocate'))
    expect(get()).toMatchObject({ sentAtMs: 1000, endsAtMs: 61_000, last: undefined })
  })

  test('is unknown if its effect does not say how long it takes', () => {
    begin()
    calls.sent(callOf('allocate'), 0)
    expect(get()?.endsAtMs).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('drop', () => {
  test('failures: a failure is dropped, and a success stays', () => {
    call(REFUSED)
    call(GIVEN, 'confirm')
    calls.drop(ABOUT, 'failures')
    expect([get()?.last, get('confirm')?.last?.answer]).toEqual([undefined, GIVEN])
  })

  test('failures: also one that arrives later, once', () => {
    begin()
    calls.drop(ABOUT, 'failures')
    expect(answer(REFUSED)).toBe(false)
    call(REFUSED)
    expect(get()?.last?.failures).toBe(1)
  })

  test('failures: a success that arrives later stays', () => {
    begin()
    calls.drop(ABOUT, 'failures')
    expect(answer(GIVEN)).toBe(true)
  })

  test.each([REFUSED, GIVEN])('results: also one that arrives later, and its call stays known: %o', (given) => {
    call(GIVEN, 'confirm')
    begin()
    calls.sent(callOf('allocate'), 5)
    calls.drop(ABOUT, 'results')
    // a later change that drops less takes nothing back
    calls.drop(ABOUT, 'failures')
    expect(answer(given)).toBe(false)
    expect([get(), get('confirm')]).toMatchObject([
      { sentAtMs: 5, last: undefined, value: undefined },
      { sentAtMs: 0, last: undefined, value: undefined },
    ])
    call(given)
    expect(get()?.last?.answer).toEqual(given)
  })

  test('calls: a call in flight stays until it has ended', () => {
    call(GIVEN, 'confirm')
    begin()
    calls.drop(ABOUT, 'calls')
    expect([...calls.of(ABOUT)].map((known) => known.call.operation)).toEqual(['allocate'])
    expect(answer(GIVEN)).toBe(false)
    expect([...calls.of(ABOUT)]).toEqual([])
  })

  test('takes only the calls that are meant', () => {
    call(GIVEN)
    call(GIVEN, 'confirm')
    calls.drop(ABOUT, 'calls', (known) => known.call.operation === 'confirm')
    expect([get()?.last?.answer, get('confirm')]).toEqual([GIVEN, undefined])
  })
})

import { type AnyResult, Calls, definePlanner, type ExternalResult } from 'ipam-kit/plan'
import { beforeEach, describe, expect, test } from 'vitest'

const ABOUT = 'IPAddressClaim default/a'
const about = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', namespace: 'default', name: 'a' }
const REFUSED: ExternalResult = { ok: false, failure: { message: 'no room', retryable: true, nothingDone: true } }
const LOST: ExternalResult = { ok: false, failure: { message: 'timed out', retryable: true } }
const GIVEN: ExternalResult = { ok: true, value: '10.0.0.1' }

let calls: Calls
/** The ends of the plans in progress, by operation. */
let ends: Map<string, readonly (() => void)[]>
beforeEach(() => {
  calls = new Calls()
  ends = new Map()
})

const callOf = (operation: string) => ({ operation, key: 'marker', about, input: null })
const get = (operation = 'allocate') => calls.get(ABOUT, operation, 'marker')

function begin(operation = 'allocate', effectSeconds?: number): void {
  const end = calls.begin({ call: callOf(operation), effectSeconds })
  ends.set(operation, [...(ends.get(operation) ?? []), end])
}

/** The end of the first plan with a call. */
function end(operation = 'allocate'): void {
  const [first, ...others] = ends.get(operation) ?? []
  first?.()
  ends.set(operation, others)
}

/** The result of a call, and the end of its plan. */
function answer(given: ExternalResult, operation = 'allocate', atMs = 0): boolean {
  const isNews = calls.answered({ call: callOf(operation), answer: given, atMs })
  end(operation)
  return isNews
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

test('the calls of an object and of a group are in the order in which they were last registered', () => {
  for (const operation of ['delete', 'mark', 'delete']) call(REFUSED, operation)
  const orders = [calls.of(ABOUT), calls.inGroup(ABOUT)].map((known) =>
    known.map(({ call: { operation } }) => operation),
  )
  expect(orders).toEqual([
    ['mark', 'delete'],
    ['mark', 'delete'],
  ])
})

test('a call is in flight from its plan to the end of the plan, and has its time when it is sent', () => {
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
  end()
  expect(answer(GIVEN)).toBe(false)
  expect(get()?.last).toBeUndefined()
})

test('a result counts only for the input of the registered call', () => {
  const other = { ...callOf('allocate'), input: { network: 'b', gateway: undefined } }
  begin()
  end()
  calls.begin({ call: other })
  expect(calls.answered({ call: callOf('allocate'), answer: GIVEN, atMs: 0 })).toBe(false)
  expect(get()).toMatchObject({ last: undefined, value: undefined })
  // equal as JSON
  expect(calls.answered({ call: JSON.parse(JSON.stringify(other)), answer: GIVEN, atMs: 0 })).toBe(true)
})

test('a call of two plans is in flight until both have ended', () => {
  begin()
  begin()
  end()
  expect(calls.inFlight).toHaveLength(1)
  expect(answer(GIVEN)).toBe(true)
  expect(calls.inFlight).toEqual([])
  expect(answer(GIVEN)).toBe(false)
})

test.each<[string, unknown]>([
  ['failure: expected an object', { ok: false }],
  ['failure.message: expected a text', { ok: false, failure: { retryable: true } }],
])('a result whose %s is refused', (fault, given) => {
  begin()
  const result = { call: callOf('allocate'), answer: given, atMs: 0 } as AnyResult
  expect(() => calls.answered(result)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  expect(() => calls.answered(result)).toThrow(fault)
})

test.each<[string, string, object]>([
  ['another object than a Calls', 'definition.calls: expected a Calls', { calls: {}, onResult: () => [] }],
  ['a Calls without onResult', 'onResult: expected a function', { calls: new Calls() }],
])('definePlanner refuses %s', (_, fault, more) => {
  const define = () => definePlanner({ name: 'calling', watches: {}, wakes: {}, plan: () => undefined, ...more })
  expect(define).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  expect(define).toThrow(fault)
})

test('the end of a plan from before a reset does not end the call of a later plan', () => {
  const onResult = (result: AnyResult) => (calls.answered(result) ? ['a'] : [])
  const planner = definePlanner({ name: 'calling', watches: {}, wakes: {}, plan: () => undefined, calls, onResult })
  const effects = [{ kind: 'external', call: callOf('allocate'), why: 'a test' }] as const
  const start = () => planner.begin?.({ outcome: { kind: 'asking', message: '' }, effects })
  const end = start()
  planner.reset()
  start()
  end?.()
  expect(planner.onResult?.({ call: callOf('allocate'), answer: GIVEN, atMs: 0 })).toEqual(['a'])
})

test.each([
  ['keeps the table', 0, () => undefined],
  ['clears it', 0, () => calls.clear()],
])('a call that was in flight at a reset ends with its plan, where the state %s', (_, left, state) => {
  const planner = definePlanner({
    ...{ name: 'calling', watches: {}, wakes: {}, plan: () => undefined, calls, onResult: () => [] },
    state: (_objects, before: unknown) => (before === undefined ? 'first' : state()),
  })
  const effects = [{ kind: 'external', call: callOf('allocate'), why: 'a test' }] as const
  const start = () => planner.begin?.({ outcome: { kind: 'asking', message: '' }, effects })
  const [old, again] = [start(), planner.reset(), start()].filter((each) => each !== undefined)
  old?.()
  expect([...calls.inFlight]).toHaveLength(1)
  again?.()
  expect([...calls.inFlight]).toHaveLength(left)
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

  test('stays when one of two calls in flight is answered', () => {
    sendAt(1000)
    sendAt(10_000)
    answer(GIVEN, 'allocate', 11_000)
    expect(get()?.endsAtMs).toBe(70_000)
  })

  test('counts for a call that was never answered', () => {
    sendAt(1000)
    end()
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

  test('results: also those of calls in flight when the same call is registered again', () => {
    begin()
    calls.drop(ABOUT, 'results')
    begin()
    expect([answer(GIVEN), answer(GIVEN)]).toEqual([false, false])
    begin()
    expect(answer(GIVEN)).toBe(true)
  })

  test('calls: a call that is registered after the drop stays known', () => {
    begin()
    calls.drop(ABOUT, 'calls')
    begin('allocate', 60)
    calls.sent(callOf('allocate'), 1000)
    for (const _ of [1, 2]) end()
    expect(get()).toMatchObject({ sentAtMs: 1000, endsAtMs: 61_000 })
  })

  test('takes only the calls that are meant', () => {
    call(GIVEN)
    call(GIVEN, 'confirm')
    calls.drop(ABOUT, 'calls', (known) => known.call.operation === 'confirm')
    expect([get()?.last?.answer, get('confirm')]).toEqual([GIVEN, undefined])
  })
})

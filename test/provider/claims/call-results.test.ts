import type { CallResult, ExternalResult } from 'ipam-kit/plan'
import { beforeEach, expect, test } from 'vitest'
import { CallResults } from '../../../src/provider/claims/call-results.js'

const CLAIM = 'IPAddressClaim default/a'
const REFUSED: ExternalResult = { ok: false, failure: { message: 'no room', retryable: true } }
const GIVEN: ExternalResult = { ok: true, value: '10.0.0.1' }

let hearings: CallResults
beforeEach(() => {
  hearings = new CallResults()
})

function onResult(answer: ExternalResult, operation = 'allocate'): void {
  const about = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', namespace: 'default', name: 'a' }
  const call: CallResult['call'] = { operation, key: 'marker', about, input: null }
  hearings.onResult(CLAIM, { call, answer, atMs: 0 })
}
const results = (operation = 'allocate') => hearings.of(CLAIM)?.(operation, 'marker')

test('what was heard is known by operation and marker, and how often it was a refusal', () => {
  onResult(REFUSED)
  onResult(REFUSED)
  onResult(GIVEN, 'confirm')
  expect([results()?.failures, results('confirm')?.failures, results('release')]).toEqual([2, 0, undefined])
  expect(hearings.of(CLAIM)?.('allocate', 'another')).toBeUndefined()
  hearings.invalidate(CLAIM)
  expect(hearings.of(CLAIM)).toBeUndefined()
})

test('a refusal is not believed any more when something has changed, what was given is', () => {
  onResult(REFUSED)
  onResult(GIVEN, 'confirm')
  hearings.invalidateFailures([CLAIM])
  expect([results(), results('confirm')?.answer]).toEqual([undefined, GIVEN])
})

test('nor one that is about to come, as it tells what was so before', () => {
  hearings.ask(CLAIM)
  hearings.invalidateFailures([CLAIM])
  onResult(REFUSED)
  expect(results()).toBeUndefined()
  // the next one does
  onResult(REFUSED)
  expect(results()?.failures).toBe(1)
})

test('what is given all the same is believed', () => {
  hearings.ask(CLAIM)
  hearings.invalidateFailures([CLAIM])
  onResult(GIVEN)
  expect(results()?.answer).toEqual(GIVEN)
  onResult(REFUSED)
  expect(results()?.answer).toEqual(REFUSED)
})

test('a call that is made after the change is answered for what is so now', () => {
  hearings.ask(CLAIM)
  hearings.invalidateFailures([CLAIM])
  hearings.ask(CLAIM)
  onResult(REFUSED)
  expect(results()?.failures).toBe(1)
})

test.each([REFUSED, GIVEN])('an answer that arrives after it was disbelieved is dropped: %o', (answer) => {
  onResult(GIVEN, 'confirm')
  hearings.ask(CLAIM)
  hearings.invalidate(CLAIM)
  // a later change that puts less in doubt takes nothing back
  hearings.invalidateFailures([CLAIM])
  onResult(answer)
  expect([results(), results('confirm')]).toEqual([undefined, undefined])
  // the next one is believed
  onResult(answer)
  expect(results()?.answer).toEqual(answer)
})

test('a call that has ended without an answer leaves nothing behind', () => {
  hearings.ask(CLAIM)
  hearings.invalidate(CLAIM)
  hearings.end(CLAIM)
  onResult(GIVEN)
  expect(results()?.answer).toEqual(GIVEN)
})

test('a claim for which no call is in flight is believed at its next answer', () => {
  hearings.invalidate(CLAIM)
  hearings.invalidateFailures([CLAIM])
  onResult(GIVEN)
  expect(results()?.answer).toEqual(GIVEN)
})

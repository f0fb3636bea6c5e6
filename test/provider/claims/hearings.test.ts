import type { Answered, OutsideAnswer } from 'ipam-kit/plan'
import { beforeEach, expect, test } from 'vitest'
import { Hearings } from '../../../src/provider/claims/hearings.js'

const CLAIM = 'IPAddressClaim default/a'
const REFUSED: OutsideAnswer = { ok: false, failure: { message: 'no room', retryable: true } }
const GIVEN: OutsideAnswer = { ok: true, value: '10.0.0.1' }

let hearings: Hearings
beforeEach(() => {
  hearings = new Hearings()
})

function hear(answer: OutsideAnswer, operation = 'allocate'): void {
  const about = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', namespace: 'default', name: 'a' }
  const call: Answered['call'] = { operation, key: 'marker', about, input: null }
  hearings.hear(CLAIM, { call, answer, atMs: 0 })
}
const heard = (operation = 'allocate') => hearings.of(CLAIM)?.(operation, 'marker')

test('what was heard is known by operation and marker, and how often it was a refusal', () => {
  hear(REFUSED)
  hear(REFUSED)
  hear(GIVEN, 'confirm')
  expect([heard()?.failures, heard('confirm')?.failures, heard('release')]).toEqual([2, 0, undefined])
  expect(hearings.of(CLAIM)?.('allocate', 'another')).toBeUndefined()
  hearings.disbelieve(CLAIM)
  expect(hearings.of(CLAIM)).toBeUndefined()
})

test('a refusal is not believed any more when something has changed, what was given is', () => {
  hear(REFUSED)
  hear(GIVEN, 'confirm')
  hearings.doubt([CLAIM])
  expect([heard(), heard('confirm')?.answer]).toEqual([undefined, GIVEN])
})

test('nor one that is about to come, as it tells what was so before', () => {
  hearings.ask(CLAIM)
  hearings.doubt([CLAIM])
  hear(REFUSED)
  expect(heard()).toBeUndefined()
  // the next one does
  hear(REFUSED)
  expect(heard()?.failures).toBe(1)
})

test('what is given all the same is believed', () => {
  hearings.ask(CLAIM)
  hearings.doubt([CLAIM])
  hear(GIVEN)
  expect(heard()?.answer).toEqual(GIVEN)
  hear(REFUSED)
  expect(heard()?.answer).toEqual(REFUSED)
})

test('a call that is made after the change is answered for what is so now', () => {
  hearings.ask(CLAIM)
  hearings.doubt([CLAIM])
  hearings.ask(CLAIM)
  hear(REFUSED)
  expect(heard()?.failures).toBe(1)
})

test.each([REFUSED, GIVEN])('an answer that arrives after it was disbelieved is dropped: %o', (answer) => {
  hear(GIVEN, 'confirm')
  hearings.ask(CLAIM)
  hearings.disbelieve(CLAIM)
  // a later change that puts less in doubt takes nothing back
  hearings.doubt([CLAIM])
  hear(answer)
  expect([heard(), heard('confirm')]).toEqual([undefined, undefined])
  // the next one is believed
  hear(answer)
  expect(heard()?.answer).toEqual(answer)
})

test('a call that has ended without an answer leaves nothing behind', () => {
  hearings.ask(CLAIM)
  hearings.disbelieve(CLAIM)
  hearings.end(CLAIM)
  hear(GIVEN)
  expect(heard()?.answer).toEqual(GIVEN)
})

test('a claim for which no call is in flight is believed at its next answer', () => {
  hearings.disbelieve(CLAIM)
  hearings.doubt([CLAIM])
  hear(GIVEN)
  expect(heard()?.answer).toEqual(GIVEN)
})

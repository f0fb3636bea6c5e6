import { assertAddress } from '../../cidr/internal.js'
import type { Address } from '../../cidr/nouns/address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { check, isObject } from '../../errors/check.js'
import { refuseIn } from '../../errors/refuse.js'
import type { Outcome } from '../../plan/index.js'
import type { UnknownCalls } from './call-schemas.js'
import type { ClaimLedger, ProviderDefinition } from './definition.js'

/** A provider of any pools, ledger and calls. */
export type AnyDefinition = ProviderDefinition<KubeObject, ClaimLedger<KubeObject>, unknown, Outcome, UnknownCalls>

type Verbs = Pick<AnyDefinition, 'resolve' | 'ensure' | 'confirm' | 'release' | 'planPool'>
type Answer = { readonly [member: string]: unknown }
/** Checks an answer of one kind. @param of the verb and its provider */
type Check = (of: string, answer: Answer) => void

/**
 * The verbs of a provider, with their answers checked: what they answer is written to objects, and
 * callers without types may answer anything. O(1) beside the verb.
 */
export function checkedVerbs(definition: Verbs & { readonly name: string }): Verbs {
  const { name, confirm, release } = definition
  const of = (verb: keyof Verbs) => `${verb} of the provider ${name}`
  const [resolving, ensuring, confirming] = [of('resolve'), of('ensure'), of('confirm')]
  const [releasing, planning] = [of('release'), of('planPool')]
  return {
    resolve: (input) => checked(resolving, definition.resolve(input), RESOLVED),
    ensure: (input) => checked(ensuring, definition.ensure(input), ENSURED),
    ...(confirm && { confirm: (input) => checked(confirming, confirm.call(definition, input), CONFIRMED) }),
    ...(release && { release: (input) => checked(releasing, release.call(definition, input), RELEASED) }),
    planPool(input) {
      const plan = definition.planPool(input)
      assertAnswer(planning, plan, 'a plan')
      check(planning, 'answer', plan, ['open', { outcome: 'object', effects: ['list', 'object'] }])
      check(planning, 'answer.outcome', plan.outcome, ['open', { kind: 'text' }])
      assertSeconds(planning, 'requeueAfterSeconds', plan.requeueAfterSeconds)
      if (plan.call !== undefined) check(planning, 'answer.call', plan.call, ['open', { operation: 'text' }])
      check(planning, 'answer', plan, ['open', { shownMs: 'number?' }])
      if (plan.wakes !== undefined) check(planning, 'answer.wakes', plan.wakes, ['list', 'text'])
      const texts = plan.problems?.map((each) => (typeof each === 'object' ? each?.message : each))
      if (texts !== undefined) check(planning, 'answer.problems', texts, ['list', 'text'])
      return plan
    },
  }
}

function checked<T extends object>(of: string, answer: T, checks: { readonly [kind: string]: Check }): T {
  assertAnswer(of, answer, 'an object with a kind')
  const { kind } = answer as Answer
  if (typeof kind !== 'string' || !Object.hasOwn(checks, kind)) {
    refuseIn(of, 'answer.kind', Object.keys(checks).join(', '), kind)
  }
  checks[kind]!(of, answer as Answer)
  return answer
}

function assertAnswer(of: string, answer: unknown, expected: string): void {
  const { then } = Object(answer) as { readonly then?: unknown }
  if (typeof then === 'function') {
    // nothing waits for it: a rejection would end the process
    Promise.resolve(answer).catch(() => {})
    refuseIn(of, 'answer', `${expected}, at once: a verb is not asynchronous`, answer)
  }
  if (!isObject(answer)) refuseIn(of, 'answer', expected, answer)
}

const nothing: Check = () => {}
const message: Check = (of, answer) => check(of, 'answer', answer, ['open', { message: 'text' }])
const call: Check = (of, answer) => {
  check(of, 'answer', answer, ['open', { operation: 'text', why: 'text' }])
  if (answer.pending === undefined) return
  check<unknown>(of, 'answer.pending', answer.pending, 'object')
  assertOffer(of, 'answer.pending', answer.pending as Answer)
}

const RESOLVED = { ready: nothing, notReady: message }
const ENSURED = {
  address(of: string, answer: Answer) {
    check(of, 'answer', answer, ['open', { why: 'text' }])
    assertOffer(of, 'answer', answer)
  },
  wait(of: string, answer: Answer) {
    check(of, 'answer', answer, ['open', { reason: 'text', message: 'text' }])
    assertSeconds(of, 'retryAfterSeconds', answer.retryAfterSeconds)
  },
  call,
}
const CONFIRMED = { yes: nothing, no: message, stale: message, call }
const RELEASED = {
  done: nothing,
  later: nothing,
  wait(of: string, { remainingSeconds: seconds }: Answer) {
    if (!(typeof seconds === 'number' && seconds > 0))
      refuseIn(of, 'answer.remainingSeconds', 'seconds, from 1', seconds)
  },
  call,
}

function assertOffer(of: string, at: string, { address, prefix, gateway }: Answer): void {
  assertAddress(of, `${at}.address`, address)
  const most = (address as Address).family === 4 ? 32 : 128
  const isLength = Number.isInteger(prefix) && (prefix as number) >= 0 && (prefix as number) <= most
  if (!isLength) refuseIn(of, `${at}.prefix`, `a length, 0 to ${most}`, prefix)
  if (gateway !== undefined && typeof gateway !== 'string') refuseIn(of, `${at}.gateway`, 'a text', gateway)
}

function assertSeconds(of: string, part: string, seconds: unknown): void {
  if (seconds !== undefined && !(typeof seconds === 'number' && seconds >= 0)) {
    refuseIn(of, `answer.${part}`, 'seconds, from 0', seconds)
  }
}

import { Address } from 'ipam-kit/cidr'
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { ExternalCall, ExternalResult } from 'ipam-kit/plan'
import { AddressLedger, defineProvider, handleCalls, protectPool } from 'ipam-kit/provider/claims'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import type { StandardSchema } from '../../../src/provider/claims/call-schemas.js'
import { stored } from '../stored.js'
import { claim, pool } from './world.js'

const KEY = 'IPAddressClaim default/a'
const POOL_KEY = 'InfobloxPool default/lab'
const calls = {
  allocate: {
    input: z.object({ name: z.string() }),
    answer: z.object({ address: z.string().transform((text) => Address.parse(text)) }),
  },
}

function provider(schemas: typeof calls | undefined = calls) {
  return defineProvider({
    name: 'typed',
    pools: [InfobloxPool],
    external: { marker: 'kept' },
    calls: schemas as typeof calls,
    ledger: (holdings) => new AddressLedger<InfobloxPool>(holdings),
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure({ claim: { metadata }, results: { allocate } }) {
      if (allocate !== undefined) return { kind: 'address', address: allocate.address, prefix: 30, why: 'allocated' }
      return { kind: 'call', operation: 'allocate', input: { name: metadata.name }, why: 'no address' }
    },
    planPool: ({ pool, ledger, claims, calls }) => {
      const plan = protectPool({ pool, addresses: ledger.size, claims })
      const known = calls.of('allocate', 'spare')
      const message = known?.failure?.message ?? (known?.value ? Address.format(known.value.address) : 'nothing')
      const call = { operation: 'allocate', id: 'spare', input: { name: 'spare' }, why: '', maxAgeSeconds: 60 } as const
      return { ...plan, outcome: { kind: 'ready', message }, call }
    },
  })
}

/** What a planner has of a claim, or of its pool, when its call was answered so. */
function after(answer: unknown, key = KEY, planner = provider()) {
  for (const object of [pool('10.20.0.0/30'), claim('a')]) planner.observe({ kind: 'present', object: stored(object) })
  const external = planner.plan(key, { nowMs: 0 })?.effects.find(({ kind }) => kind === 'external')
  const { call } = external as unknown as { readonly call: ExternalCall }
  planner.begin?.(planner.plan(key, { nowMs: 0 })!)
  planner.onResult?.({ call, answer: answer as ExternalResult, atMs: 0 })
  return planner.plan(key, { nowMs: 0 })!
}

test('a verb is given the answer as its schema reads it', () => {
  const { effects } = after({ ok: true, value: { address: '10.20.0.1' } })
  expect(effects).toContainEqual(
    expect.objectContaining({
      object: expect.objectContaining({ spec: expect.objectContaining({ address: '10.20.0.1' }) }),
    }),
  )
  const ofPool = after({ ok: true, value: { address: '10.20.0.1' } }, POOL_KEY)
  expect(ofPool.outcome.message).toBe('10.20.0.1')
})

const WRONG: readonly [string, unknown, RegExp][] = [
  ['has another form', { ok: true, value: { address: 5 } }, /^invalid answer to allocate: address: .*expected string/],
  ['has no value', { ok: true }, /^invalid answer to allocate: /],
  [
    'makes its schema throw',
    { ok: true, value: { address: 'x' } },
    /^invalid answer to allocate: its schema has thrown/,
  ],
  ['is not a result', undefined, /neither a value nor a failure/],
  ['is null', null, /neither a value nor a failure/],
  ['is a number', 5, /neither a value nor a failure/],
  ['is a failure without a message', { ok: false }, /neither a value nor a failure/],
]

test.each(WRONG)('an answer that %s is a failure of its call, which is made again', (_, answer, message) => {
  const plan = after(answer)
  expect(plan.outcome).toMatchObject({
    kind: 'waiting',
    reason: 'AllocationFailed',
    message: expect.stringMatching(message),
  })
  expect(plan.requeueAfterSeconds).toBe(5)
  const ofPool = after(answer, POOL_KEY)
  expect(ofPool.outcome.message).toMatch(message)
})

test('a failure is told as it is', () => {
  const { outcome } = after({ ok: false, failure: { message: 'full', reason: 'PoolExhausted', retryable: true } })
  expect(outcome).toMatchObject({ kind: 'waiting', reason: 'PoolExhausted', message: 'full' })
})

describe('a schema', () => {
  const schema = (validate: StandardSchema['~standard']['validate']): StandardSchema =>
    ({ '~standard': { version: 1, vendor: 'test', validate } }) as const
  const told = (answer: unknown, value: unknown = {}) => {
    const planner = provider({ allocate: { ...calls.allocate, answer } } as unknown as typeof calls)
    return after({ ok: true, value }, KEY, planner).outcome.message
  }
  const said = (validate: StandardSchema['~standard']['validate']) => told(schema(validate))

  test('that is asynchronous is not waited for', () => {
    expect(said(async (value) => ({ value }))).toBe(
      'invalid answer to allocate: its schema is asynchronous: nothing waits for it',
    )
    expect(said(() => Promise.reject(new Error('late')))).toBe(
      'invalid answer to allocate: its schema is asynchronous: nothing waits for it',
    )
  })

  test('of zod that throws says what it has thrown, and one that is asynchronous says so', () => {
    const parsed = z.string().transform((text) => Address.parse(text))
    expect(told(parsed, 'x')).toMatch(/^invalid answer to allocate: its schema has thrown: .*"x"/)
    for (const late of [z.string().refine(async () => true), z.string().transform(async (text) => text)]) {
      expect(told(late, 'x')).toBe('invalid answer to allocate: its schema is asynchronous: nothing waits for it')
    }
  })

  test('of any library says what is wrong, of up to three fields', () => {
    const issues = [1, 2, 3, 4].map((n) => ({ message: `no ${n}`, path: ['a', { key: n }] }))
    expect(said(() => ({ issues }))).toBe('invalid answer to allocate: a.1: no 1; a.2: no 2; a.3: no 3')
    expect(said(() => ({ issues: [] }))).toBe('invalid answer to allocate: it does not fit')
  })
})

describe('what carries calls out', () => {
  const asked: unknown[] = []
  const caller = handleCalls(calls, {
    allocate: async (input, { key }) => {
      asked.push(input, key)
      return { ok: true, value: { address: '10.20.0.1' } }
    },
  })
  const call = (operation: string, input: unknown) => {
    const about = { ...IPAddressClaim.info, namespace: 'default', name: 'a' }
    return caller({ operation, key: 'k', about, input } as ExternalCall)
  }

  test.each([undefined, null, 5, 'allocate', {}, { operation: 5 }])('refuses %j, which is no call', async (wrong) => {
    await expect(caller(wrong as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  test.each<unknown>([undefined, null, 5, {}, { toString: 5 }])('needs functions of its own: %j', (handlers) => {
    const schemas = { toString: calls.allocate }
    expect(() => handleCalls(schemas as never, handlers as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  test('is given what is asked', async () => {
    expect(await call('allocate', { name: 'a', more: 1 })).toEqual({ ok: true, value: { address: '10.20.0.1' } })
    expect(asked).toEqual([{ name: 'a' }, 'k'])
  })

  test.each([
    ['release', {}, 'there is no operation release'],
    ['constructor', {}, 'there is no operation constructor'],
    ['toString', {}, 'there is no operation toString'],
    ['allocate', { name: 5 }, 'invalid input of allocate: name: '],
    ['allocate', undefined, 'invalid input of allocate: '],
  ])('refuses %s with %j, and nothing is done', async (operation, input, message) => {
    const before = asked.length
    expect(await call(operation, input)).toEqual({
      ok: false,
      failure: { message: expect.stringContaining(message), retryable: false, nothingDone: true },
    })
    expect(asked.length).toBe(before)
  })
})

test.each([
  5,
  null,
  [],
  { allocate: 5 },
  { allocate: { input: calls.allocate.input } },
  { allocate: { ...calls.allocate, answer: {} } },
])('schemas that are none are refused: %j', (schemas) => {
  expect(() => provider(schemas as never)).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      context: expect.objectContaining({ expected: expect.stringMatching(/schema/i) }),
    }),
  )
  expect(() => handleCalls(schemas as never, { allocate: async () => ({ ok: true, value: {} }) } as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  )
})

import { Address } from 'ipam-kit/cidr'
import { AddressLedger, defineProvider, type PoolHoldings, protectPool } from 'ipam-kit/provider/claims'
import { describe, expect, test } from 'vitest'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import { stored } from '../stored.js'
import { claim, pool } from './world.js'

const address = { kind: 'address', address: Address.parse('10.20.0.1'), prefix: 30, why: 'first' } as const
const protect = protectPool({ pool: stored(pool('10.20.0.0/30')), addresses: 0, claims: 0 })

/** What a planner says of a claim, or of the pool, where a verb answers so. */
function planned(verb: string, answer: unknown) {
  const verbs = {
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure: () => address,
    release: () => ({ kind: 'done' }),
    planPool: () => protect,
    [verb]: () => answer,
  }
  const planner = defineProvider({
    ...{ name: 'lab', pools: [InfobloxPool], external: { marker: 'kept' } },
    ledger: (holdings: PoolHoldings) => new AddressLedger<InfobloxPool>(holdings),
    ...verbs,
  } as never)
  const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['ipam.cluster.x-k8s.io/ReleaseAddress'] }
  const asked = stored(claim('a'))
  const metadata = { ...asked.metadata, ...(verb === 'release' ? deleted : {}) }
  const objects = [stored(pool('10.20.0.0/30')), { ...asked, metadata }]
  if (verb === 'confirm') {
    const made = planned('none', undefined)?.effects.find(({ kind }) => kind === 'create')
    objects.push(stored((made as unknown as { readonly object: typeof asked }).object))
  }
  for (const object of objects) planner.observe({ kind: 'present', object })
  return planner.plan(verb === 'planPool' ? 'InfobloxPool default/lab' : 'IPAddressClaim default/a', { nowMs: 0 })
}

const call = { kind: 'call', operation: 'get', input: {}, why: 'asked' }
const wait = { kind: 'wait', reason: 'PoolExhausted', message: 'full' }
const RIGHT: Readonly<Record<string, readonly unknown[]>> = {
  resolve: [{ kind: 'notReady', message: 'soon' }],
  ensure: [
    ...[address, { ...address, prefix: 0 }, { ...address, prefix: 32, gateway: '10.20.0.2' }],
    ...[wait, { ...wait, retryAfterSeconds: 0.5 }],
    ...[call, { ...call, pending: { address: address.address, prefix: 30 } }],
  ],
  confirm: [{ kind: 'yes' }, { kind: 'no', message: 'not' }, { kind: 'stale', message: 'old' }, call],
  release: [{ kind: 'done' }, { kind: 'later' }, { kind: 'wait', remainingSeconds: 1 }, call],
  planPool: [protect, { ...protect, requeueAfterSeconds: 5, shownMs: 5, wakes: ['a'] }],
}

const none = [undefined, null, 5, 'done', [], {}, { kind: 'none' }, { kind: 'toString' }, { kind: 5 }, () => wait]
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  resolve: [...none, { kind: 'notReady' }],
  ensure: [
    ...none,
    ...['24', 33, -1, 1.5, Number.NaN, undefined].map((prefix) => ({ ...address, prefix })),
    ...['10.0.0.5', undefined, null, {}, { family: 4, value: 2 ** 33 }].map((of) => ({ ...address, address: of })),
    ...[5, null].map((gateway) => ({ ...address, gateway })),
    ...[
      { ...address, why: undefined },
      { ...wait, reason: 5 },
      { ...wait, message: undefined },
    ],
    ...[Number.NaN, '5', -1].map((retryAfterSeconds) => ({ ...wait, retryAfterSeconds })),
    ...[
      { kind: 'reserve', message: 'first' },
      { ...call, operation: undefined },
      { ...call, why: 5 },
    ],
    ...[5, {}, { ...address, prefix: '24' }].map((pending) => ({ ...call, pending })),
  ],
  confirm: [...none, { kind: 'no' }, { kind: 'stale', message: 5 }],
  release: [...none, ...[0, -1, '5', Number.NaN, undefined].map((of) => ({ kind: 'wait', remainingSeconds: of }))],
  planPool: [
    ...none,
    ...[
      { ...protect, outcome: undefined },
      { ...protect, outcome: {} },
      { ...protect, effects: undefined },
    ],
    ...[
      { ...protect, effects: [5] },
      { ...protect, requeueAfterSeconds: Number.NaN },
    ],
    ...[
      { ...protect, call: {} },
      { ...protect, call: 5 },
      { ...protect, shownMs: 'a' },
      { ...protect, wakes: 'a' },
    ],
  ],
}

describe.each(Object.keys(RIGHT))('the answer of %s', (verb) => {
  test.each(RIGHT[verb]!.map((answer) => [answer]))('may be %j', (answer) => {
    expect(planned(verb, answer)).toBeDefined()
  })

  test.each([...WRONG[verb]!, Promise.resolve(RIGHT[verb]![0])].map((answer) => [answer]))(
    'is refused with the names of verb and provider: %o',
    (answer) => {
      const context = expect.objectContaining({
        function: `${verb} of the provider lab`,
        argument: expect.stringMatching(/^answer/),
      })
      expect(() => planned(verb, answer)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', context }))
    },
  )

  test('is refused where it is a promise, also one that rejects later', async () => {
    expect(() => planned(verb, Promise.reject(new Error('late')))).toThrow(/not asynchronous/)
    await new Promise((resolve) => setImmediate(resolve))
  })
})

import type { Address } from 'ipam-kit/cidr'
import type { KubeObject, Model } from 'ipam-kit/crd/meta'
import { AddressLedger, defineProvider, handleCalls, type PoolHoldings, protectPool } from 'ipam-kit/provider/claims'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'

declare const Pool: Model<KubeObject>
declare const address: Address

const calls = {
  allocate: {
    input: z.object({ network: z.string() }),
    answer: z.object({ address: z.string().transform((text) => text.length) }),
  },
  release: { input: z.object({}), answer: z.object({ released: z.boolean() }) },
}

const common = {
  name: 'typed',
  pools: [Pool],
  external: { marker: 'kept' },
  ledger: (holdings: PoolHoldings) => new AddressLedger<KubeObject>(holdings),
  resolve: () => ({ kind: 'ready', offer: 5 }) as const,
} as const

test('verbs are given answers as their schemas read them', () => {
  defineProvider({
    ...common,
    calls,
    ensure({ results, offer, callOf, calls: ofPool }) {
      expectTypeOf(results.allocate).toEqualTypeOf<{ address: number } | undefined>()
      expectTypeOf(results.release).toEqualTypeOf<{ released: boolean } | undefined>()
      expectTypeOf(offer).toEqualTypeOf<5>()
      expectTypeOf(ofPool.of('allocate')?.value).toEqualTypeOf<{ address: number } | undefined>()
      const answer = callOf('release')?.answer
      if (answer?.ok) expectTypeOf(answer.value).toEqualTypeOf<{ released: boolean }>()
      // @ts-expect-error there is no such call
      results.adopt
      // @ts-expect-error there is no such call
      callOf('adopt')
      // @ts-expect-error there is no such call
      ofPool.of('adopt')
      return { kind: 'call', operation: 'allocate', input: { network: 'a' }, why: '' }
    },
    planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
  })
})

test('a verb makes calls that there are, with what they ask', () => {
  const planPool = ({ pool }: { readonly pool: KubeObject }) => protectPool({ pool, addresses: 0, claims: 0 })
  const typed = { ...common, calls, planPool }
  defineProvider({
    ...typed,
    // @ts-expect-error the input is of another call
    ensure: () => ({ kind: 'call', operation: 'allocate', input: {}, why: '' }),
  })
  defineProvider({
    ...typed,
    // @ts-expect-error there is no such call
    ensure: () => ({ kind: 'call', operation: 'adopt', input: {}, why: '' }),
  })
  // without schemas a call is JSON
  const json = { ...common, planPool }
  defineProvider({ ...json, ensure: () => ({ kind: 'call', operation: 'any', input: { a: [1] }, why: '' }) })
  defineProvider({ ...json, ensure: () => ({ kind: 'address', address, prefix: 24, why: '' }) })
})

test('what carries calls out is given what is asked, and answers what the schema reads', () => {
  handleCalls(calls, {
    async allocate(input, { key }) {
      expectTypeOf(input).toEqualTypeOf<{ network: string }>()
      expectTypeOf(key).toEqualTypeOf<string>()
      return { ok: true, value: { address: '10.0.0.1' } }
    },
    release: async () => ({ ok: false, failure: { message: 'down', retryable: true } }),
  })
  // @ts-expect-error release is missing
  handleCalls(calls, { allocate: async () => ({ ok: true, value: { address: '10.0.0.1' } }) })
  handleCalls(calls, {
    // @ts-expect-error an address is a text there
    allocate: async () => ({ ok: true, value: { address: 5 } }),
    release: async () => ({ ok: true, value: { released: true } }),
  })
})

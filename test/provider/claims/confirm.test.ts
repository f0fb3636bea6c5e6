import { Address } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool, type InClusterPool } from 'ipam-kit/crd/in-cluster'
import { unwrap } from 'ipam-kit/errors'
import { AddressLedger, defineProvider } from 'ipam-kit/provider/claims'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Confirmed, ConfirmInput } from '../../../src/provider/claims/definition.js'
import { kinds } from './world.js'

type Ledger = AddressLedger<InClusterPool>
const models = [...kinds, InClusterIPPool.info]
const at = { apiVersion: IPAddressClaim.info.apiVersion, namespace: 'default', name: 'a' }
let store: ReturnType<typeof memoryStore>
let asked: string[]
beforeEach(async () => {
  store = memoryStore({ kinds: models, now: () => 0 })
  asked = []
  const { apiVersion, kind } = InClusterIPPool.info
  const spec = { addresses: ['10.0.0.5-10.0.0.9'], prefix: 24 }
  unwrap(await store.create({ apiVersion, kind, metadata: { namespace: 'default', name: 'pool' }, spec }))
})

function provider(confirm: (input: ConfirmInput<InClusterPool, Ledger>) => Confirmed) {
  return defineProvider<InClusterPool, Ledger, undefined, { kind: 'ready'; message: string }>({
    name: 'confirming',
    pools: [InClusterIPPool],
    external: { marker: 'kept' },
    ledger: (holdings) => new AddressLedger(holdings),
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure: () => ({ kind: 'address', address: Address.parse('10.0.0.9'), prefix: 24, why: 'it is the last' }),
    confirm,
    planPool: () => ({ outcome: { kind: 'ready', message: '' }, effects: [] }),
  })
}

const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' }

async function claim(): Promise<void> {
  const { apiVersion, namespace, name } = at
  unwrap(await store.create({ apiVersion, kind: 'IPAddressClaim', metadata: { namespace, name }, spec: { poolRef } }))
}

/** As a restore makes it: of the name of the claim, and nobody's yet. */
async function address(): Promise<void> {
  const { apiVersion, namespace, name } = at
  const spec = { address: '10.0.0.5', prefix: 24, claimRef: { name }, poolRef }
  unwrap(await store.create({ apiVersion, kind: 'IPAddress', metadata: { namespace, name }, spec }))
}

async function run(confirm: (input: ConfirmInput<InClusterPool, Ledger>) => Confirmed): Promise<string> {
  const external = async ({ operation }: { readonly operation: string }) => {
    asked.push(operation)
    return { ok: true, value: 'known' } as const
  }
  await runUntilQuiet(store, [provider(confirm)], { now: () => 0, external })
  const read = IPAddressClaim.parse(unwrap(await store.get({ ...at, kind: 'IPAddressClaim' })))
  const left = await store.get({ ...at, kind: 'IPAddress' })
  const has = left.ok ? IPAddress.parse(left.value).spec.address : 'none'
  const ready = read.status?.conditions?.find(({ type }) => type === 'Ready')
  return `${has}: ${ready?.reason} ${ready?.message}`.trim()
}

describe('a claim that finds an IPAddress of its name', () => {
  test('is Bound to it if the provider says yes, and has it asked first', async () => {
    await address()
    await claim()
    const said = await run(({ results, address: { spec }, claim: { metadata } }) => {
      expect([spec.address, metadata.name]).toEqual(['10.0.0.5', 'a'])
      return results.look === undefined
        ? { kind: 'call', operation: 'look', input: null, why: 'whose it is' }
        : { kind: 'yes' }
    })
    expect(said).toBe('10.0.0.5: AddressAllocated')
    expect(asked).toEqual(['look'])
  })

  test('waits if the provider says no', async () => {
    await address()
    await claim()
    expect(await run(() => ({ kind: 'no', message: 'it is of another building' }))).toBe(
      '10.0.0.5: AllocationFailed it is of another building',
    )
  })

  test('is not Bound to it while it cannot be found out whose it is, and has it asked again', async () => {
    await address()
    await claim()
    const planner = provider(({ results }) =>
      results.look === undefined
        ? { kind: 'call', operation: 'look', input: null, why: 'whose it is' }
        : { kind: 'yes' },
    )
    const external = async () =>
      ({ ok: false, failure: { message: 'down', retryable: true, retryAfterSeconds: 7 } }) as const
    await runUntilQuiet(store, [planner], { now: () => 0, external })
    const read = IPAddressClaim.parse(unwrap(await store.get({ ...at, kind: 'IPAddressClaim' })))
    expect(read.status?.addressRef).toBeUndefined()
    const plan = planner.plan('IPAddressClaim default/a', { nowMs: 0 })
    expect(plan).toMatchObject({
      outcome: { kind: 'waiting', reason: 'AllocationFailed', message: 'down' },
      requeueAfterSeconds: 7,
    })
  })

  test('gets another one if it was left by an earlier claim', async () => {
    await address()
    await claim()
    const said = await run(({ isBound }) => (isBound ? { kind: 'yes' } : { kind: 'stale', message: 'it is old' }))
    expect(said).toBe('10.0.0.9: AddressAllocated')
  })

  test('is not asked about when it made it in the same plan', async () => {
    await claim()
    let plans = 0
    const said = await run(({ isBound }) => {
      plans++
      expect(isBound).toBe(true)
      return { kind: 'yes' }
    })
    expect(said).toBe('10.0.0.9: AddressAllocated')
    expect(plans).toBeGreaterThan(0)
  })
})

describe('a claim that is Bound', () => {
  beforeEach(async () => {
    await claim()
    await run(() => ({ kind: 'yes' }))
  })

  test('is asked about each time, and is so no more if the provider says no', async () => {
    expect(await run(() => ({ kind: 'no', message: 'somebody else has it' }))).toBe(
      '10.0.0.9: AllocationFailed somebody else has it',
    )
    expect(await run(() => ({ kind: 'yes' }))).toBe('10.0.0.9: AddressAllocated')
  })

  test('keeps its IPAddress if the provider says that an earlier one has left it: that is as no', async () => {
    const said = await run(({ isBound }) => ({ kind: isBound ? 'stale' : 'no', message: 'it is old' }))
    expect(said).toBe('10.0.0.9: AllocationFailed it is old')
  })

  test('stays Bound while it cannot be found out, and is asked about again', async () => {
    const planner = provider(({ results }) =>
      results.look === undefined
        ? { kind: 'call', operation: 'look', input: null, why: 'whose it is' }
        : { kind: 'yes' },
    )
    const external = async () => {
      asked.push('look')
      return { ok: false, failure: { message: 'down', retryable: true, retryAfterSeconds: 7 } } as const
    }
    const { outcomes } = await runUntilQuiet(store, [planner], { now: () => 0, external })
    const ready = IPAddressClaim.parse(unwrap(await store.get({ ...at, kind: 'IPAddressClaim' }))).status?.conditions
    expect(ready?.find(({ type }) => type === 'Ready')?.status).toBe('True')
    expect(asked).toEqual(['look'])
    expect(outcomes).toBeDefined()
    const plan = planner.plan('IPAddressClaim default/a', { nowMs: 0 })
    expect(plan).toMatchObject({ outcome: { kind: 'bound' }, effects: [], requeueAfterSeconds: 7 })
  })
})

import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KindInfo, KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { blockClaims, blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { runUntilQuiet, taskCaller } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import { infoblox } from '../../../docs/examples/external-provider/provider.js'
import { Host } from '../in-cluster/host.js'
import { addressObject, addressRef, claim, claimRef, kinds, pool, poolOf, World } from '../in-cluster/world.js'
import {
  World as ExternalWorld,
  claim as externalClaim,
  claimRef as externalClaimRef,
  pool as externalPool,
} from './world.js'

const CONSUMER = 'consumer.example.com/in-use'
const OURS = 'ipam.cluster.x-k8s.io/ReleaseAddress'
const PROTECT = 'ipam.cluster.x-k8s.io/ProtectAddress'
const DAY_MS = 86_400_000

const machineKind: KindInfo = {
  apiVersion: 'example.com/v1',
  kind: 'Machine',
  plural: 'machines',
  namespaced: true,
  statusSubresource: true,
}
const machineRef: ObjectRef = { ...machineKind, namespace: 'default', name: 'vm' }

type HoldsAddress = (finalizer: string) => boolean

/**
 * A provider in a store of its own, and a collector of garbage beside it. Each run is that of
 * another process.
 */
class HeldWorld extends World {
  override readonly store = memoryStore({
    now: () => this.nowMs,
    kinds: [...kinds, machineKind, IPDomain.info, IPPool.info, IPBlock.info],
  })
  readonly #planners: () => { readonly provider: Planner<Outcome>; readonly more: readonly Planner<Outcome>[] }

  constructor(ledger: Ledger, holdsAddress?: HoldsAddress) {
    super()
    this.#planners = () => ledgers[ledger](holdsAddress)
  }

  async play(): Promise<void> {
    for (let times = 0; times < 3; times++) {
      const { provider, more } = this.#planners()
      const gc: Planner<Outcome> = gcPlanner({ kinds: [machineKind, IPAddressClaim.info, IPAddress.info] })
      const tasks = 'tasks' in provider ? (provider as ReturnType<typeof inClusterBlocks>).tasks : undefined
      const external = tasks && taskCaller({ store: this.store, now: () => this.nowMs, tasks })
      const planners = [provider, ...more, gc]
      const { failures } = await runUntilQuiet(this.store, planners, { now: () => this.nowMs, external })
      expect(failures).toEqual([])
      this.nowMs += DAY_MS
    }
  }

  async has(ref: ObjectRef): Promise<boolean> {
    return (await this.store.get(ref)).ok
  }

  /** What each claim that lives, or has not gone yet, has. */
  async addressesByClaim(): Promise<{ readonly [claim: string]: string | undefined }> {
    const bindings = await this.bindings()
    const names = (await this.claims()).map(({ metadata }) => metadata.name)
    return Object.fromEntries(names.map((name) => [name, bindings[`default/${name}`]]))
  }

  /** The consumer has done with its claim. */
  async letGo(name = 'old'): Promise<void> {
    const { finalizers = [] } = (await this.claim(name)).metadata
    await this.patch(claimRef(name), { metadata: { finalizers: finalizers.filter((it) => it !== CONSUMER) } })
  }
}

const blocksBeside = () => [
  blocksOperator({ emptySeconds: 0 }),
  blocksSweep({ owners: [IPAddressClaim.info], graceSeconds: 0 }),
]

const ledgers = {
  objects: (holdsAddress?: HoldsAddress) => ({ provider: inCluster({ holdsAddress }), more: [] }),
  blocks: (holdsAddress?: HoldsAddress) => ({ provider: inClusterBlocks({ holdsAddress }), more: blocksBeside() }),
  'blocks of IPPool': (holdsAddress?: HoldsAddress) => ({
    provider: blockClaims({ holdsAddress }),
    more: blocksBeside(),
  }),
}
type Ledger = keyof typeof ledgers

interface Setting {
  readonly ledger: Ledger
  readonly kind: string
  readonly what: string
  readonly pool: KubeObject
  readonly address: string
}

const spaces = [
  ['InClusterIPPool', 'IPv4', { addresses: ['10.0.0.5'], prefix: 24 }, '10.0.0.5'],
  ['InClusterIPPool', 'IPv6', { addresses: ['fd00::5'], prefix: 64 }, 'fd00::5'],
  [
    'GlobalInClusterIPPool',
    'IPv4',
    { addresses: ['10.0.0.5'], prefix: 24, addressReuseGracePeriodSeconds: 60 },
    '10.0.0.5',
  ],
  ['InClusterPrefixPool', 'IPv6', { prefixes: ['fd00:1::/64'] }, 'fd00:1::'],
  ['GlobalInClusterPrefixPool', 'IPv4', { prefixes: ['10.0.0.16/28'], allocationPrefixLength: 28 }, '10.0.0.16'],
] as const

const settings: readonly Setting[] = [
  ...(['objects', 'blocks'] as const).flatMap((ledger) =>
    spaces.map(([kind, what, spec, address]) => ({ ledger, kind, what, pool: poolOf(kind, spec), address })),
  ),
  ...(['10.0.0.5', 'fd00::5'] as const).map((address) => ({
    ledger: 'blocks of IPPool' as const,
    kind: 'IPPool',
    what: address.includes(':') ? 'IPv6' : 'IPv4',
    pool: {
      apiVersion: IPPool.info.apiVersion,
      kind: 'IPPool',
      metadata: { name: 'pool' },
      spec: {
        subnets: [{ cidr: address.includes(':') ? 'fd00::/64' : '10.0.0.0/24', ranges: [`${address}-${address}`] }],
      },
    },
    address,
  })),
]

function claimOf({ pool }: Setting, name: string, metadata: object = {}): KubeObject {
  const apiGroup = pool.apiVersion.split('/')[0]
  return {
    apiVersion: IPAddressClaim.info.apiVersion,
    kind: 'IPAddressClaim',
    metadata: { name, namespace: 'default', ...metadata },
    spec: { poolRef: { apiGroup, kind: pool.kind, name: 'pool' } },
  }
}

describe.each(settings)('$ledger, $kind, $what: a claim that its consumer holds', (setting) => {
  let world: HeldWorld

  /** A machine, and its claim, which has the only address of the pool. */
  async function begin(holdsAddress?: HoldsAddress): Promise<void> {
    world = new HeldWorld(setting.ledger, holdsAddress)
    const machine = {
      apiVersion: machineKind.apiVersion,
      kind: 'Machine',
      metadata: { name: 'vm', namespace: 'default' },
    }
    await world.create(setting.pool, machine)
    const { uid } = (await world.get(machineRef)).metadata
    const owner = { apiVersion: 'example.com/v1', kind: 'Machine', name: 'vm', uid, controller: true }
    const ownerReferences = [{ ...owner, blockOwnerDeletion: true }]
    await world.create(claimOf(setting, 'old', { finalizers: [CONSUMER], ownerReferences }))
    await world.play()
    expect(await world.addressesByClaim()).toEqual({ old: setting.address })
    await world.create(claimOf(setting, 'new'))
  }

  beforeEach(() => begin())

  async function isKept(): Promise<void> {
    const { uid } = (await world.address('old')).metadata
    await world.play()
    expect(await world.addressesByClaim()).toEqual({ old: setting.address, new: undefined })
    const address = await world.address('old')
    expect([address.metadata.uid, address.metadata.finalizers?.includes(PROTECT)]).toEqual([uid, true])
    expect((await world.claim('old')).metadata.finalizers).toContain(OURS)
  }

  async function isGivenOn(): Promise<void> {
    await world.play()
    expect(await world.addressesByClaim()).toEqual({ new: setting.address })
  }

  test('and that is deleted by hand keeps its address until the consumer lets it go', async () => {
    await world.delete('claim', 'old')
    await isKept()
    await world.letGo()
    await isGivenOn()
    expect(await world.has(machineRef)).toBe(true)
  })

  test('and whose machine is deleted with its dependents first keeps its address, and then all of it goes', async () => {
    expect((await world.store.delete(machineRef, { propagation: 'Foreground' })).ok).toBe(true)
    await isKept()
    await world.letGo()
    await isGivenOn()
    expect(await world.has(machineRef)).toBe(false)
  })

  test.each(['Foreground', 'Background', 'Orphan'] as const)(
    'and that is deleted %s keeps its address until the consumer lets it go',
    async (propagation) => {
      expect((await world.store.delete(claimRef('old'), { propagation })).ok).toBe(true)
      await isKept()
      await world.letGo()
      await isGivenOn()
    },
  )

  test.each(['Foreground', 'Orphan'] as const)(
    'no more gives its address back, deleted %s: the finalizers of the collector hold nothing',
    async (propagation) => {
      await world.letGo()
      expect((await world.store.delete(claimRef('old'), { propagation })).ok).toBe(true)
      await isGivenOn()
    },
  )

  test('keeps its address while any client deletes its IPAddress', async () => {
    await world.delete('claim', 'old')
    await world.delete('address', 'old')
    await isKept()
    await world.letGo()
    await isGivenOn()
  })

  test('keeps its address where our finalizer was taken off the claim, and gives it back', async () => {
    await world.patch(claimRef('old'), { metadata: { finalizers: [CONSUMER] } })
    await world.delete('claim', 'old')
    const { uid } = (await world.address('old')).metadata
    await world.play()
    expect(await world.addressesByClaim()).toEqual({ old: setting.address, new: undefined })
    expect((await world.address('old')).metadata).toMatchObject({ uid, finalizers: [PROTECT] })
    await world.letGo()
    await world.play()
    expect([await world.has(claimRef('old')), await world.has(addressRef('old'))]).toEqual([false, false])
    // the row of a claim that is gone is for the sweep, which looks twice
    const isFree = setting.ledger === 'objects'
    expect(await world.addressesByClaim()).toEqual({ new: isFree ? setting.address : undefined })
  })

  test('keeps its address where our finalizer was taken off the IPAddress', async () => {
    await world.delete('claim', 'old')
    await world.patch(addressRef('old'), { metadata: { finalizers: [] } })
    await isKept()
    await world.letGo()
    await isGivenOn()
  })

  test('stays, with its row if it has one, where its IPAddress was removed by force', async () => {
    await world.delete('claim', 'new')
    await world.delete('claim', 'old')
    const { uid } = (await world.claim('old')).metadata
    const force = async () => {
      await world.patch(addressRef('old'), { metadata: { finalizers: [] } })
      if (await world.has(addressRef('old'))) await world.delete('address', 'old')
    }
    await force()
    await world.play()
    // a process that has not seen the IPAddress does not know what it was
    const rows = (await world.store.list(IPBlock.info)) as { readonly value: { readonly items: readonly KubeObject[] } }
    const kept = rows.value.items.filter(({ spec }) => JSON.stringify(spec).includes(uid as string))
    expect([await world.has(addressRef('old')), kept.length]).toEqual([false, setting.ledger === 'objects' ? 0 : 1])
    expect((await world.claim('old')).metadata.finalizers).toContain(OURS)
    await world.letGo()
    await world.play()
    expect(await world.has(claimRef('old'))).toBe(false)
  })

  test('gives its address back at once where the host says that its finalizer holds none', async () => {
    await begin((finalizer) => finalizer !== CONSUMER)
    await world.delete('claim', 'old')
    await world.play()
    expect(await world.addressesByClaim()).toEqual({ old: undefined, new: setting.address })
    expect((await world.claim('old')).metadata.finalizers).toEqual([CONSUMER])
    await world.letGo()
    await isGivenOn()
  })

  test('and that never had an address is not held by us', async () => {
    await world.create(claimOf(setting, 'never', { finalizers: [CONSUMER] }))
    await world.play()
    await world.delete('claim', 'never')
    await world.play()
    expect((await world.claim('never')).metadata.finalizers).toEqual([CONSUMER])
  })

  test('keeps a pool that is being deleted', async () => {
    const { apiVersion, kind, metadata } = setting.pool
    const poolRef = { apiVersion, kind, namespace: metadata.namespace, name: 'pool' }
    await world.delete('claim', 'new')
    await world.delete('claim', 'old')
    expect((await world.store.delete(poolRef)).ok).toBe(true)
    await world.play()
    expect([await world.has(poolRef), await world.addressesByClaim()]).toEqual([true, { old: setting.address }])
    await world.letGo()
    await world.play()
    expect([await world.has(poolRef), await world.addressesByClaim()]).toEqual([false, {}])
  })
})

test('an external system keeps what such a claim has, and gets it back afterwards', async () => {
  const world = new ExternalWorld()
  await world.create(externalPool(), externalClaim('old', { finalizers: [CONSUMER] }))
  await world.runOften()
  const before = await world.bindings()
  expect(before.inside).toHaveLength(1)
  expect((await world.store.delete(externalClaimRef('old'))).ok).toBe(true)
  const { outcomes } = await world.run()
  const outcome = outcomes.get('IPAddressClaim default/old')
  expect(outcome).toMatchObject({ kind: 'held', finalizers: [CONSUMER] })
  expect(outcome?.message).toBe(`10.20.0.1 stays in use while the claim has the finalizer ${CONSUMER}`)
  await world.runOften()
  expect(await world.bindings()).toEqual(before)
  const { finalizers = [] } = (await world.claim('old')).metadata
  const left = finalizers.filter((it) => it !== CONSUMER)
  expect((await world.store.patch(externalClaimRef('old'), { metadata: { finalizers: left } })).ok).toBe(true)
  await world.runOften()
  expect(await world.bindings()).toEqual({ inside: [], external: [] })
  expect(await world.list(IPAddressClaim)).toEqual([])
})

test('an external system gets back what such a claim has where our finalizer was taken off the claim', async () => {
  const world = new ExternalWorld()
  await world.create(externalPool(), externalClaim('old', { finalizers: [CONSUMER] }))
  await world.runOften()
  expect((await world.bindings()).external).toHaveLength(1)
  await world.store.patch(externalClaimRef('old'), { metadata: { finalizers: [CONSUMER] } })
  expect((await world.store.delete(externalClaimRef('old'))).ok).toBe(true)
  await world.runOften()
  // the end of the claim gives the provider no last plan, so all of it is given back before
  expect(await world.bindings()).toEqual({ inside: [], external: [] })
  expect((await world.claim('old')).metadata.finalizers).toEqual([CONSUMER])
  await world.store.patch(externalClaimRef('old'), { metadata: { finalizers: [] } })
  await world.runOften()
  expect([await world.bindings(), await world.list(IPAddressClaim)]).toEqual([{ inside: [], external: [] }, []])
})

test('finalizers are asked about by name, and the question has to be a function', () => {
  const wrong = 'all' as unknown as HoldsAddress
  for (const make of [inCluster, inClusterBlocks, blockClaims]) {
    expect(() => make({ holdsAddress: wrong })).toThrow(/holdsAddress/)
  }
  expect([InClusterIPPool.info.kind, infoblox().name]).toEqual(['InClusterIPPool', 'infoblox'])
})

test('a provider that has seen an IPAddress which is removed by force makes it again for a claim that is held', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.5-10.0.0.6']), claim('first'))
  await world.create(claim('old'))
  await world.patch(claimRef('old'), { metadata: { finalizers: [CONSUMER] } })
  const host = new Host(world)
  await host.run()
  await world.create(claim('next'))
  await world.delete('claim', 'first')
  await world.delete('claim', 'old')
  await host.run()
  expect(await world.bindings()).toEqual({ 'default/next': '10.0.0.5', 'default/old': '10.0.0.6' })
  const before = (await world.address('old')).metadata.uid
  await world.patch(addressRef('old'), { metadata: { finalizers: [] } })
  await world.delete('address', 'old')
  await host.run()
  await world.create(claim('another'))
  await host.run()
  expect(await world.bindings()).toEqual({ 'default/next': '10.0.0.5', 'default/old': '10.0.0.6' })
  expect((await world.address('old')).metadata.uid).not.toBe(before)
  expect(host.outcomeOf('old')).toMatchObject({ kind: 'held', message: expect.stringContaining('10.0.0.6') })
})

test('a claim that is held gets its address again when another IPAddress gives it back', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.5']), claim('old'))
  await world.patch(claimRef('old'), { metadata: { finalizers: [CONSUMER] } })
  const host = new Host(world)
  await host.run()
  await world.delete('claim', 'old')
  await host.run()
  await world.patch(addressRef('old'), { metadata: { finalizers: [] } })
  await world.delete('address', 'old')
  await world.create(addressObject('by-hand', { address: '10.0.0.5' }), claim('next'))
  await host.run()
  expect(host.outcomeOf('old')).toMatchObject({ kind: 'held', message: expect.stringContaining('IPAddress is gone') })
  await world.delete('address', 'by-hand')
  await host.run()
  expect(await world.bindings()).toEqual({ 'default/old': '10.0.0.5' })
})

import { Address, Prefix } from 'ipam-kit/cidr'
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Outcome, Plan, Planner } from 'ipam-kit/plan'
import {
  type ConsumerDevice,
  type ConsumerInput,
  type ConsumerOutcome,
  dialects,
  EARLIER_UID_ANNOTATION,
  machineConfig,
  netplan,
  planClaims,
  releasePlan,
} from 'ipam-kit/provider/consumer'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runPlan, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import type { DialectName } from '../../../src/provider/consumer/dialects.js'
import { MACHINE, machines, must } from './world.js'

const group = 'ipam.cluster.x-k8s.io'
const kinds = [machines, ...[IPAddressClaim, IPAddress, Cluster, ...poolModels].map(({ info }) => info)]
const ref = { ...MACHINE, namespace: 'default', name: 'vm' }
const CLUSTER = { 'cluster.x-k8s.io/cluster-name': 'blue' }

/**
 * Pools of both families for two networks, with few addresses: what is not given back is missed by
 * the next machine.
 */
const pools = [
  ['front-v4', { addresses: ['10.0.0.10-10.0.0.11'], prefix: 24, gateway: '10.0.0.1' }],
  ['front-v6', { addresses: ['fd00:a::10-fd00:a::11'], prefix: 64, gateway: 'fd00:a::1' }],
  ['back-v4', { addresses: ['10.1.0.10-10.1.0.11'], prefix: 24 }],
  ['back-v6', { addresses: ['fd00:b::10-fd00:b::11'], prefix: 64 }],
] as const

const devices: readonly ConsumerDevice[] = ['front', 'back'].map((name) => ({
  name,
  pools: ['v4', 'v6'].map((family) => ({ apiGroup: group, kind: 'InClusterIPPool', name: `${name}-${family}` })),
}))

async function lab(): Promise<Store> {
  const store = memoryStore({ now: () => 0, kinds })
  must(await store.create({ ...Cluster.info, metadata: { name: 'blue', namespace: 'default' }, spec: {} }))
  for (const [name, spec] of pools) {
    const pool = {
      apiVersion: `${group}/v1alpha2`,
      kind: 'InClusterIPPool',
      metadata: { name, namespace: 'default' },
      spec,
    }
    must(await store.create(pool))
  }
  must(
    await store.create({
      ...MACHINE,
      metadata: { name: 'vm', namespace: 'default', labels: CLUSTER, finalizers: ['a/machine'] },
    }),
  )
  return store
}

/** What goes on in a cluster meanwhile: the provider of the pools, and the garbage collector. */
async function provideAddresses(store: Store): Promise<void> {
  const gc = gcPlanner({ kinds: [machines, IPAddressClaim.info, IPAddress.info] })
  const planners: readonly Planner<Outcome>[] = [inCluster(), gc]
  await runUntilQuiet(store, planners, { now: () => 0 })
}

async function inputOf(store: Store, naming: DialectName, owner: KubeObject): Promise<ConsumerInput> {
  const claims = must(await store.list(IPAddressClaim.info)).items.map(IPAddressClaim.parse)
  const addresses = must(await store.list(IPAddress.info)).items.map(IPAddress.parse)
  return { owner, naming, devices, claims, addresses }
}

async function step(
  store: Store,
  naming: DialectName,
  plan: (input: ConsumerInput) => Plan<ConsumerOutcome>,
): Promise<ConsumerOutcome> {
  const planned = plan(await inputOf(store, naming, must(await store.get(ref))))
  expect((await runPlan(planned, store)).kind).toBe('done')
  return planned.outcome
}

const namesOf = async (store: Store, info: typeof IPAddress.info) =>
  must(await store.list(info)).items.map(({ metadata }) => metadata.name)

/** What is left of a pool. */
async function usedOf(store: Store): Promise<readonly unknown[]> {
  const listed = must(await store.list({ apiVersion: `${group}/v1alpha2`, kind: 'InClusterIPPool' }))
  return listed.items.map(({ status }) => (status as { ipAddresses: { used: number } }).ipAddresses.used)
}

test.each(['capv', 'openshift', 'proxmox', 'contract'] as const)(
  '%s: a machine with two devices gets four addresses, and gives them back',
  async (naming) => {
    const store = await lab()
    const provide = () => provideAddresses(store)

    expect((await step(store, naming, planClaims)).kind).toBe('creating')
    await provide()
    const ready = await step(store, naming, planClaims)
    expect(ready).toMatchObject({ kind: 'ready', counts: { total: 4, bound: 4, fulfilled: 4 } })
    expect(await usedOf(store)).toEqual([1, 1, 1, 1])

    const config = machineConfig(
      ['02:00:00:00:00:01', '02:00:00:00:00:02'].map((macAddress, index) => ({
        macAddress,
        claims: ready.claims.filter(({ desired }) => desired.deviceIndex === index),
      })),
    )
    expect(config.kind).toBe('configured')
    const settings = config.kind === 'configured' ? [...config.settings.values()] : []
    expect(settings.map(({ addresses }) => addresses.map(Prefix.format))).toEqual([
      ['10.0.0.10/24', 'fd00:a::10/64'],
      ['10.1.0.10/24', 'fd00:b::10/64'],
    ])
    expect(
      settings.map(({ gateway4, gateway6 }) => [gateway4, gateway6].map((it) => it && Address.format(it))),
    ).toEqual([
      ['10.0.0.1', 'fd00:a::1'],
      [undefined, undefined],
    ])
    const rendered = netplan(
      [{ macAddress: '02:00:00:00:00:01' }],
      config.kind === 'configured' ? config.settings : new Map(),
    )
    expect(rendered.network.ethernets.id0).toMatchObject({ gateway4: '10.0.0.1', gateway6: 'fd00:a::1' })

    // the machine is deleted: its addresses stay until it is gone
    must(await store.delete(ref))
    expect((await step(store, naming, planClaims)).kind).toBe('holding')
    await provide()
    expect(await namesOf(store, IPAddress.info)).toHaveLength(4)
    expect((await step(store, naming, releasePlan)).kind).toBe('released')
    must(await store.patch(ref, { metadata: { finalizers: null } }))
    await provide()
    expect([await namesOf(store, IPAddressClaim.info), await namesOf(store, IPAddress.info)]).toEqual([[], []])
    expect(await usedOf(store)).toEqual([0, 0, 0, 0])
  },
)

test('a finalizer holds the claims of a machine whose object is gone too early', async () => {
  const store = await lab()
  const provide = () => provideAddresses(store)
  await step(store, 'capv', planClaims)
  await provide()
  const machine = must(await store.get(ref))
  must(await store.patch(ref, { metadata: { finalizers: null } }))
  must(await store.delete(ref))
  await provide()
  const claims = must(await store.list(IPAddressClaim.info)).items
  const held = [dialects.capv.finalizer, 'ipam.cluster.x-k8s.io/ReleaseAddress']
  expect(claims.map(({ metadata }) => metadata.finalizers)).toEqual(Array(4).fill(held))
  expect(await usedOf(store)).toEqual([1, 1, 1, 1])
  // what is known of the machine is enough to let them go
  expect((await runPlan(releasePlan(await inputOf(store, 'capv', machine)), store)).kind).toBe('done')
  await provide()
  expect(await namesOf(store, IPAddressClaim.info)).toEqual([])
  expect(await usedOf(store)).toEqual([0, 0, 0, 0])
})

describe.each(['Background', 'Foreground'] as const)('a machine that is deleted in the %s', (propagation) => {
  test.each(Object.keys(dialects) as DialectName[])(
    '%s: what is said to stay in use stays, and a consumer that waits for the end of all IPAddress objects comes to it',
    async (naming) => {
      const store = await lab()
      const provide = () => provideAddresses(store)
      const wanted =
        naming === 'capo' ? devices.slice(0, 1).map((each) => ({ pools: each.pools.slice(0, 1) })) : devices
      const take = (plan: (input: ConsumerInput) => Plan<ConsumerOutcome>) =>
        step(store, naming, (input) => plan({ ...input, devices: wanted }))
      await take(planClaims)
      await provide()
      const { counts } = await take(planClaims)
      expect(counts.bound).toBe(counts.total)
      must(await store.delete(ref, { propagation }))
      for (let looks = 0; looks < 3; looks++) {
        const { message } = await take(planClaims)
        const said = Number(/^\d+/.exec(message)?.[0])
        // what the message leaves out is what the collector may take
        const isHeld = dialects[naming].finalizer !== undefined || propagation === 'Background'
        expect(said).toBe(isHeld ? counts.total : 0)
        await provide()
        const left = await namesOf(store, IPAddress.info)
        expect(left.length).toBeGreaterThanOrEqual(said)
      }
      // nothing uses the addresses any more, and the machine goes when all of them have gone
      await take((input) => releasePlan(input, { deleteExplicitly: true }))
      for (let looks = 0; looks < 5 && (await namesOf(store, IPAddress.info)).length > 0; looks++) await provide()
      expect(await namesOf(store, IPAddress.info)).toEqual([])
      must(await store.patch(ref, { metadata: { finalizers: null } }))
      await provide()
      expect([await namesOf(store, IPAddressClaim.info), await namesOf(store, IPAddress.info)]).toEqual([[], []])
      expect((await store.get(ref)).ok).toBe(false)
    },
  )
})

/** A machine that was removed by force, and another one of its name with the uid of the first. */
async function replaced({ isNamed = true } = {}): Promise<Store> {
  const store = await lab()
  await step(store, 'capv', planClaims)
  await provideAddresses(store)
  must(await store.patch(ref, { metadata: { finalizers: null } }))
  const { uid = '' } = must(await store.get(ref)).metadata
  must(await store.delete(ref))
  const annotations = isNamed ? { [EARLIER_UID_ANNOTATION]: uid } : {}
  must(await store.create({ ...MACHINE, metadata: { name: 'vm', namespace: 'default', labels: CLUSTER, annotations } }))
  return store
}

test('a machine takes over the claims of the earlier machine that its annotation names', async () => {
  const store = await replaced()
  expect((await step(store, 'capv', planClaims)).kind).toBe('ready')
  await provideAddresses(store)
  expect((await step(store, 'capv', planClaims)).kind).toBe('ready')
  expect(await usedOf(store)).toEqual([1, 1, 1, 1])
})

test('or it waits for the end of claims that the garbage collector deletes, and gets its own', async () => {
  const store = await replaced()
  await provideAddresses(store)
  expect((await step(store, 'capv', planClaims)).kind).toBe('terminating')
  await provideAddresses(store)
  expect((await step(store, 'capv', planClaims)).kind).toBe('creating')
  await provideAddresses(store)
  expect((await step(store, 'capv', planClaims)).kind).toBe('ready')
  expect(await usedOf(store)).toEqual([1, 1, 1, 1])
})

test('without the annotation the addresses of the earlier machine stay in use', async () => {
  const store = await replaced({ isNamed: false })
  expect((await step(store, 'capv', planClaims)).kind).toBe('conflict')
  for (let looks = 0; looks < 3; looks++) {
    await provideAddresses(store)
    expect((await step(store, 'capv', planClaims)).kind).toBe('terminating')
  }
  expect(await usedOf(store)).toEqual([1, 1, 1, 1])
})

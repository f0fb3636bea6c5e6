import fc from 'fast-check'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { phaseOf } from 'ipam-kit/claim'
import { IPAddress, type IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { addressSpace, InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Store } from 'ipam-kit/store'
import { crashingStore, SimulatedCrash, storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { ModelPool } from '../../allocator/pool/model-pool.js'
import { addressRef, claim, claimRef, cluster, clusterRef, pool, poolRef, World } from './world.js'

const CLAIMS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const POOLS = ['pool', 'other']
/**
 * Small enough to run dry, overlapping each other, with reserved ends, exclusions and a gateway
 * inside.
 */
const SPECS = [
  { addresses: ['10.0.0.0/29'], prefix: 29, gateway: '10.0.0.1' },
  { addresses: ['10.0.0.2-10.0.0.5'], prefix: 29, excludedAddresses: ['10.0.0.3'] },
  { addresses: ['10.0.0.4'], prefix: 24 },
  { addresses: ['10.0.0.7', '10.0.0.0-10.0.0.1'], prefix: 29, allocateReservedIPAddresses: true },
  { addresses: ['nonsense'], prefix: 24 },
]

type Step =
  | {
      readonly do: 'replace'
      readonly name: string
      readonly from: string
      readonly address: 'stays' | 'killed' | 'bared'
    }
  | { readonly do: 'claim'; readonly name: string; readonly from: string; readonly withCluster: boolean }
  | { readonly do: 'unclaim' | 'removeAddress' | 'removeFinalizer'; readonly name: string }
  | { readonly do: 'pool' | 'resize'; readonly name: string; readonly spec: number }
  | { readonly do: 'deletePool'; readonly name: string }
  | { readonly do: 'pause' | 'unpause' | 'run' }
  | { readonly do: 'crash'; readonly at: number; readonly point: 'before' | 'after' }

const name = fc.constantFrom(...CLAIMS)
const poolName = fc.constantFrom(...POOLS)
const spec = fc.nat(SPECS.length - 1)
const replacement = (name: fc.Arbitrary<string>) =>
  fc.record({
    do: fc.constant('replace' as const),
    name,
    from: poolName,
    address: fc.constantFrom('stays' as const, 'killed' as const, 'bared' as const),
  })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('claim' as const), name, from: poolName, withCluster: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('unclaim' as const), name }) },
  {
    weight: 1,
    arbitrary: replacement(name),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('removeAddress' as const, 'removeFinalizer' as const), name }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('pool' as const, 'resize' as const), name: poolName, spec }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deletePool' as const), name: poolName }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'unpause' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('run' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      at: fc.integer({ min: 1, max: 12 }),
      point: fc.constantFrom('before' as const, 'after' as const),
    }),
  },
)

test('no address twice, none outside the pool, none lost; and a quiet world stays quiet', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 40, size: 'max' }), async (steps) => {
      const world = new World()
      await world.create(cluster('c1'), pool(SPECS[0]!.addresses, SPECS[0]))
      await live(world, steps)
    }),
  )
})

test('an IPAddress without a maker stays, whatever becomes of the claims of its name', async () => {
  const few = fc.constantFrom('a', 'b')
  const rough = fc.oneof(
    { weight: 3, arbitrary: replacement(few) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('unclaim' as const, 'removeAddress' as const), name: few }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('claim' as const), name, from: poolName, withCluster: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('run' as const) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(rough, { minLength: 1, maxLength: 12, size: 'max' }), async (steps) => {
      const world = new World()
      await world.create(cluster('c1'), pool(SPECS[0]!.addresses, SPECS[0]), pool(['10.1.0.1-10.1.0.2'], {}, 'other'))
      await world.create(claim('a'), claim('b', { poolRef: { name: 'other' } }))
      await live(world, [{ do: 'run' }, ...steps])
    }),
  )
})

async function live(world: World, steps: readonly Step[]): Promise<void> {
  const strays: Strays = new Map()
  for (const each of steps) {
    const isReplaced = (it: IPAddressClaim) => each.do === 'replace' && it.metadata.name === each.name
    const before = (await world.claims()).filter((it) => !isReplaced(it))
    await play(world, strays, each)
    await straysStay(world, strays, each, before)
    await nothingTwice(world)
  }
  await world.store.patch(clusterRef('c1'), { spec: { paused: null } })
  const before = await world.claims()
  await world.run(checked(world.store))
  await straysStay(world, strays, { do: 'run' }, before)
  await nothingTwice(world)
  await nothingLost(world, strays)
  await countsAreRight(world)
  const rest = await world.state()
  expect((await world.run()).written, 'a second run writes nothing').toBe(0)
  expect(await world.state()).toEqual(rest)
}

/**
 * IPAddress objects that say of nobody who has made them, and whose claim was replaced by one of
 * another pool before the provider could put that right, by uid. They might as well be written by
 * hand: they stay as they are, until a claim of their own pool adopts them.
 */
type Strays = Map<string | undefined, IPAddress>

function isBare({ metadata }: IPAddress): boolean {
  return metadata.ownerReferences === undefined && metadata.finalizers === undefined
}

/** Looks that strays stay: what removes one is a hand, or the end of a claim of its own pool. */
async function straysStay(world: World, strays: Strays, step: Step, before: readonly IPAddressClaim[]): Promise<void> {
  const [addresses, after] = [await world.addresses(), await world.claims()]
  for (const [uid, stray] of strays) {
    const { name } = stray.metadata
    const now = addresses.find(({ metadata }) => metadata.uid === uid)
    const itsClaim = (now === undefined ? before : after).find(({ metadata }) => metadata.name === name)
    const isOfItsPool = itsClaim?.spec.poolRef.name === stray.spec.poolRef.name
    if (now !== undefined) expect(now.spec).toEqual(stray.spec)
    if (now !== undefined && isBare(now)) {
      if (!isOfItsPool) expect(itsClaim?.status?.addressRef, `${name} is nobody's`).toBeUndefined()
      continue
    }
    strays.delete(uid)
    const isRemoval = step.do === 'removeAddress' || (step.do === 'replace' && step.address === 'killed')
    const isByHand = isRemoval && step.name === name
    expect((now === undefined && isByHand) || isOfItsPool, `${name} is nobody's`).toBe(true)
  }
}

async function play(world: World, strays: Strays, step: Step): Promise<void> {
  const { store } = world
  switch (step.do) {
    case 'claim':
      await store.create(
        claim(step.name, { poolRef: { name: step.from }, ...(step.withCluster ? { clusterName: 'c1' } : {}) }),
      )
      world.nowMs += 1000
      return
    case 'unclaim':
      await store.delete(claimRef(step.name))
      return
    case 'replace':
      // a claim that is removed by force, and made again before the provider sees that it was gone;
      // its address is `killed`: deleted; or `bared`
      if (step.address === 'bared') await play(world, strays, { do: 'removeFinalizer', name: step.name })
      for (const address of await world.addresses()) {
        const isOfOther = address.metadata.name === step.name && address.spec.poolRef.name !== step.from
        if (isOfOther && isBare(address)) strays.set(address.metadata.uid, address)
      }
      await store.patch(claimRef(step.name), { metadata: { finalizers: null } })
      await store.delete(claimRef(step.name))
      if (step.address === 'killed') await store.delete(addressRef(step.name))
      await store.create(claim(step.name, { poolRef: { name: step.from } }))
      world.nowMs += 1000
      // now the provider sees it: a claim that goes again before that takes nothing along, as
      // nothing ties it to the address yet
      await world.run(checked(store))
      return
    case 'removeAddress':
      // by force, as only an administrator does: the claim has to get an address again
      await store.patch(addressRef(step.name), { metadata: { finalizers: null } })
      await store.delete(addressRef(step.name))
      return
    case 'removeFinalizer':
      await store.patch(addressRef(step.name), { metadata: { finalizers: null, ownerReferences: null } })
      return
    case 'pool':
      await store.create(pool(SPECS[step.spec]!.addresses, SPECS[step.spec], step.name))
      return
    case 'resize': {
      const nothing = { gateway: null, excludedAddresses: null, allocateReservedIPAddresses: null }
      await store.patch(poolRef(step.name), { spec: { ...nothing, ...SPECS[step.spec] } })
      return
    }
    case 'deletePool':
      await store.delete(poolRef(step.name))
      return
    case 'pause':
      await store.patch(clusterRef('c1'), { spec: { paused: true } })
      return
    case 'unpause':
      await store.patch(clusterRef('c1'), { spec: { paused: null } })
      return
    case 'run':
      await world.run(checked(store))
      return
    case 'crash':
      try {
        await world.run(crashingStore(checked(store), step.at, step.point))
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error
      }
  }
}

/**
 * A store that looks at every address the moment it is handed out: in the pool as it is now, and
 * held by nobody.
 */
function checked(store: Store): Store {
  return storeOver(store, {
    create: async (object) => {
      if (object.kind === 'IPAddress') await mayBeHandedOut(store, IPAddress.parse(object))
      return store.create(object)
    },
  })
}

async function mayBeHandedOut(store: Store, address: IPAddress): Promise<void> {
  const owner = await store.get(poolRef(address.spec.poolRef.name))
  if (!owner.ok) throw new Error(`handed out from a pool that is not there: ${JSON.stringify(address.spec)}`)
  const model = modelOf(InClusterIPPool.parse(owner.value))
  for (const other of await ofPool(store, address.spec.poolRef.name))
    model.occupy(other.spec.address, other.metadata.name)
  expect(model.lowestFree(), 'the lowest free address of the pool').toBe(address.spec.address)
}

function modelOf(pool: InClusterIPPool): ModelPool {
  const space = addressSpace(pool.spec)
  if (!space.ok) throw new Error('handed out from an invalid pool')
  const { addresses, excluded, reserved, gateway } = space.value
  const kept = RangeSet.union(RangeSet.union(excluded, reserved), RangeSet.fromAddresses(gateway ? [gateway] : []))
  return new ModelPool(addresses, kept)
}

async function ofPool(store: Store, name: string): Promise<IPAddress[]> {
  const listed = await store.list(IPAddress.info)
  if (!listed.ok) throw new Error(JSON.stringify(listed.failure))
  return listed.value.items.map((it: KubeObject) => IPAddress.parse(it)).filter((it) => it.spec.poolRef.name === name)
}

async function nothingTwice(world: World): Promise<void> {
  const seen = new Map<string, string>()
  for (const address of await world.addresses()) {
    const key = `${address.spec.poolRef.name} ${Address.format(Address.parse(address.spec.address))}`
    expect(seen.get(key), `${key} is held by ${address.metadata.name} too`).toBeUndefined()
    seen.set(key, address.metadata.name)
  }
}

/**
 * Every address has its claim, unless it is nobody's, and every claim its address, or a reason: a
 * claim waits for room only where there is none, and fails only where an address that is nobody's
 * has its name.
 */
async function nothingLost(world: World, strays: Strays): Promise<void> {
  const claims = new Map((await world.claims()).map((it) => [it.metadata.name, it]))
  const addresses = new Map((await world.addresses()).map((it) => [it.metadata.name, it]))
  const inTheWay = new Set<string>()
  for (const [name, address] of addresses) {
    const poolOfClaim = claims.get(name)?.spec.poolRef.name
    if (poolOfClaim !== address.spec.poolRef.name && isBare(address) && strays.has(address.metadata.uid)) {
      inTheWay.add(name)
      continue
    }
    expect(claims.get(name)?.status?.addressRef?.name, `${address.spec.address} belongs to a claim`).toBe(name)
    expect(poolOfClaim, `${address.spec.address} is from the pool of its claim`).toBe(address.spec.poolRef.name)
  }
  for (const [name, it] of claims) {
    expect(it.metadata.deletionTimestamp, `${name} is deleted and still there`).toBeUndefined()
    const ready = it.status?.conditions?.find((condition) => condition.type === 'Ready')
    if (inTheWay.has(name)) {
      expect([it.status?.addressRef, ready?.status, ready?.reason]).toEqual([undefined, 'False', 'AllocationFailed'])
    } else if (phaseOf(it) === 'Bound') {
      expect(addresses.has(name)).toBe(true)
      expect(ready?.status).toBe('True')
    } else {
      expect(['PoolExhausted', 'PoolNotReady']).toContain(ready?.reason)
      if (ready?.reason !== 'PoolExhausted') continue
      const model = modelOf(await world.pool(it.spec.poolRef.name))
      for (const other of await ofPool(world.store, it.spec.poolRef.name))
        model.occupy(other.spec.address, other.metadata.name)
      expect(model.lowestFree(), `${name} waits although there is room`).toBeUndefined()
    }
  }
}

async function countsAreRight(world: World): Promise<void> {
  const listed = await world.store.list(InClusterIPPool.info)
  if (!listed.ok) throw new Error(JSON.stringify(listed.failure))
  for (const object of listed.value.items) {
    const owner = InClusterIPPool.parse(object)
    if (!addressSpace(owner.spec).ok) continue
    const model = modelOf(owner)
    const held = await ofPool(world.store, owner.metadata.name)
    for (const it of held) model.occupy(it.spec.address, it.metadata.name)
    const { total, free, outOfRange } = model.counts()
    expect(owner.status?.ipAddresses).toEqual({
      total: Number(total),
      free: Number(free),
      used: held.length,
      outOfRange: Number(outOfRange),
    })
  }
}

import type { KubeObject } from 'ipam-kit/crd/meta'
import { SimulatedCrash } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { infoblox } from '../../docs/examples/external-provider/provider.js'
import { addressRef, claim, claimRef, dyingAt, NETWORK, pool, poolRef, World } from '../provider/claims/world.js'
import { passResult } from '../provider/pass-result.js'
import { cuts } from '../setup/depth.js'

let world: World

beforeEach(async () => {
  world = new World()
  await world.create(pool())
})

const readyOf = async (name: string) =>
  (await world.claim(name)).status?.conditions?.find((condition) => condition.type === 'Ready')

/** A planner that knows claim and pool, whose calls are carried out, and whose writes are not. */
async function conversation(planner: ReturnType<typeof infoblox>) {
  const show = (object: KubeObject) =>
    planner.observe({ kind: 'present', object: { ...object, metadata: { uid: 'shown', ...object.metadata } } })
  for (const ref of [poolRef(), claimRef('a')]) {
    const got = await world.store.get(ref)
    if (got.ok) show(got.value)
  }
  const key = 'IPAddressClaim default/a'
  /** One plan at a time, and when the one after it wants to be made again. */
  const plan = async (nowMs: number) => {
    const asked = planner.plan(key, { nowMs })?.effects.find((effect) => effect.kind === 'external')
    if (asked?.kind !== 'external') return { asked: false, again: undefined }
    passResult(planner, { call: asked.call, answer: await world.external(asked.call), atMs: nowMs })
    return { asked: true, again: planner.plan(key, { nowMs })?.requeueAfterSeconds }
  }
  return { plan, show }
}

describe('the provider in three verbs', () => {
  test('gives an address, says under which marker, and gives it back', async () => {
    await world.create(claim('a'))
    await world.run()
    expect(await world.bindings()).toEqual({ inside: ['default.a 10.20.0.1'], external: ['default.a 10.20.0.1'] })
    expect(await readyOf('a')).toMatchObject({ status: 'True', reason: 'AddressAllocated' })
    const owner = (await world.claim('a')).metadata.uid
    const marker = world.ipam.records[0]?.marker
    expect(marker?.split('/')[1]).toBe(owner)
    const address = await world.store.get(addressRef('a'))
    expect(address).toMatchObject({ value: { metadata: { annotations: { 'ipam-kit.dev/marker': marker } } } })
    expect((await world.run()).written).toBe(0)

    await world.store.delete(claimRef('a'))
    await world.run()
    expect(await world.bindings()).toEqual({ inside: [], external: [] })
    expect((await world.store.get(claimRef('a'))).ok).toBe(false)
  })

  test('says why it has no address while the external system is down, waits longer each time, and continues', async () => {
    await world.create(claim('a'))
    world.ipam.inject('down', 'down', 'down')
    const planner = infoblox()
    const { plan } = await conversation(planner)
    const waits: (number | undefined)[] = []
    for (let nowMs = 0; ; ) {
      const { asked, again } = await plan(nowMs)
      if (!asked) break
      waits.push(again)
      nowMs += (again ?? 0) * 1000
    }
    expect(waits).toEqual([5, 10, 20, undefined])

    world.ipam.inject('down')
    await world.run()
    expect(await readyOf('a')).toMatchObject({
      status: 'False',
      reason: 'AllocationFailed',
      message: 'connection refused',
    })
    await world.run()
    expect(await world.bindings()).toMatchObject({ inside: ['default.a 10.20.0.1'] })
  })

  test('asks again when the address that was made of an answer is lost', async () => {
    await world.create(claim('a'))
    const planner = infoblox()
    const { plan, show } = await conversation(planner)
    expect((await plan(0)).asked).toBe(true)
    const [created] = planner
      .plan('IPAddressClaim default/a', { nowMs: 0 })!
      .effects.filter((it) => it.kind === 'create')
    if (created?.kind !== 'create') throw new Error('nothing was created')
    show(created.object)
    planner.observe({ kind: 'absent', ref: addressRef('a'), uid: 'shown' })
    expect((await plan(0)).asked).toBe(true)
  })

  test('gives no second address when the answer to the first call was lost', async () => {
    await world.create(claim('a'))
    world.ipam.inject('lost-answer', 'lost-answer')
    await world.run()
    expect(world.ipam.records).toHaveLength(1)
    await world.runOften()
    expect(world.ipam.calls.every((call) => call === world.ipam.calls[0])).toBe(true)
    expect(await world.bindings()).toEqual({ inside: ['default.a 10.20.0.1'], external: ['default.a 10.20.0.1'] })
  })

  test('gives back what a lost answer had given to a claim that was deleted meanwhile', async () => {
    await world.create(claim('a'))
    world.ipam.inject('lost-answer')
    await world.run()
    await world.store.delete(claimRef('a'))
    await world.run()
    expect(await world.bindings()).toEqual({ inside: [], external: [] })
    expect((await world.store.get(claimRef('a'))).ok).toBe(false)
  })

  test('gives back under the marker that the address has, also when its claim is another one by now', async () => {
    await world.create(claim('a'))
    await world.run()
    // as after a move: the claim has come again under a new uid, and adopts the address
    await world.store.patch(claimRef('a'), { metadata: { finalizers: null } })
    await world.store.delete(claimRef('a'))
    await world.create(claim('a'))
    await world.run()
    expect(await world.bindings()).toEqual({ inside: ['default.a 10.20.0.1'], external: ['default.a 10.20.0.1'] })
    await world.store.delete(claimRef('a'))
    await world.run()
    expect(await world.bindings()).toEqual({ inside: [], external: [] })
  })

  test('gives back to the external system what an earlier claim of the name, from another pool, has left', async () => {
    await world.create(pool(NETWORK, 'other'), claim('a'))
    await world.run()
    await world.store.patch(claimRef('a'), { metadata: { finalizers: null } })
    await world.store.delete(claimRef('a'))
    await world.create(claim('a', {}, 'other'))
    await world.run()
    expect(await world.bindings()).toEqual({ inside: ['default.a 10.20.0.1'], external: ['default.a 10.20.0.1'] })
    expect(world.ipam.calls.map((call) => call.split(' ')[0])).toEqual(['allocate', 'release', 'allocate'])
  })

  test('lets a claim go whose record in the external system is gone already', async () => {
    await world.create(claim('a'))
    await world.run()
    world.ipam.removeByHand(world.ipam.records[0]?.marker as string)
    await world.store.delete(claimRef('a'))
    await world.run()
    expect((await world.store.get(claimRef('a'))).ok).toBe(false)
    expect((await world.store.get(addressRef('a'))).ok).toBe(false)
  })

  test('keeps a claim whose address was not given back, and its address, and says why', async () => {
    await world.create(claim('a'))
    await world.run()
    await world.store.delete(claimRef('a'))
    world.ipam.inject('down')
    await world.run()
    expect(await readyOf('a')).toMatchObject({
      reason: 'AllocationFailed',
      message: 'not released: connection refused',
    })
    expect((await world.store.get(addressRef('a'))).ok).toBe(true)
    await world.runOften()
    expect(await world.bindings()).toEqual({ inside: [], external: [] })
  })

  test('says that the network is full, and serves waiting claims as soon as it has room', async () => {
    await world.create(claim('a'), claim('b'), claim('c'))
    await world.run()
    expect(await readyOf('c')).toMatchObject({ status: 'False', reason: 'PoolExhausted' })
    await world.store.delete(claimRef('a'))
    await world.run()
    expect((await world.bindings()).inside).toEqual(['default.b 10.20.0.2', 'default.c 10.20.0.1'])
    expect((await world.bindings()).external).toEqual((await world.bindings()).inside)
  })

  test('makes no call for a pool that cannot be used, or for a paused object', async () => {
    await world.create(pool('nonsense', 'broken'), claim('a', {}, 'broken'))
    await world.create(claim('b', { annotations: { 'cluster.x-k8s.io/paused': '' } }), claim('c', {}, 'none'))
    await world.run()
    expect(world.ipam.calls).toEqual([])
    expect(await readyOf('a')).toMatchObject({ reason: 'PoolNotReady', message: 'spec.network is no CIDR: nonsense' })
    expect(await readyOf('c')).toMatchObject({ reason: 'PoolNotReady' })
    await world.store.patch(claimRef('b'), { metadata: { annotations: null } })
    await world.run()
    expect((await world.bindings()).inside).toEqual(['default.b 10.20.0.1'])

    await world.store.patch(claimRef('b'), { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } })
    await world.store.delete(claimRef('b'))
    await world.run()
    expect(await world.bindings()).toEqual({ inside: ['default.b 10.20.0.1'], external: ['default.b 10.20.0.1'] })
  })

  test('keeps a pool while a claim of it may have something in the external system, and lets it go then', async () => {
    await world.create(claim('a'))
    world.ipam.inject('lost-answer')
    await world.run()
    await world.store.delete(poolRef())
    await world.run()
    expect((await world.store.get(poolRef())).ok).toBe(true)
    await world.store.delete(claimRef('a'))
    await world.run()
    expect((await world.store.get(poolRef())).ok).toBe(false)
    expect(world.ipam.records).toEqual([])
  })

  test('asks again when the pool has changed since the answer, and not because time has passed', async () => {
    await world.create(claim('a'))
    const planner = infoblox()
    const key = 'IPAddressClaim default/a'
    for (const ref of [poolRef(), claimRef('a')]) {
      const got = await world.store.get(ref)
      if (got.ok) planner.observe({ kind: 'present', object: got.value })
    }
    const [effect] = planner.plan(key, { nowMs: 0 })!.effects.filter(({ kind }) => kind === 'external')
    if (effect?.kind !== 'external') throw new Error('no call')
    passResult(planner, { call: effect.call, answer: { ok: true, value: { address: '10.20.0.1' } }, atMs: 0 })
    const kindsAt = (nowMs: number) => planner.plan(key, { nowMs })!.effects.map(({ kind }) => kind)
    expect(kindsAt(86_400_000)).toContain('create')
    const changed = await world.store.patch(poolRef(), { spec: { gateway: '10.20.0.2' } })
    if (!changed.ok) throw new Error(changed.failure.code)
    planner.observe({ kind: 'present', object: changed.value })
    expect(kindsAt(0)).toContain('external')
  })
})

describe('a provider that dies at any write or call, and comes again, ends in the same state', () => {
  const stages: readonly ((world: World) => Promise<unknown>)[] = [
    async (it) => it.create(pool(), claim('a'), claim('b'), claim('c')),
    async (it) => it.store.delete(claimRef('a')),
    async (it) => {
      await it.create(claim('a'))
      await it.store.delete(claimRef('b'))
    },
    async (it) => {
      for (const name of ['a', 'c']) await it.store.delete(claimRef(name))
      await it.store.delete(poolRef())
    },
  ]
  const live = async (stage: number, at: number, point: 'before' | 'after') => {
    const it = new World()
    const states: unknown[] = []
    let steps = 0
    let deaths = 0
    for (const [index, act] of stages.entries()) {
      await act(it)
      const dying = dyingAt(it, index === stage ? at : Number.POSITIVE_INFINITY, point)
      try {
        await it.run(dying)
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error
        deaths++
      }
      if (index === stage) steps = dying.steps()
      await it.run()
      const { inside, external } = await it.bindings()
      expect(external, `the external system has what the cluster has, after stage ${index + 1}`).toEqual(inside)
      states.push(inside)
    }
    return { states, steps, deaths }
  }
  for (const stage of stages.keys()) {
    test(`stage ${stage + 1}`, async () => {
      const whole = await live(stage, Number.POSITIVE_INFINITY, 'before')
      expect(whole.steps).toBeGreaterThan(3)
      for (const at of cuts(whole.steps)) {
        for (const point of ['before', 'after'] as const) {
          const cut = await live(stage, at, point)
          expect(cut.deaths).toBe(1)
          expect(cut.states, `died ${point} step ${at}`).toEqual(whole.states)
        }
      }
    })
  }
})

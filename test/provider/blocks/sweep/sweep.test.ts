import { IPBlock, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import type { Plan, Planner } from 'ipam-kit/plan'
import { allocate, blocksSweep, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runPlan, runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { handleName } from '../../../../src/crd/ipam-kit/ip-handle.js'
import { blocksIn, kinds, poolIn } from '../world.js'

const POD: KindInfo = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true, statusSubresource: true }
const FIRST = 'default-4-0a000000-28'
const GRACE_S = 60

let store: Store
let nowMs: number
let sweep: Planner
beforeEach(async () => {
  nowMs = 1_000_000
  store = memoryStore({ kinds: [...kinds, POD], now: () => nowMs })
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
  sweep = blocksSweep({ owners: [POD], graceSeconds: GRACE_S, handles: true })
})

async function pod(name: string, annotations: { readonly [key: string]: string } = {}): Promise<KubeObject> {
  return unwrap(await store.create({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ns', name, annotations } }))
}

async function give(name: string, uid: string, kind?: string): Promise<void> {
  const request = { owner: { uid, name: `ns/${name}`, kind }, pools: ['blue'], families: [4] as const, handle: true }
  const ended = await runTask(allocate(request, new KnownBlocks()), store, { now: () => nowMs })
  expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'allocated' } })
}

/** Shows the sweep what is stored: also what is not there any more. */
async function look(): Promise<void> {
  for (const { apiVersion, kind } of [IPPool.info, IPBlock.info, IPHandle.info, POD]) {
    const { items } = unwrap(await store.list({ apiVersion, kind }))
    for (const object of items) sweep.observe({ kind: 'present', object })
    const there = new Set(items.map(({ metadata }) => metadata.name))
    for (const name of seen.get(kind) ?? []) {
      const namespace = kind === 'Pod' ? 'ns' : undefined
      if (!there.has(name)) sweep.observe({ kind: 'absent', ref: { apiVersion, kind, namespace, name } })
    }
    seen.set(kind, there)
  }
}
const seen = new Map<string, ReadonlySet<string>>()
beforeEach(() => seen.clear())

const planOf = (key: string): Plan => {
  const plan = sweep.plan(key, { nowMs })
  if (plan === undefined) throw new Error(`no plan for ${key}`)
  return plan
}

/** Plans until nothing is to be done now. @returns what became of it */
async function work(key: string): Promise<string> {
  for (let n = 0; n < 10; n++) {
    const plan = sweep.plan(key, { nowMs })
    if (plan === undefined) return 'gone'
    if (plan.effects.length === 0) return plan.outcome.kind
    const ended = await runPlan(plan, store, { onChange: (change) => sweep.observe(change) })
    if (ended.kind !== 'done') return ended.failure.code
  }
  throw new Error('it does not come to rest')
}

const uidsIn = async () => (await blocksIn(store)).flatMap(({ spec }) => Object.values(spec.rows).map(({ uid }) => uid))
const handlesIn = async () => {
  const { apiVersion, kind } = IPHandle.info
  return unwrap(await store.list({ apiVersion, kind })).items.map(({ metadata }) => metadata.name)
}
const remove = async (name: string) =>
  unwrap(await store.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'ns', name }))

describe('rows', () => {
  test('go when their owner is missing twice, with the grace period between', async () => {
    const uid = (await pod('a')).metadata.uid as string
    await give('a', uid)
    await give('b', (await pod('b')).metadata.uid as string)
    await look()
    expect(await work(FIRST)).toBe('ready')
    await remove('a')
    await look()
    expect(await work(FIRST)).toBe('waiting')
    expect(planOf(FIRST).requeueAfterSeconds).toBe(GRACE_S)
    nowMs += GRACE_S * 1000 - 1
    expect(await work(FIRST)).toBe('waiting')
    expect(await uidsIn()).toHaveLength(2)
    nowMs += 1
    expect(await work(FIRST)).toBe('ready')
    expect(await uidsIn()).not.toContain(uid)
    expect(await uidsIn()).toHaveLength(1)
  })

  test('stay when their owner is first missed, also without a grace period', async () => {
    sweep = blocksSweep({ owners: [POD], graceSeconds: 0 })
    await give('a', 'gone')
    await look()
    expect(planOf(FIRST)).toMatchObject({ effects: [], requeueAfterSeconds: 1 })
    nowMs += 1
    expect(await work(FIRST)).toBe('ready')
    expect(await uidsIn()).toEqual([])
  })

  test.each([
    ['rest as long as their pool says', { reuseAfterSeconds: 100 }, 'cooldown'],
    ['are kept for who comes again as long as their pool says', { sticky: { by: 'owner', forSeconds: 100 } }, 'held'],
  ] as const)('that go %s', async (_, rules, state) => {
    const { apiVersion, kind } = IPPool.info
    unwrap(await store.patch({ apiVersion, kind, name: 'blue' }, { spec: rules }))
    sweep = blocksSweep({ owners: [POD], graceSeconds: 0 })
    await give('a', 'gone')
    await look()
    expect(await work(FIRST)).toBe('waiting')
    nowMs += 1000
    expect(await work(FIRST)).toBe('ready')
    const [block] = await blocksIn(store)
    const until = new Date(nowMs + 100_000).toISOString()
    expect(Object.values(block?.spec.rows ?? {})).toMatchObject([{ state, until }])
  })

  test('stay if the owner is there after all: it is asked for right before', async () => {
    const { metadata } = await pod('a')
    await give('a', metadata.uid as string)
    // a watch that has not shown the Pod yet
    const listed = unwrap(await store.list({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock' }))
    for (const object of listed.items) sweep.observe({ kind: 'present', object })
    expect(await work(FIRST)).toBe('waiting')
    nowMs += GRACE_S * 1000
    expect(await work(FIRST)).toBe('STORE_CONFLICT')
    expect(await uidsIn()).toEqual([metadata.uid])
  })

  test('of an owner that was made anew under its name go: it is another one', async () => {
    const { metadata } = await pod('a')
    await give('a', metadata.uid as string)
    await remove('a')
    await pod('a')
    await look()
    expect(await work(FIRST)).toBe('waiting')
    nowMs += GRACE_S * 1000
    expect(await work(FIRST)).toBe('ready')
    expect(await uidsIn()).toEqual([])
  })

  test('of a static Pod stay while its mirror is there, whose own uid is another one', async () => {
    const hash = '0f4de1d5d3a8d0b7b0a1c0ffee000001'
    const key = `handle ${handleName(hash)}`
    const mirror = () => pod('proxy-node-1', { 'kubernetes.io/config.mirror': hash })
    await mirror()
    await give('proxy-node-1', hash)
    await look()
    expect(await work(FIRST)).toBe('ready')
    expect(await work(key)).toBe('ready')
    await remove('proxy-node-1')
    await look()
    expect([await work(FIRST), await work(key)]).toEqual(['waiting', 'waiting'])
    // as the kubelet does it; the watch has not shown it yet
    await mirror()
    nowMs += GRACE_S * 1000
    expect(await work(FIRST)).toBe('STORE_CONFLICT')
    const object = unwrap(await store.get({ ...POD, namespace: 'ns', name: 'proxy-node-1' }))
    expect(sweep.observe({ kind: 'present', object })).toEqual([FIRST, key])
    expect([await work(FIRST), await work(key)]).toEqual(['ready', 'ready'])
    await remove('proxy-node-1')
    // of another static Pod, or of this one with other contents
    await pod('proxy-node-1', { 'kubernetes.io/config.mirror': 'other' })
    await look()
    expect(await work(FIRST)).toBe('waiting')
    nowMs += GRACE_S * 1000
    expect(await work(FIRST)).toBe('ready')
    expect(await uidsIn()).toEqual([])
  })

  test('whose owners have names that no object has stay, and keep no other one from going', async () => {
    const odd = ['a/b/c', '/x', 'x/', 'noslash', 'ns/x_y', 'n.s/x', `${'n'.repeat(64)}/x`, `ns/${'x'.repeat(254)}`]
    for (const [nth, name] of [...odd, 'ns/gone'].entries()) {
      const request = { owner: { uid: `u-${nth}`, name }, pools: ['blue'], families: [4] as const }
      await runTask(allocate(request, new KnownBlocks()), store, { now: () => nowMs })
    }
    await look()
    expect(await work(FIRST)).toBe('waiting')
    nowMs += GRACE_S * 1000
    expect(await work(FIRST)).toBe('ready')
    expect(await uidsIn()).toEqual(odd.map((_, nth) => `u-${nth}`))
  })

  test('take turns: one that the store refuses keeps no other one from going', async () => {
    for (const name of ['a', 'b', 'c']) await give(name, `uid-${name}`)
    await look()
    expect(await work(FIRST)).toBe('waiting')
    nowMs += GRACE_S * 1000
    // a namespace that the sweep has no right to read
    const failure = fail('STORE_INVALID', { object: 'Pod ns/a', path: 'metadata.name', problem: 'no' }).failure
    const refusing = storeOver(store, {
      get: async (ref) => (ref.name === 'a' ? { ok: false, failure } : store.get(ref)),
    })
    const ended: string[] = []
    for (let n = 0; n < 4; n++) {
      const plan = planOf(FIRST)
      const result = await runPlan(plan, refusing, { onChange: (change) => sweep.observe(change) })
      if (result.kind === 'failed') {
        sweep.refused?.(FIRST, { effect: result.effect, code: failure.code, message: 'no' }, { nowMs })
      }
      ended.push(result.kind)
    }
    expect(ended).toEqual(['failed', 'done', 'done', 'failed'])
    expect(await uidsIn()).toEqual(['uid-a'])
  })

  test('of kinds that it is not told of stay', async () => {
    await give('a', 'u', 'VirtualMachine.kubevirt.io')
    await look()
    expect(await work(FIRST)).toBe('ready')
    nowMs += 10 * GRACE_S * 1000
    expect(await work(FIRST)).toBe('ready')
    expect(await work(`handle ${handleName('u')}`)).toBe('ready')
    expect(await handlesIn()).toEqual(['uid-u'])
  })
})

describe('handles', () => {
  test('go after the rows of their owner', async () => {
    await give('a', 'gone')
    const key = `handle ${handleName('gone')}`
    await look()
    expect(await work(FIRST)).toBe('waiting')
    expect(await work(key)).toBe('waiting')
    nowMs += GRACE_S * 1000
    expect(planOf(key).outcome.message).toBe('its owner ns/a is missing, and has rows')
    expect(await work(FIRST)).toBe('ready')
    expect(await work(key)).toBe('gone')
    expect(await handlesIn()).toEqual([])
  })

  test('stay while the owner is there, and when it is made known', async () => {
    const { metadata } = await pod('a')
    const uid = metadata.uid as string
    await give('a', uid)
    const { apiVersion, kind } = IPHandle.info
    const [handle] = unwrap(await store.list({ apiVersion, kind })).items
    sweep.observe({ kind: 'present', object: handle as KubeObject })
    const key = `handle ${handleName(uid)}`
    expect(await work(key)).toBe('waiting')
    nowMs += GRACE_S * 1000
    expect(await work(key)).toBe('STORE_CONFLICT')
    const keys = sweep.observe({
      kind: 'present',
      object: unwrap(await store.get({ ...POD, namespace: 'ns', name: 'a' })),
    })
    expect(keys).toContain(key)
    expect(await work(key)).toBe('ready')
    expect(await handlesIn()).toHaveLength(1)
  })

  test('that were given up are looked at no more, and one that cannot be read stays', async () => {
    await give('a', 'u')
    await look()
    const back = release({ owner: { uid: 'u' }, handle: true }, new KnownBlocks())
    await runTask(back, store, { now: () => nowMs })
    await look()
    expect(await work(`handle ${handleName('u')}`)).toBe('gone')
    const { apiVersion, kind } = IPHandle.info
    sweep.observe({ kind: 'present', object: { apiVersion, kind, metadata: { name: 'uid-x' }, spec: {} } })
    expect(await work('handle uid-x')).toBe('broken')
  })

  test('are not watched by a sweep without the option', () => {
    const watched = (handles?: boolean) => blocksSweep({ owners: [POD], handles }).watches.map(({ kind }) => kind)
    expect(watched()).toEqual(['IPPool', 'IPBlock', 'Pod'])
    expect(watched(true)).toEqual(['IPPool', 'IPBlock', 'IPHandle', 'Pod'])
  })
})

import { Ledger } from 'ipam-kit/allocator'
import { RangeSet } from 'ipam-kit/cidr'
import { IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { definePlanner, type Effect, guard, modelWatch, ObjectCache, patchStatus } from 'ipam-kit/plan'
import { allocate, blocksOperator, blocksWatch } from 'ipam-kit/provider/blocks'
import { Controller, runTask, runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { kinds, poolIn } from '../provider/blocks/world.js'
import { VirtualTimers } from '../run/controller/virtual-timers.js'

const watches = { pools: modelWatch(IPPool), domains: modelWatch(IPDomain) }
const counting = () =>
  definePlanner<never, typeof watches, string[]>({
    name: 'counting',
    watches,
    state: (_, before) => [...(before ?? []), 'made'],
    wakes: {
      pools: ({ ref }, { cache }) => [`${ref.name} of ${cache.pools.size}`],
      domains: ({ ref }) => [ref.name, ref.name],
    },
    plan: () => undefined,
  })

const object = (kind: string, name: string): KubeObject => ({
  apiVersion: IPPool.info.apiVersion,
  kind,
  metadata: { name, uid: name, resourceVersion: '1' },
  spec: { subnets: [{ cidr: '10.0.0.0/24' }], domain: 'd', ipv4: {}, ipv6: {} },
})

describe('a planner', () => {
  test('is woken by what it watches, once for each key', () => {
    const planner = counting()
    expect(planner.observe({ kind: 'present', object: object('IPPool', 'a') })).toEqual(['a of 1'])
    expect(planner.observe({ kind: 'present', object: object('IPDomain', 'b') })).toEqual(['b'])
    expect(planner.observe({ kind: 'present', object: object('IPBlock', 'c') })).toEqual([])
  })

  test('shares a cache without objects until it is reset, and refuses one that has some', () => {
    const [one, other] = [counting(), counting()]
    const objects = new ObjectCache()
    for (const planner of [one, other]) planner.share?.(objects)
    const applied = objects.apply({ kind: 'present', object: object('IPPool', 'a') })
    expect([one, other].map((planner) => planner.wakes?.(applied))).toEqual([['a of 1'], ['a of 1']])
    expect(() => counting().share?.(objects)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    other.reset()
    expect(other.observe({ kind: 'present', object: object('IPPool', 'b') })).toEqual(['b of 1'])
    const next = objects.apply({ kind: 'present', object: object('IPPool', 'b') })
    expect(one.wakes?.(next)).toEqual(['b of 2'])
  })

  test('keeps of its state at a reset what it wants to', () => {
    const planner = counting()
    planner.reset()
    expect(planner.context.state).toEqual(['made', 'made'])
  })
})

test('what a task reads by way of a watch is no echo for the other planners of its host', async () => {
  const timers = new VirtualTimers()
  const store = memoryStore({ kinds, now: () => timers.now() })
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
  await runUntilQuiet(store, [blocksOperator()], { now: () => timers.now() })
  const watch = blocksWatch({ now: () => timers.now() })
  const controller = new Controller({
    store,
    planners: [watch, blocksOperator()],
    timers,
    onProblem: (problem) => expect(problem).toBeUndefined(),
  })
  const ended = controller.run()
  await timers.pass(1000)
  for (const uid of ['a', 'b', 'c']) {
    const request = { owner: { uid, name: `ns/${uid}` }, pools: ['blue'], families: [4] as const }
    const done = await runTask(allocate(request, watch.known), store, { now: () => timers.now() })
    expect(done).toMatchObject({ kind: 'done', outcome: { kind: 'allocated' } })
  }
  await timers.pass(2000)
  const { apiVersion, kind } = IPPool.info
  expect(unwrap(await store.get({ apiVersion, kind, name: 'blue' })).status).toMatchObject({ ipv4: { allocated: '3' } })
  controller.stop()
  await ended
})

test('an object is unchanged after a patch that has changed nothing, and not after a guard', () => {
  const planner = definePlanner({
    name: 'patching',
    watches,
    holds: {},
    ledger: () => new Ledger({ space: RangeSet.empty }),
    wakes: { pools: () => [], domains: () => [] },
    plan: () => undefined,
  })
  const pool = { ...IPPool.info, metadata: { name: 'a', uid: 'a', resourceVersion: '1' } } as KubeObject
  planner.observe({ kind: 'present', object: pool })
  const carryOut = (effect: Effect) => planner.begin?.({ outcome: { kind: 'a', message: '' }, effects: [effect] })()
  carryOut(guard(pool, 'it is read'))
  expect(planner.context.isUnchanged(refOf(pool))).toBe(false)
  carryOut(patchStatus(pool, { status: { ready: true } }, 'it is ready'))
  expect(planner.context.isUnchanged(refOf(pool))).toBe(true)
})

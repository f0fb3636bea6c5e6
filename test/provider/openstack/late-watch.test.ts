import type { KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackServer } from 'ipam-kit/crd/openstack'
import { floatingServers } from 'ipam-kit/provider/openstack'
import { runPlan } from 'ipam-kit/run'
import { expect, test } from 'vitest'
import { ADDRESS, CLAIM, poolRef, World } from './world.js'

const MOMENT = '2026-01-01T00:00:00Z'
const KEY = 'OpenStackServer default/w1'

/** A second process, which has observed these objects and no later change. */
function second(...objects: readonly (KubeObject | undefined)[]): ReturnType<typeof floatingServers> {
  const planner = floatingServers()
  for (const object of objects) if (object !== undefined) planner.observe({ kind: 'present', object })
  return planner
}

test('the finalizer does not return to the claim of a server that was deleted', async () => {
  const world = await new World().attached()
  const server = await world.get<KubeObject>(OpenStackServer, 'w1')
  await world.delete(OpenStackServer, 'w1')
  await world.work(10)
  expect(await world.get(OpenStackServer, 'w1')).toBeUndefined()
  // the garbage collector has not come yet, and the deletion of the server arrives later
  const claim = await world.claim()
  expect(claim?.metadata.finalizers).toBeUndefined()
  const late = second(server, claim)
  expect((await runPlan(late.plan(KEY, { nowMs: world.nowMs })!, world.store)).kind).toBe('conflict')
  expect(await world.claim()).toEqual(claim)
})

test('the claim of a server that has got a pool again is not deleted', async () => {
  const world = new World()
  await world.server()
  await world.work()
  await world.patch(OpenStackServer, 'w1', { spec: { floatingIPPoolRef: null } })
  const without = await world.get<KubeObject>(OpenStackServer, 'w1')
  await world.patch(OpenStackServer, 'w1', { spec: { floatingIPPoolRef: poolRef } })
  await world.bind()
  world.cloud.floatingIP(ADDRESS)
  const late = second(without, await world.claim())
  const plan = late.plan(KEY, { nowMs: world.nowMs })!
  expect(plan.outcome.kind).toBe('released')
  await world.work()
  expect((await runPlan(plan, world.store)).kind).toBe('conflict')
  expect((await world.claim())?.metadata).toMatchObject({ name: CLAIM })
  expect((await world.claim())?.metadata.deletionTimestamp).toBeUndefined()
})

test('a server does not fail for lack of an address when its claim has got one', async () => {
  const world = new World({ onExhausted: 'fail' })
  await world.server()
  await world.work()
  const exhausted = { type: 'Ready', status: 'False', reason: 'PoolExhausted', message: '', lastTransitionTime: MOMENT }
  const claim = await world.claim()
  const late = floatingServers({ onExhausted: 'fail' })
  late.observe({ kind: 'present', object: (await world.get<KubeObject>(OpenStackServer, 'w1'))! })
  late.observe({ kind: 'present', object: { ...claim!, status: { conditions: [exhausted] } } })
  const plan = late.plan(KEY, { nowMs: world.nowMs })!
  expect(plan.outcome.kind).toBe('failed')
  await world.bind()
  expect((await runPlan(plan, world.store)).kind).toBe('conflict')
  expect((await world.condition())?.reason).not.toBe('FloatingIPPoolExhausted')
})

test('a server does not end before a claim that another process has just created', async () => {
  const world = new World()
  await world.server()
  await world.work()
  await world.delete(OpenStackServer, 'w1')
  const late = second(await world.get<KubeObject>(OpenStackServer, 'w1'))
  const plan = late.plan(KEY, { nowMs: world.nowMs })!
  expect(plan.outcome.kind).toBe('released')
  expect((await runPlan(plan, world.store)).kind).toBe('conflict')
  expect(await world.get(OpenStackServer, 'w1')).toBeDefined()
  // with its claim known, it releases both
  await world.work(10)
  expect(await world.get(OpenStackServer, 'w1')).toBeUndefined()
  expect((await world.claim())?.metadata.finalizers).toBeUndefined()
})

import type { KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackServer } from 'ipam-kit/crd/openstack'
import { floatingServers } from 'ipam-kit/provider/openstack'
import { runPlan } from 'ipam-kit/run'
import { expect, test } from 'vitest'
import { ADDRESS, CLAIM, poolRef, World } from './world.js'

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

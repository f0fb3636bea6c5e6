import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { expect, test } from 'vitest'
import { claimOf, ovnNad, podIn, ServingWorld } from '../persistent-ip/serving-world.js'

const KEY = 'IPAMClaim ns1/vm1.blue'
const newWorld = () =>
  new ServingWorld({}, 'blocks').put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))

test('the row of a deleted claim stays while a Pod that names it may still be written', async () => {
  const world = await newWorld()
  world.refuses = (effect) => effect === 'Pod p1'
  await world.look()
  await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
  expect([await world.rows(), await world.has('p1')]).toEqual([['10.0.0.1 ns1/vm1.blue'], []])
  await (await world.delete(Pod.info, 'p1')).look()
  expect(await world.rows()).toEqual([])
})

test('the row of a deleted claim does not stay for a Pod whose next claim of the name exists', async () => {
  const world = await newWorld()
  world.refuses = (effect) => effect === 'Pod p1'
  await world.look()
  await (await world.delete(IPAMClaim.info, 'vm1.blue')).put(claimOf('vm1.blue'))
  world.refuses = () => false
  await (await world.look()).look()
  expect([await world.rows(), await world.has('p1')]).toEqual([['10.0.0.2 ns1/vm1.blue'], ['10.0.0.2/29']])
})

test('a row that is not needed is released a while later: another process may write its address', async () => {
  const world = await newWorld()
  world.refuses = (effect) => effect === 'IPAMClaim vm1.blue'
  await world.look()
  const { planner } = world
  const nad = ovnNad('blue', { subnets: '10.0.1.0/29' }, { uid: 'n2', resourceVersion: '999' })
  planner.observe({ kind: 'present', object: nad })
  const [first, second] = [9e6, 9.1e6].map((nowMs) => planner.plan(KEY, { nowMs }))
  expect(first).toMatchObject({ outcome: { kind: 'waiting' }, effects: [], requeueAfterSeconds: 1 })
  expect(second?.effects).toMatchObject([{ kind: 'external', call: { operation: 'release' } }])
})

test('a Pod keeps the row of its claim in a network that does not honour claims any more', async () => {
  const world = await (await newWorld()).look()
  const { spec } = ovnNad('blue', { allowPersistentIPs: false })
  await (await world.change(NetworkAttachmentDefinition.info, 'blue', { spec: spec as never })).look()
  expect([world.outcome('Pod p1'), await world.rows()]).toEqual(['served', ['10.0.0.1 ns1/vm1.blue']])
})

test('T3: a claim gives nothing that a Pod has which names another claim by now', async () => {
  const world = await (await newWorld()).look()
  const { annotations = {} } = podIn('p1', ['blue:vm2.blue']).metadata
  await world.change(Pod.info, 'p1', { metadata: { annotations } })
  await (await world.put(podIn('p2', ['blue:vm1.blue']))).look()
  expect([world.outcome('IPAMClaim vm1.blue'), await world.has('p2')]).toEqual(['refused IPAddressConflict', []])
})

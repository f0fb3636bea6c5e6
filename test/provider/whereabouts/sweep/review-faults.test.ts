import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { CLAIM_UID_ANNOTATION } from 'ipam-kit/provider/whereabouts'
import { runPlan } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import { World } from './world.js'

// Found by an independent model of whereabouts. Each test has the name of its fault.

const P1 = 'default/p1'
const UID = '8d9d6b85-49e1-4722-9b42-3348d8e9b9f6'

async function claimOf({ store }: World) {
  const { apiVersion, kind } = IPAMClaim.info
  const metadata = { namespace: 'default', name: 'vm' }
  return unwrap(await store.create({ apiVersion, kind, metadata, spec: { network: 'n', interface: '' } }))
}

test('R8: a reservation that is left stays not for the same address of the Pod in another network', async () => {
  const world = new World()
  await world.pool('blue-10.40.0.0-24', '10.40.0.0/24', { '3': P1 })
  await world.reservation('blue-10.40.0.3', P1)
  await world.reservation('10.40.0.3', P1)
  await world.pod(P1, { status: ['10.40.0.3'] })
  await world.look()
  expect(await world.reservations()).toEqual({ '10.40.0.3': P1, 'blue-10.40.0.3': P1 })
  await world.sweep()
  expect(await world.reservations()).toEqual({ 'blue-10.40.0.3': P1 })
})

test('R8: it stays if the Pod reports the address in both networks', async () => {
  const world = new World()
  await world.pool('blue-10.40.0.0-24', '10.40.0.0/24', { '3': P1 })
  await world.reservation('blue-10.40.0.3', P1)
  await world.reservation('10.40.0.3', P1)
  await world.pod(P1, { status: ['10.40.0.3', '10.40.0.3'] })
  await world.sweep()
  expect(await world.reservations()).toEqual({ '10.40.0.3': P1, 'blue-10.40.0.3': P1 })
})

test('R8: it stays by the row of a node slice, whose pool has the name of the Node', async () => {
  const world = new World()
  await world.pool('node-a-10.40.0.0-28', '10.40.0.0/28', { '3': P1 })
  await world.reservation('10.40.0.3', P1)
  await world.pod(P1, { status: ['10.40.0.4'] })
  await world.look()
  expect(await world.reservations()).toEqual({ '10.40.0.3': P1 })
})

test.each<[string, object]>([
  ['with its members', { podref: '', id: `owner:${UID}`, ipamowner: 'default/vm', ipamowneruid: UID }],
  ['with a Pod that does not exist', { podref: P1, id: 'c', ipamowner: 'default/vm', ipamowneruid: UID }],
  ['without members', { podref: '', id: `owner:${UID}` }],
])('R9: the row of an owner that is no IPAMClaim stays, %s', async (_, row) => {
  const world = new World()
  await world.pool('10.40.0.0-24', '10.40.0.0/24', { '3': row })
  await world.sweep()
  expect(await world.rows('10.40.0.0-24')).toEqual(['3'])
})

describe('R12: a Pod reports an address for one of its interfaces', () => {
  const BLUE = 'blue-10.40.0.0-24'
  const POOL = '10.40.0.0-24'
  const on = (...interfaces: readonly string[]) =>
    JSON.stringify(interfaces.map((name) => ({ name: 'n', interface: name, ips: ['10.40.0.3'] })))
  const row = (ifname: string) => ({ id: `c-${ifname}`, podref: P1, ...(ifname !== '' && { ifname }) })

  test.each<[string, string, string, string, readonly string[]]>([
    ['a dead row of another interface is freed, as a row has the one reported', 'net1', 'net2', on('net1'), []],
    ['both stay if both are reported', 'net1', 'net2', on('net1', 'net2'), ['3']],
    ['both stay if they are of one interface', 'net1', 'net1', on('net1'), ['3']],
    ['both stay if neither has the interface reported', 'net1', 'net2', on('eth7'), ['3']],
    ['a row without an interface stays', 'net1', '', on('net1'), ['3']],
    ['both stay if the network status names no interface', 'net1', 'net2', on(''), ['3']],
  ])('%s', async (_, blue, other, status, left) => {
    const world = new World()
    await world.pool(BLUE, '10.40.0.0/24', { '3': row(blue) })
    await world.pool(POOL, '10.40.0.0/24', { '3': row(other) })
    await world.pod(P1, { status })
    await world.look()
    expect([await world.rows(BLUE), await world.rows(POOL)]).toEqual([['3'], ['3']])
    await world.sweep()
    expect([await world.rows(BLUE), await world.rows(POOL)]).toEqual([['3'], left])
  })

  test('a pool with the row that has the interface wakes the pool with the other row', async () => {
    const world = new World()
    await world.pool(POOL, '10.40.0.0/24', { '3': row('net2') })
    await world.pod(P1, { status: on('net1') })
    await world.look()
    const spec = { range: '10.40.0.0/24', allocations: { '3': row('net1') } }
    const metadata = { name: BLUE, namespace: 'kube-system', uid: UID, resourceVersion: '1000' }
    const object = { ...IPPool.info, metadata, spec }
    const wakes = world.planner.observe({ kind: 'present', object: object as never })
    expect([...wakes].sort()).toEqual([`pool kube-system/${POOL}`, `pool kube-system/${BLUE}`].sort())
  })

  test.each<[string, (uid: string) => object]>([
    ['a dead row of another interface in another network', () => row('net2')],
    ['the row of a claim without a Pod in another network', (uid) => ({ id: uid, podref: '' })],
  ])('the reservation without a row stays beside %s', async (_, elsewhere) => {
    const world = new World()
    const claim = await claimOf(world)
    await world.pool(BLUE, '10.40.0.0/24', { '3': elsewhere(claim.metadata.uid ?? '') })
    await world.reservation('blue-10.40.0.3', P1)
    await world.reservation('10.40.0.3', P1)
    await world.pod(P1, { status: on('net1') })
    await world.sweep()
    expect(await world.reservations()).toHaveProperty(['10.40.0.3'])
  })
})

test('R12: the address of a claim keeps no row of another network, if a row there names the claim', async () => {
  const world = new World()
  const { apiVersion, kind, metadata } = await claimOf(world)
  const ref = { apiVersion, kind, namespace: 'default', name: 'vm' }
  unwrap(await world.store.patch(ref, { status: { ips: ['10.40.0.3/24'] } }, { subresource: 'status' }))
  await world.pool('10.40.0.0-24', '10.40.0.0/24', { '3': P1 })
  await world.sweep()
  expect(await world.rows('10.40.0.0-24')).toEqual(['3'])
  await world.pool('blue-10.40.0.0-24', '10.40.0.0/24', { '3': { id: metadata.uid, podref: '' } })
  await world.sweep()
  expect(await world.rows('10.40.0.0-24')).toEqual([])
  expect(await world.rows('blue-10.40.0.0-24')).toEqual(['3'])
})

test.each<[string, string, readonly string[]]>([
  ['keeps no reservation of another Pod in another network', 'blue-10.40.0.3', ['blue-10.40.0.3']],
  ['keeps it while the network of its row is not certain', 'red-10.40.0.3', ['10.40.0.3', 'red-10.40.0.3']],
])('R12: the address of a claim that a Pod uses %s', async (_, reservation, left) => {
  const world = new World()
  const { apiVersion, kind, metadata } = await claimOf(world)
  const ref = { apiVersion, kind, namespace: 'default', name: 'vm' }
  unwrap(await world.store.patch(ref, { status: { ips: ['10.40.0.3/24'] } }, { subresource: 'status' }))
  const row = { id: 'c2', podref: 'default/p2', ifname: 'net1', ipamclaim: 'default/vm', ipamclaimuid: metadata.uid }
  await world.pool('blue-10.40.0.0-24', '10.40.0.0/24', { '3': row })
  await world.pod('default/p2', { status: ['10.40.0.3'] })
  await world.reservation(reservation, 'default/p2')
  await world.pod(P1, { status: ['10.40.0.4'] })
  await world.reservation('10.40.0.3', P1)
  await world.sweep()
  expect(Object.keys(await world.reservations()).sort()).toEqual(left)
})

const { apiVersion: group, kind: reservationKind } = OverlappingRangeIPReservation.info
const reservations = { apiVersion: group, kind: reservationKind, namespace: 'kube-system' }

test.each<[string, string | undefined, boolean]>([
  ['names the claim', UID, true],
  ['names another claim', '00000000-0000-4000-8000-000000000000', false],
  ['names no claim', undefined, false],
])('20332: without members of rows, a row of another network whose reservation %s', async (_, uid, isFreed) => {
  const world = new World()
  const { apiVersion, kind, metadata } = await claimOf(world)
  const ref = { apiVersion, kind, namespace: 'default', name: 'vm' }
  unwrap(await world.store.patch(ref, { status: { ips: ['10.40.0.3/24'] } }, { subresource: 'status' }))
  await world.pool('blue-10.40.0.0-24', '10.40.0.0/24', { '3': 'default/p2' })
  await world.pod('default/p2', { status: ['10.40.0.3'] })
  await world.reservation('blue-10.40.0.3', 'default/p2')
  // what a container leaves that has died, and the reservation of another one
  await world.pool('10.40.0.0-24', '10.40.0.0/24', { '3': P1 })
  await world.pool('red-10.40.0.0-24', '10.40.0.0/24', {})
  await world.reservation('red-10.40.0.3', P1)
  await world.sweep()
  expect(await world.rows('10.40.0.0-24')).toEqual(['3'])
  const named = uid === UID ? metadata.uid : uid
  const annotations = { [CLAIM_UID_ANNOTATION]: named ?? null }
  const at = { ...reservations, name: 'blue-10.40.0.3' }
  unwrap(await world.store.patch(at, { metadata: { annotations } }))
  await world.sweep()
  expect(await world.rows('10.40.0.0-24')).toEqual(isFreed ? [] : ['3'])
  expect(await world.rows('blue-10.40.0.0-24')).toEqual(['3'])
  expect(Object.keys(await world.reservations()).sort()).toEqual(
    isFreed ? ['blue-10.40.0.3'] : ['blue-10.40.0.3', 'red-10.40.0.3'],
  )
})

test('20332: a reservation of a claim that names another claim or Pod than before wakes the pools with its address', async () => {
  const world = new World()
  await world.pool('10.40.0.0-24', '10.40.0.0/24', { '3': P1 })
  await world.reservation('blue-10.40.0.3', 'default/p2')
  await world.pod(P1, { status: ['10.40.0.3'] })
  await world.pod('default/p2', { status: ['10.40.0.3'] })
  await world.look()
  const at = { ...reservations, name: 'blue-10.40.0.3' }
  const wakesWith = async (patch: object) => {
    const object = unwrap(await world.store.patch(at, patch as never))
    return world.planner.observe({ kind: 'present', object })
  }
  const pool = 'pool kube-system/10.40.0.0-24'
  expect(await wakesWith({ metadata: { annotations: { [CLAIM_UID_ANNOTATION]: UID } } })).toContain(pool)
  expect(await wakesWith({ metadata: { labels: { a: 'b' } } })).not.toContain(pool)
  expect(await wakesWith({ spec: { podref: 'default/p3' } })).toContain(pool)
})

test.each<[string, (uid: string) => object]>([
  ['its name', () => ({ ipamclaim: 'default/vm' })],
  ['its uid and its name', (ipamclaimuid) => ({ ipamclaim: 'default/vm', ipamclaimuid })],
])('a row that names a claim by %s stays, although the watch of claims is late', async (_, marks) => {
  const world = new World()
  await world.pool('10.40.0.0-24', '10.40.0.0/24', {})
  await world.look()
  const claim = await claimOf(world)
  const row = { id: 'c', podref: P1, ifname: 'net1', ...marks(claim.metadata.uid ?? '') }
  const ref = { ...IPPool.info, namespace: 'kube-system', name: '10.40.0.0-24' }
  const object = unwrap(await world.store.patch(ref, { spec: { allocations: { '3': row } } }))
  world.planner.observe({ kind: 'present', object })
  const plan = world.planner.plan('pool kube-system/10.40.0.0-24', { nowMs: world.nowMs })
  expect(await runPlan(plan!, world.store, {})).toMatchObject({ kind: 'conflict' })
  await world.sweep()
  expect(await world.rows('10.40.0.0-24')).toEqual(['3'])
})

test.each<[string, string, boolean]>([
  ['of another Pod', P1, true],
  ['of the Pod of the reservation', 'default/p2', false],
])(
  '51516: without members of rows, a row %s in an overlapping range of the network of the claim',
  async (_, podref, isFreed) => {
    const world = new World()
    const { apiVersion, kind, metadata } = await claimOf(world)
    const ref = { apiVersion, kind, namespace: 'default', name: 'vm' }
    unwrap(await world.store.patch(ref, { status: { ips: ['10.40.0.3/28'] } }, { subresource: 'status' }))
    // what a container leaves that has died
    await world.pool('10.40.0.0-24', '10.40.0.0/24', { '3': podref })
    await world.pool('10.40.0.0-28', '10.40.0.0/28', { '3': 'default/p2' })
    await world.pod('default/p2', { status: ['10.40.0.3'] })
    await world.reservation('10.40.0.3', P1)
    const at = { ...reservations, name: '10.40.0.3' }
    unwrap(await world.store.patch(at, { metadata: { annotations: { [CLAIM_UID_ANNOTATION]: metadata.uid ?? '' } } }))
    await world.sweep()
    expect(await world.rows('10.40.0.0-24')).toEqual(['3'])
    unwrap(await world.store.patch(at, { spec: { podref: 'default/p2' } }))
    await world.sweep()
    expect(await world.rows('10.40.0.0-24')).toEqual(isFreed ? [] : ['3'])
    expect(await world.rows('10.40.0.0-28')).toEqual(['3'])
  },
)

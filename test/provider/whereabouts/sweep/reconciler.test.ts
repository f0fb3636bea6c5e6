import { unwrap } from 'ipam-kit/errors'
import { type WhereaboutsSweepOptions, whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { runPlan } from 'ipam-kit/run'
import { beforeEach, describe, expect, test } from 'vitest'
import { World } from './world.js'

// Each case of the recording of the reconciler of upstream, under its name. What upstream does
// wrongly stands in the name.

const POOL = '10.20.0.0-24'
const RANGE = '10.20.0.0/24'
const P1 = 'default/p1'
const P2 = 'default/p2'
const GONE = 'default/gone'

let world: World
beforeEach(() => {
  world = new World()
})

describe('rows', () => {
  test('live', async () => {
    await world.pool(POOL, RANGE, { '1': P1 })
    await world.reservation('10.20.0.1', P1)
    await world.pod(P1, { status: ['10.20.0.1'] })
    await world.sweep()
    expect([await world.rows(POOL), await world.reservations()]).toEqual([['1'], { '10.20.0.1': P1 }])
  })

  test('gone: the row and the reservation are freed at once', async () => {
    await world.pool(POOL, RANGE, { '1': GONE, '2': P1 })
    await world.reservation('10.20.0.1', GONE)
    await world.pod(P1, { status: ['10.20.0.2'] })
    await world.look()
    expect([await world.rows(POOL), await world.reservations()]).toEqual([['2'], {}])
  })

  test.each([
    ['pending-no-status', { phase: 'Pending' }],
    ['pending-with-status', { phase: 'Pending', status: ['10.20.0.1'] }],
    ['running-no-status', {}],
    ['status-no-json', { status: 'this-wont-fly' }],
    ['status-empty', { status: '' }],
    ['completed, as long as the Pod exists', { phase: 'Succeeded', status: ['10.20.0.1'] }],
    ['failed, as long as the Pod exists', { phase: 'Failed', status: ['10.20.0.1'] }],
  ])('%s: the row of a Pod that exists stays', async (_, pod) => {
    await world.pool(POOL, RANGE, { '1': P1 })
    await world.reservation('10.20.0.1', P1)
    await world.pod(P1, pod)
    await world.sweep()
    expect([await world.rows(POOL), await world.reservations()]).toEqual([['1'], { '10.20.0.1': P1 }])
  })

  test('running-pod-ip: a Pod without a network status keeps its row', async () => {
    await world.pool(POOL, RANGE, { '1': P1, '2': P1 })
    await world.pod(P1)
    const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'p1' }
    const status = { podIP: '10.20.0.1', podIPs: [{ ip: '10.20.0.1' }] }
    unwrap(await world.store.patch(ref, { status }, { subresource: 'status' }))
    await world.sweep()
    expect(await world.rows(POOL)).toEqual(['1', '2'])
    // with a network status, the addresses of the Pod itself count too
    const annotations = { 'k8s.v1.cni.cncf.io/network-status': '[]' }
    unwrap(await world.store.patch(ref, { metadata: { annotations } }))
    await world.sweep()
    expect(await world.rows(POOL)).toEqual(['1'])
  })

  test('empty-pool: it stays', async () => {
    await world.pool(POOL, RANGE, {})
    await world.sweep()
    expect(await world.rows(POOL)).toEqual([])
  })

  test('status-empty: an empty list frees the row, after the grace period', async () => {
    await world.pool(POOL, RANGE, { '1': P1 })
    await world.pod(P1, { status: '[]' })
    expect((await world.look()).outcomes).toMatchObject({ [`pool kube-system/${POOL}`]: { kind: 'waiting' } })
    expect(await world.rows(POOL)).toEqual(['1'])
    await world.sweep()
    expect(await world.rows(POOL)).toEqual([])
  })

  test('two-interfaces: the row that the network status does not have is freed', async () => {
    await world.pool(POOL, RANGE, { '1': P1, '2': P1 })
    await world.reservation('10.20.0.1', P1)
    await world.reservation('10.20.0.2', P1)
    await world.pod(P1, { status: ['10.20.0.2'] })
    await world.look()
    expect(await world.rows(POOL)).toEqual(['1', '2'])
    await world.sweep()
    expect([await world.rows(POOL), await world.reservations()]).toEqual([['2'], { '10.20.0.2': P1 }])
  })

  test('a network status that comes within the grace period keeps the row', async () => {
    await world.pool(POOL, RANGE, { '1': P1 })
    await world.pod(P1, { status: ['10.20.0.9'] })
    await world.look()
    world.nowMs += 30_000
    const text = JSON.stringify([{ name: 'n', ips: ['10.20.0.1'] }])
    const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'p1' }
    await world.store.patch(ref, { metadata: { annotations: { 'k8s.v1.cni.cncf.io/network-status': text } } })
    await world.sweep()
    expect(await world.rows(POOL)).toEqual(['1'])
  })

  const evicted = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' }
  test.each([
    ['keep', evicted, ['1']],
    ['free', evicted, []],
    ['free', { ...evicted, status: 'False' }, ['1']],
    ['free', { ...evicted, reason: 'PreemptionByScheduler' }, ['1']],
  ] as const)('taint-manager: %s, %j', async (evictedPods, condition, left) => {
    world = new World({ evictedPods })
    await world.pool(POOL, RANGE, { '1': P1 })
    await world.pod(P1, { status: ['10.20.0.1'], conditions: [condition] })
    await world.sweep()
    expect(await world.rows(POOL)).toEqual(left)
  })

  test('succeeded-failed: the operator can choose that they free their addresses', async () => {
    world = new World({ completedPods: 'free' })
    await world.pool(POOL, RANGE, { '1': P1, '2': P2 })
    await world.pod(P1, { phase: 'Succeeded', status: ['10.20.0.1'] })
    await world.pod(P2, { status: ['10.20.0.2'] })
    await world.look()
    expect(await world.rows(POOL)).toEqual(['2'])
  })

  test('recreated-same-address, recreated-starting: the row of the new Pod stays', async () => {
    await world.pool(POOL, RANGE, { '1': P1, '2': P2 })
    for (const podref of [P1, P2]) await world.pod(podref, { status: ['10.20.0.1'] })
    await world.look()
    await world.remove(P1)
    await world.remove(P2)
    await world.pod(P1, { status: ['10.20.0.1'] })
    await world.pod(P2, { phase: 'Pending' })
    await world.sweep()
    expect(await world.rows(POOL)).toEqual(['1', '2'])
  })

  test('v6-text: addresses are compared by value', async () => {
    await world.pool('fd00-20---64', 'fd00:20::/64', { '7': P1 })
    await world.reservation('fd00-20--7', P1)
    await world.pod(P1, { status: ['FD00:20:0:0:0:0:0:0007'] })
    await world.sweep()
    expect([await world.rows('fd00-20---64'), await world.reservations()]).toEqual([['7'], { 'fd00-20--7': P1 }])
  })

  test('a row without a Pod, and one whose Pod has no valid name, are never freed', async () => {
    await world.pool(POOL, RANGE, { '1': '', '2': 'no-slash', '3': 'A/B', '4': 'a/b/c', '5': GONE })
    await world.sweep()
    expect(await world.rows(POOL)).toEqual(['1', '2', '3', '4'])
  })

  test('several-pools: live and dead rows, one pool of a node slice', async () => {
    await world.pool(POOL, RANGE, { '1': P1, '2': GONE })
    await world.pool('node-a-10.21.0.0-28', '10.21.0.0/28', { '1': GONE, '2': P1 })
    await world.pool('fd00-20---64', 'fd00:20::/64', { '7': GONE })
    await world.pod(P1, { status: ['10.20.0.1', '10.21.0.2'] })
    await world.sweep()
    const names = [POOL, 'node-a-10.21.0.0-28', 'fd00-20---64']
    expect(await Promise.all(names.map((name) => world.rows(name)))).toEqual([['1'], ['2'], []])
  })

  test('bad-range: one pool with a range that is no CIDR stops no other', async () => {
    await world.pool('a-bad', 'junk', { '1': GONE })
    await world.pool(POOL, RANGE, { '1': GONE })
    const { outcomes } = await world.look()
    expect(outcomes['pool kube-system/a-bad']).toMatchObject({ kind: 'broken' })
    expect([await world.rows('a-bad'), await world.rows(POOL)]).toEqual([['1'], []])
  })

  test('bad-key-only, bad-offset-live: rows that are not understood stay, and stop nothing', async () => {
    await world.pool('a10.20.0.0-24', RANGE, { '1': GONE, '-1': GONE, x: GONE, '01': GONE, '2': { odd: true } })
    await world.pool('b10.20.0.0-24', '10.22.0.0/24', { '1': GONE })
    await world.reservation('10.22.0.1', GONE)
    await world.sweep()
    expect(await world.rows('a10.20.0.0-24')).toEqual(['2', '-1', 'x'])
    expect([await world.rows('b10.20.0.0-24'), await world.reservations()]).toEqual([[], {}])
  })

  test('key-large: a row of 2^63 and more is understood', async () => {
    const large = '9223372036854775808'
    await world.pool('fd00-20---64', 'fd00:20::/64', { [large]: P1, '-2': GONE })
    await world.pod(P1, { status: ['fd00:20::8000:0:0:0'] })
    await world.sweep()
    expect(await world.rows('fd00-20---64')).toEqual([large])
  })

  test('more rows than one patch frees', async () => {
    const keys = Array.from({ length: 250 }, (_, index) => String(index + 1))
    await world.pool(POOL, '10.20.0.0/16', Object.fromEntries(keys.map((key) => [key, `default/gone-${key}`])))
    await world.look()
    expect(await world.rows(POOL)).toEqual([])
  })

  test('a Pod that is not in the cache yet keeps its row: the store is asked', async () => {
    await world.pool(POOL, RANGE, { '1': P1 })
    await world.look()
    expect(await world.rows(POOL)).toEqual([])
    await world.pool('late', '10.21.0.0/24', { '1': P1 })
    const pool = unwrap(
      await world.store.get({
        apiVersion: 'whereabouts.cni.cncf.io/v1alpha1',
        kind: 'IPPool',
        namespace: 'kube-system',
        name: 'late',
      }),
    )
    world.planner.observe({ kind: 'present', object: pool })
    const plan = world.planner.plan('pool kube-system/late', { nowMs: world.nowMs })
    expect(plan?.effects.map(({ kind }) => kind)).toEqual(['absent', 'patch', 'event'])
    await world.pod(P1, { phase: 'Pending' })
    expect(await runPlan(plan!, world.store, {})).toMatchObject({ kind: 'conflict' })
    expect(await world.rows('late')).toEqual(['1'])
  })
})

describe('reservations', () => {
  test('network-name: the reservation of a live Pod in a named network stays, that of a dead one goes', async () => {
    await world.pool('blue-10.20.0.0-24', RANGE, { '1': P1, '2': GONE })
    await world.reservation('blue-10.20.0.1', P1)
    await world.reservation('blue-10.20.0.2', GONE)
    await world.pod(P1, { status: ['10.20.0.1'] })
    await world.sweep()
    expect([await world.rows('blue-10.20.0.0-24'), await world.reservations()]).toEqual([
      ['1'],
      { 'blue-10.20.0.1': P1 },
    ])
  })

  test('v6-zero-end: an address that ends in :: keeps its reservation', async () => {
    await world.pool('fd00-20---64', 'fd00:20::/64', { '0': P1 })
    await world.reservation('fd00-20--0', P1)
    await world.pod(P1, { status: ['fd00:20::'] })
    await world.sweep()
    expect(await world.reservations()).toEqual({ 'fd00-20--0': P1 })
  })

  test('reservation-no-row-live: the last protection of an address stays while its Pod has it', async () => {
    await world.pool(POOL, RANGE, {})
    await world.reservation('10.20.0.1', P1)
    await world.pod(P1, { status: ['10.20.0.1'] })
    await world.sweep()
    expect(await world.reservations()).toEqual({ '10.20.0.1': P1 })
    await world.remove(P1)
    await world.look()
    expect(await world.reservations()).toEqual({})
  })

  test('reservation-foreign: that of another Pod goes by its own Pod only, and the row gets its own', async () => {
    world = new World({ createReservations: true })
    await world.pool(POOL, RANGE, { '1': P1, '2': P2 })
    await world.reservation('10.20.0.1', P2)
    await world.pod(P1, { status: ['10.20.0.1'] })
    await world.pod(P2, { status: ['10.20.0.2'] })
    await world.look()
    expect(await world.reservations()).toEqual({ '10.20.0.1': P2, '10.20.0.2': P2 })
    await world.sweep()
    expect(await world.reservations()).toEqual({ '10.20.0.1': P1, '10.20.0.2': P2 })
  })

  test('a reservation whose name is no address stays', async () => {
    await world.reservation('by-hand', GONE)
    const { outcomes } = await world.look()
    expect(outcomes['reservation kube-system/by-hand']).toMatchObject({ kind: 'broken' })
    expect(await world.reservations()).toEqual({ 'by-hand': GONE })
  })

  test('are not created unless the operator asks for it', async () => {
    await world.pool(POOL, RANGE, { '1': P1 })
    await world.pod(P1, { status: ['10.20.0.1'] })
    await world.sweep()
    expect(await world.reservations()).toEqual({})
  })

  test('are created in the network of the pool, also of a node slice', async () => {
    world = new World({ createReservations: true })
    const status = { allocations: [{ nodeName: 'node-a', sliceRange: '10.21.0.0/28' }] }
    const [apiVersion, kind] = ['whereabouts.cni.cncf.io/v1alpha1', 'NodeSlicePool']
    const spec = { range: '10.21.0.0/24', sliceSize: '/28' }
    await world.create({ apiVersion, kind, metadata: { name: 'blue', namespace: 'kube-system' }, spec, status })
    await world.pool('blue-node-a-10.21.0.0-28', '10.21.0.0/28', { '1': P1 })
    await world.pool('green-10.20.0.0-24', RANGE, { '1': P1 })
    await world.pod(P1, { status: ['10.21.0.1', '10.20.0.1'] })
    await world.sweep()
    expect(await world.reservations()).toEqual({ 'blue-10.21.0.1': P1, 'green-10.20.0.1': P1 })
  })
})

describe('bug d: a crash between the two writes leaves a row or a reservation alone', () => {
  beforeEach(() => {
    world = new World({ createReservations: true })
  })

  test('in the ADD: the row of a live Pod gets its reservation, that of another one is freed', async () => {
    await world.pool(POOL, RANGE, { '1': P1, '2': GONE })
    await world.pod(P1, { status: ['10.20.0.1'] })
    await world.sweep()
    expect([await world.rows(POOL), await world.reservations()]).toEqual([['1'], { '10.20.0.1': P1 }])
  })

  test('in the DEL of upstream: the reservation without a row is deleted, also if the Pod lives', async () => {
    await world.pool(POOL, RANGE, { '2': P1 })
    for (const [name, podref] of [['10.20.0.1', P1] as const, ['10.20.0.3', GONE] as const])
      await world.reservation(name, podref)
    await world.pod(P1, { status: ['10.20.0.2'] })
    await world.sweep()
    expect([await world.rows(POOL), await world.reservations()]).toEqual([['2'], { '10.20.0.2': P1 }])
  })
})

test.each([{ graceSeconds: -1 }, { graceSeconds: 86_401 }, { completedPods: 'drop' }, { grace: 5 }])(
  'the options %j are refused',
  (options) => {
    expect(() => whereaboutsSweep(options as WhereaboutsSweepOptions)).toThrow('whereaboutsSweep: argument ')
  },
)

describe('claims', () => {
  const claim = {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { name: 'vm1.net', namespace: 'default' },
    spec: { network: 'lab', interface: '' },
  }
  const ref = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', namespace: 'default', name: 'vm1.net' }

  test.each([
    ['by the addresses of the claim', ['10.20.0.1/24'], GONE],
    ['by its own words', [], { id: 'c', podref: GONE, ipamclaim: 'default/vm1.net' }],
    ['without a Pod', [], { id: '8d9d6b85-49e1-4722-9b42-3348d8e9b9f6', podref: '', ipamclaim: 'default/vm1.net' }],
  ])('%s: a row is kept until the claim is deleted', async (_, ips, row) => {
    await world.pool(POOL, RANGE, { '1': row, '2': GONE })
    await world.reservation('10.20.0.1', GONE)
    await world.create(claim)
    await world.store.patch(ref, { status: { ips } }, { subresource: 'status' })
    await world.sweep()
    expect([await world.rows(POOL), await world.reservations()]).toEqual([['1'], { '10.20.0.1': GONE }])
    await world.store.delete(ref)
    await world.sweep()
    expect([await world.rows(POOL), await world.reservations()]).toEqual([[], {}])
  })
})

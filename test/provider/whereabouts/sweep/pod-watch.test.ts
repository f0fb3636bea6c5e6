import { IPPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { beforeEach, expect, test } from 'vitest'
import { World } from './world.js'

// Each case of the recording of the Pod watcher of upstream, under its name.

const POOL = '10.30.0.0-24'
const RANGE = '10.30.0.0/24'
const P1 = 'default/p1'

let world: World
beforeEach(() => {
  world = new World()
})

/** A Pod that the planner has seen with its rows, and that is deleted. */
async function deleted(status: readonly string[] | string, more: object = {}): Promise<void> {
  await world.pod(P1, { status, more })
  await world.look()
  await world.remove(P1)
  await world.look()
}

test('freed: the row and the reservation go with the Pod', async () => {
  await world.pool(POOL, RANGE, { '1': P1 })
  await world.reservation('10.30.0.1', P1)
  await deleted(['10.30.0.1'])
  expect([await world.rows(POOL), await world.reservations()]).toEqual([[], {}])
})

test('status-no-json, address-not-compared, nad-gone: the Pod of the row is enough', async () => {
  await world.pool(POOL, RANGE, { '1': P1 })
  await deleted('not json')
  expect(await world.rows(POOL)).toEqual([])
})

test('two-rows, dual: all rows of the Pod go', async () => {
  await world.pool(POOL, RANGE, { '1': P1, '2': P1 })
  await world.pool('fd00-30---64', 'fd00:30::/64', { '1': P1 })
  await deleted(['10.30.0.1', '10.30.0.2', 'fd00:30::1'])
  expect([await world.rows(POOL), await world.rows('fd00-30---64')]).toEqual([[], []])
})

test('bug f, node-slice, other-node: pools of slices are no different, on any node', async () => {
  await world.pool('node-b-10.30.0.0-28', '10.30.0.0/28', { '1': P1 })
  await deleted(['10.30.0.1'])
  expect(await world.rows('node-b-10.30.0.0-28')).toEqual([])
})

test.each([
  [undefined, [[], []]],
  ['lab', [['1'], []]],
])('pool-other-namespace: the sweep of namespace %s', async (namespace, left) => {
  world = new World({ namespace })
  const { apiVersion, kind } = IPPool.info
  const spec = { range: RANGE, allocations: { '1': { id: 'c', podref: P1 } } }
  const keys = async (of: string) => {
    const found = unwrap(await world.store.get({ apiVersion, kind, namespace: of, name: POOL }))
    return Object.keys((found as IPPool).spec.allocations)
  }
  for (const of of ['kube-system', 'lab'])
    await world.create({ apiVersion, kind, metadata: { name: POOL, namespace: of }, spec })
  await deleted(['10.30.0.1'])
  expect([await keys('kube-system'), await keys('lab')]).toEqual(left)
})

test.each([
  ['a short name', 'n', ['10.30.0.1']],
  ['no name', '', ['10.30.0.1']],
  ['no addresses', 'lab/n', []],
])('an entry with %s ends not the work for other networks', async (_, name, ips) => {
  await world.pool(POOL, RANGE, { '1': P1 })
  await world.pool('fd00-30---64', 'fd00:30::/64', { '1': P1 })
  await deleted(
    JSON.stringify([
      { name, ips },
      { name: 'lab/other', ips: ['fd00:30::1'] },
    ]),
  )
  expect([await world.rows(POOL), await world.rows('fd00-30---64')]).toEqual([[], []])
})

test('no-ifname, key-large: rows of old releases and with large keys go', async () => {
  await world.pool('fd00-30---64', 'fd00:30::/64', { '1': { id: 'c', podref: P1 }, '9223372036854775809': P1 })
  await deleted('[]')
  expect(await world.rows('fd00-30---64')).toEqual([])
})

test('deleting: deletionTimestamp alone frees nothing; the end of the object does', async () => {
  await world.pool(POOL, RANGE, { '1': P1 })
  await world.pod(P1, { status: ['10.30.0.1'], more: { finalizers: ['test.example/hold'] } })
  await world.remove(P1)
  await world.sweep()
  expect(await world.rows(POOL)).toEqual(['1'])
  const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'p1' }
  await world.store.patch(ref, { metadata: { finalizers: null } })
  await world.look()
  expect(await world.rows(POOL)).toEqual([])
})

test('a new Pod with the name of the deleted one keeps its row', async () => {
  await world.pool(POOL, RANGE, { '1': P1 })
  await world.pod(P1, { status: ['10.30.0.1'] })
  await world.look()
  await world.remove(P1)
  await world.pod(P1, { phase: 'Pending' })
  await world.sweep()
  expect(await world.rows(POOL)).toEqual(['1'])
})

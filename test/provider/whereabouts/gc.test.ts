import { IPPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { expect, test } from 'vitest'
import { claim, podObject, pool, reservation, row, World } from './world.js'

const RANGE = { range: '10.0.0.0/24' }

/** A row of p1 with its reservation, and the time in which it has become old. */
async function withRow(traits: object = {}): Promise<World> {
  const world = new World()
  await world.create(pool('10.0.0.0/24', { 1: row('p1', traits) }), reservation('10.0.0.1', 'p1'))
  return world
}

const MINUTE = 60_000
const record = (addedMs: number, network = 'lab') => [{ containerId: 'p1', ifname: 'net1', network, addedMs }]

test('a row whose attachment is valid stays', async () => {
  const world = await withRow()
  const valid = [{ containerId: 'p1', ifname: 'net1' }]
  expect(await world.gc(RANGE, { valid, record: record(0) })).toEqual([])
})

test('a row without its Pod is freed if the record of this Node names its container', async () => {
  const world = await withRow()
  expect(await world.gc(RANGE, { valid: [], record: record(0) })).toEqual(['10.0.0.1'])
  expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
})

test.each([
  ['the record does not name its container', []],
  ['it was added less than a minute ago', record(Date.parse('2026-01-01T00:00:00Z') - MINUTE + 1)],
  ['it is of another network', record(0, 'other')],
])('a row without its Pod stays if %s', async (_, known) => {
  const world = await withRow()
  expect(await world.gc(RANGE, { valid: [], record: known })).toEqual([])
  expect(await world.rows()).toHaveLength(1)
})

test.each<[string, Parameters<typeof podObject>[1], number, boolean]>([
  ['of this Node that has ended', { phase: 'Succeeded' }, MINUTE, true],
  ['of this Node that has failed', { phase: 'Failed' }, MINUTE, true],
  // until Multus has written it again, the status is that of the sandbox before
  [
    'of this Node that runs, with the status of an earlier sandbox',
    { networkStatus: [{ ips: ['10.0.0.9'] }] },
    MINUTE,
    false,
  ],
  ['of this Node that runs', {}, MINUTE, false],
  ['of this Node, created less than a minute ago', { phase: 'Succeeded' }, MINUTE - 1, false],
  ['of another Node', { phase: 'Succeeded', node: 'n2' }, MINUTE, false],
])('the row of a Pod %s', async (_, traits, age, isFreed) => {
  const world = await withRow()
  await world.create(podObject('p1', traits))
  world.nowMs += age
  expect(await world.gc(RANGE, { valid: [] })).toEqual(isFreed ? ['10.0.0.1'] : [])
  expect(await world.reservations()).toHaveLength(isFreed ? 0 : 1)
})

test('the row of a restarted sandbox stays while the list of the runtime has the sandbox before', async () => {
  const world = new World()
  await world.create(podObject('p1', { networkStatus: [{ ips: ['10.0.0.1'] }] }))
  expect(await world.add(RANGE, { container: 'c1' })).toEqual(['10.0.0.1/24'])
  world.nowMs += MINUTE
  expect(await world.add(RANGE, { container: 'c2' })).toEqual(['10.0.0.2/24'])
  const ofBoth = [
    { containerId: 'c1', ifname: 'net1', network: 'lab', addedMs: world.nowMs - MINUTE },
    { containerId: 'c2', ifname: 'net1', network: 'lab', addedMs: world.nowMs },
  ]
  const valid = [{ containerId: 'c0', ifname: 'net1' }]
  expect(await world.gc(RANGE, { valid })).toEqual([])
  expect(await world.gc(RANGE, { valid, record: ofBoth })).toEqual(['10.0.0.1'])
  expect(await world.rows()).toEqual(['10.0.0.2 c2/net1 ns/p1'])
})

test('a row without an interface, and the row of a claim, stay', async () => {
  for (const traits of [{ ifname: undefined }, { ipamclaim: 'ns/c' }]) {
    const world = await withRow(traits)
    expect(await world.gc(RANGE, { valid: [], record: record(0) })).toEqual([])
  }
})

test('the row of a claim stays where the API server drops its mark', async () => {
  const world = new World()
  await world.create(claim('vm1.net'))
  const rest = { args: { cni: { 'ipam-claim-reference': 'vm1.net' } } }
  expect(await world.add(RANGE, { container: 'p1', rest })).toEqual(['10.0.0.1/24'])
  const marks = { ipamclaim: null, ipamclaimuid: null }
  const { apiVersion, kind } = IPPool.info
  const ref = { apiVersion, kind, namespace: 'kube-system', name: '10.0.0.0-24' }
  unwrap(await world.store.patch(ref, { spec: { allocations: { 1: marks } } }))
  expect(await world.gc(RANGE, { valid: [], record: record(0) })).toEqual([])
  expect(await world.rows()).toEqual(['10.0.0.1 p1/net1 ns/p1'])
})

test.each<[string, boolean | undefined, boolean]>([
  ['names no claim', false, true],
  ['names a claim', true, false],
  ['does not say whether there was a claim', undefined, false],
])('without reservations, a row whose record %s', async (_, hasClaim, isFreed) => {
  const world = await withRow()
  const known = record(0).map((one) => ({ ...one, hasClaim }))
  const ranges = { ...RANGE, enable_overlapping_ranges: false }
  expect(await world.gc(ranges, { valid: [], record: known })).toEqual(isFreed ? ['10.0.0.1'] : [])
  expect(await world.rows()).toHaveLength(isFreed ? 0 : 1)
})

test('a row stays if the configuration of the GC names a claim, and the record does not say', async () => {
  const world = await withRow()
  const rest = { args: { cni: { 'ipam-claim-reference': 'vm1.net' } } }
  const { config } = world.request(RANGE, { rest })
  expect(await world.gc(RANGE, { config, valid: [], record: record(0) })).toEqual([])
  const known = record(0).map((one) => ({ ...one, hasClaim: false }))
  expect(await world.gc(RANGE, { config, valid: [], record: known })).toEqual(['10.0.0.1'])
})

test('no list of attachments frees nothing, and "gc": false switches it off', async () => {
  const world = await withRow()
  expect(await world.gc(RANGE, { record: record(0) })).toBe('off')
  expect(await world.gc({ ...RANGE, gc: false }, { valid: [], record: record(0) })).toBe('off')
  expect(world.requests).toEqual([])
})

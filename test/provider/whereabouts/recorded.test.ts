import { Prefix } from 'ipam-kit/cidr'
import { checkCniFamilies } from 'ipam-kit/cni'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { add, readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { describe, expect, test } from 'vitest'
import { pool, reservation, row, slices, World } from './world.js'

// Cases of the recordings of upstream, by their names. The others of them are in add-del.test.ts.

const range = (text: string, rest: object = {}) => ({ range: text, ...rest })
const DUAL = { ipRanges: [{ range: '10.0.0.0/24' }, { range: 'fd00::/64' }] }
const OFF = { enable_overlapping_ranges: false }

function issuesOf(ipam: object): readonly string[] {
  const read = readWhereaboutsConfig({ cniVersion: '1.0.0', name: 'lab', ipam: { type: 'whereabouts', ...ipam } })
  return read.ok ? [] : read.failure.context.issues.map(({ path, message }) => `${path}: ${message}`)
}

describe('a pool that cannot be written', () => {
  test.each([
    ['forbidden-patch', range('10.0.0.0/24')],
    ['forbidden-patch-off', range('10.0.0.0/24', OFF)],
    ['forbidden-patch-dual', DUAL],
    ['forbidden-patch-off-dual', { ...DUAL, ...OFF }],
  ])('%s: no success, no row and no reservation', async (_, ipam) => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', {}))
    world.refuse = (request) => request === 'patch IPPool 10.0.0.0-24'
    expect(await world.add(ipam)).toMatch(/^denied: .*forbidden/)
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })
})

describe('two ranges', () => {
  test('dual-del-first-row-gone: the second range is released', async () => {
    const world = new World()
    await world.add(DUAL)
    await world.remove(IPPool.info, '10.0.0.0-24')
    await world.create(pool('10.0.0.0/24', {}))
    expect(await world.del(DUAL)).toBe('released fd00::1')
    expect(await world.rows()).toEqual([])
  })

  test('dual-del-first-reservation-gone: both ranges are released', async () => {
    const world = new World()
    await world.add(DUAL)
    await world.remove(OverlappingRangeIPReservation.info, '10.0.0.1')
    expect(await world.del(DUAL)).toBe('released 10.0.0.1 fd00::1')
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })

  test('dual-skip-flag: the second address is reserved, although the first one was already', async () => {
    const world = new World()
    await world.create(reservation('10.0.0.1', 'p1'))
    await world.add(DUAL)
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1', 'fd00--1 ns/p1'])
  })

  test('cni-0.2-two: two IPv4 ranges are refused for a version that has one address of each family', () => {
    const two = [{ range: '10.0.0.0/24' }, { range: '10.1.0.0/24' }].map(({ range }) => Prefix.parse(range))
    const fits = (version: '0.2.0' | '0.3.1') =>
      checkCniFamilies(
        version,
        two.map(({ address }) => address.family),
      )
    const refused = fits('0.2.0')
    expect(refused.ok ? '' : refused.failure.message).toContain('0.2.0')
    expect(fits('0.3.1').ok).toBe(true)
  })
})

describe('node slices', () => {
  test('slice-dual: each answer has the mask of its range', async () => {
    const world = new World()
    await world.create(slices('lab', '10.0.0.0/24', [['n1', '10.0.0.0/26']]))
    const two = { ipRanges: [{ range: '10.0.0.0/24' }, { range: '10.0.0.0/24' }], node_slice_size: '/26' }
    expect(await world.add(two, { node: 'n1' })).toEqual(['10.0.0.1/24', '10.0.0.2/24'])
  })

  test('slice-start-exclude: range_start and exclude hold inside of the slice', async () => {
    const world = new World()
    await world.create(slices('lab', '10.0.0.0/24', [['n1', '10.0.0.0/26']]))
    const bounds = { range_start: '10.0.0.5', exclude: ['10.0.0.5/32'], node_slice_size: '/26' }
    expect(await world.add(range('10.0.0.0/24', bounds), { node: 'n1' })).toEqual(['10.0.0.6/24'])
  })
})

describe('a configuration', () => {
  test('conf-leader: a lease that is not longer than its deadline changes nothing', async () => {
    const leader = { leader_lease_duration: 500, leader_renew_deadline: 1000, leader_retry_period: 500 }
    expect(await new World().add(range('10.0.0.0/24', leader))).toEqual(['10.0.0.1/24'])
  })

  test('start-after-end: the end before the start is refused', () => {
    expect(issuesOf(range('10.0.0.0/24', { range_start: '10.0.0.9', range_end: '10.0.0.5' }))).toEqual([
      'ipam.range_end: 10.0.0.5 is before the start 10.0.0.9',
    ])
  })

  test('dashed-bad: ends in the wrong order, and bounds that are junk, are refused at both places', () => {
    expect(issuesOf(range('10.0.0.9-10.0.0.5/24'))).toEqual(['ipam.range_end: 10.0.0.5 is before the start 10.0.0.9'])
    const junk = range('10.0.0.0/24', { range_start: 'junk' })
    expect(issuesOf(junk)).toEqual(['ipam.range_start: "junk" is not an address'])
    expect(issuesOf({ ipRanges: [junk] })).toEqual(['ipam.ipRanges[0].range_start: "junk" is not an address'])
  })

  test('exclude-bad: refused before a pool is made', () => {
    expect(issuesOf(range('10.0.0.0/24', { exclude: ['banana'] }))).toEqual([
      'ipam.exclude[0]: "banana" is not a CIDR, an address or first-last',
    ])
  })

  test('tiny: a range without a usable address is refused, and makes no pool', async () => {
    const message = 'has no address between its first and its last one'
    expect(issuesOf(range('10.0.0.1/32'))).toEqual([`ipam.range: 10.0.0.1/32 ${message}`])
    const world = new World()
    // as under the rules of upstream, which accept it
    const request = world.request(range('10.0.0.0/24'))
    const ranges = [{ prefix: Prefix.parse('10.0.0.1/32'), exclude: [] }]
    const outcome = await world.run(add({ ...request, config: { ...request.config, ranges } }))
    expect(outcome).toMatchObject({ kind: 'refused' })
    expect(world.requests.filter((sent) => !sent.startsWith('get'))).toEqual([])
  })

  test('v6-mapped: refused with the text that has one meaning', () => {
    expect(issuesOf(range('::ffff:10.6.0.0/120'))).toEqual([
      'ipam.range: "::ffff:10.6.0.0/120" has another meaning in other software: write 10.6.0.0/24',
    ])
  })
})

describe('rows', () => {
  test('pool-two-own-rows: the same row each time, and DEL releases both', async () => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', { 5: row('p1'), 9: row('p1') }))
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.5/24'])
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.5/24'])
    expect(await world.del(range('10.0.0.0/24'))).toBe('released 10.0.0.5 10.0.0.9')
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })

  test.each([
    ['v6-offset-63-off', '9223372036854775808', OFF],
    ['pool-key-negative', '-9223372036854775808', {}],
  ])('%s: the write of another Pod keeps the row', async (_, key, rest) => {
    const world = new World()
    await world.create(pool('fd00::/48', { [key]: row('far') }, 'fd00---48'))
    expect(await world.add(range('fd00::/48', rest))).toEqual(['fd00::1/48'])
    const { spec } = await world.get(IPPool.info, 'fd00---48')
    expect(spec).toMatchObject({ allocations: { [key]: row('far'), 1: row('p1') } })
  })

  test('status-gc: STATUS reports a full range, and CHECK and GC answer by the rows', async () => {
    const world = new World()
    const ipam = range('10.0.0.0/30')
    await world.add(ipam)
    expect(await world.check(ipam)).toBe('present')
    await world.add(ipam, { pod: 'p2' })
    expect(await world.status(ipam)).toMatch(/^notReady: /)
    const record = [{ containerId: 'p2', ifname: 'net1', network: 'lab', addedMs: world.nowMs - 120_000 }]
    expect(await world.gc(ipam, { valid: [{ containerId: 'p1', ifname: 'net1' }], record })).toEqual(['10.0.0.2'])
    expect(await world.check(ipam, { pod: 'p2' })).toBe('missing')
    expect(await world.status(ipam)).toBe('ready')
  })
})

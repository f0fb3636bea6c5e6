import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { describe, expect, test } from 'vitest'
import { failureOf, pool, reservation, row, slices, World } from './world.js'

const range = (text: string, rest: object = {}) => ({ range: text, ...rest })
const DUAL = { ipRanges: [{ range: '10.0.0.0/24' }, { range: 'fd00::/64' }] }

describe('requests', () => {
  test('an ADD of one range without a claim takes three, and a DEL four', async () => {
    const world = new World()
    await world.add(range('10.0.0.0/24'), { pod: 'first' })
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.2/24'])
    expect(world.requests).toEqual([
      'get IPPool 10.0.0.0-24',
      'patch IPPool 10.0.0.0-24',
      'create OverlappingRangeIPReservation 10.0.0.2',
    ])
    expect(await world.del(range('10.0.0.0/24'))).toBe('released 10.0.0.2')
    expect(world.requests).toEqual([
      'get IPPool 10.0.0.0-24',
      'get OverlappingRangeIPReservation 10.0.0.2',
      'delete OverlappingRangeIPReservation 10.0.0.2',
      'patch IPPool 10.0.0.0-24',
    ])
  })

  test('the first ADD of a range takes three as well: the pool is created with its row', async () => {
    const world = new World()
    await world.add(range('10.0.0.0/24'))
    expect(world.requests.map((request) => request.split(' ')[0])).toEqual(['get', 'create', 'create'])
    expect(await world.rows()).toEqual(['10.0.0.1 p1/net1 ns/p1'])
  })
})

describe('the bugs of upstream', () => {
  test('a: a pool that cannot be written is no success, with the check on and in two ranges', async () => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', {}))
    world.refuse = (request) => request.startsWith('patch IPPool')
    expect(await world.add(range('10.0.0.0/24'))).toMatch(/^denied: /)
    expect(await world.add(DUAL)).toMatch(/^denied: /)
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })

  test('b: a DEL releases the later ranges where the first one has no row, or no reservation', async () => {
    const world = new World()
    await world.add(DUAL)
    await world.remove(IPPool.info, '10.0.0.0-24')
    expect(await world.del(DUAL)).toBe('released fd00::1')
    // the reservation of the lost pool is still there
    await world.add(DUAL, { pod: 'p2' })
    await world.remove(OverlappingRangeIPReservation.info, '10.0.0.2')
    expect(await world.del(DUAL, { pod: 'p2' })).toBe('released 10.0.0.2 fd00::1')
    expect(await world.rows()).toEqual([])
  })

  test('c: the second range gets its reservation where the first one has one already', async () => {
    const world = new World()
    await world.create(reservation('10.0.0.1', 'p1'))
    expect(await world.add(DUAL)).toEqual(['10.0.0.1/24', 'fd00::1/64'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1', 'fd00--1 ns/p1'])
  })

  test('d: a crash between the two writes is repaired by the next ADD', async () => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', { 1: row('p1') }))
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.1/24'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1'])
  })

  test('e: node slices honour the excludes and the bounds, and answer with the mask of the range', async () => {
    const world = new World()
    await world.create(
      slices('lab', '10.0.0.0/24', [
        ['n1', '10.0.0.0/26'],
        ['n2', '10.0.0.64/26'],
      ]),
    )
    const ipam = { ...range('10.0.0.0/24'), node_slice_size: '/26', exclude: ['10.0.0.64/28'], range_end: '10.0.0.81' }
    expect(await world.add(ipam, { node: 'n2' })).toEqual(['10.0.0.80/24'])
    expect(await world.add(ipam, { node: 'n2', pod: 'p2' })).toEqual(['10.0.0.81/24'])
    expect(await world.add(ipam, { node: 'n2', pod: 'p3' })).toMatch(/^exhausted: /)
    expect((await world.get(IPPool.info, 'n2-10.0.0.64-26')).spec).toMatchObject({ range: '10.0.0.64/26' })
    expect(await world.del(ipam, { node: 'n2' })).toBe('released 10.0.0.80')
    const late = { ...range('10.0.0.0/24', { range_start: '10.0.0.100' }), node_slice_size: '/26' }
    expect(await world.add(late, { node: 'n1' })).toBe('exhausted: no address of the range is in the slice 10.0.0.0/26')
  })

  test('h and slice-no-node, slice-no-pool: a Node without a slice gets an outcome, and DEL succeeds', async () => {
    const world = new World()
    const ipam = { ...range('10.0.0.0/24'), node_slice_size: '/26' }
    expect(await world.add(ipam, { node: 'n1' })).toMatch(/^noSlice: .* does not exist$/)
    await world.create(slices('lab', '10.0.0.0/24', [['n2', '10.0.0.0/26']]))
    expect(await world.add(ipam, { node: 'n1' })).toMatch(/^noSlice: /)
    expect(await world.del(ipam, { node: 'n1' })).toBe('nothing')
    expect(await world.add(ipam)).toMatch(/^refused: .* name of the Node$/)
  })

  test('i: an IPv6 slice works', async () => {
    const world = new World()
    await world.create(slices('lab', 'fd00::/64', [['n1', 'fd00::1:0/112']]))
    const ipam = { ...range('fd00::/64'), node_slice_size: '/112' }
    expect(await world.add(ipam, { node: 'n1' })).toEqual(['fd00::1:1/64'])
  })
})

describe('the recordings', () => {
  test('forbidden-reservation: the row is rolled back', async () => {
    const world = new World()
    world.refuse = (request) => request.startsWith('create Overlapping')
    expect(await world.add(range('10.0.0.0/24'))).toMatch(/^denied: /)
    expect(await world.rows()).toEqual([])
  })

  test('dual-second-full: nothing of the first range stays', async () => {
    const world = new World()
    const ipam = { ipRanges: [{ range: '10.0.0.0/24' }, { range: 'fd00::/126' }] }
    await world.create(pool('fd00::/126', { 1: row('x'), 2: row('y') }))
    expect(await world.add(ipam)).toMatch(/^exhausted: Could not allocate IP in range: ip: fd00::1 /)
    expect(await world.rows()).toEqual(['fd00::1 x/net1 ns/x', 'fd00::2 y/net1 ns/y'])
    expect(await world.reservations()).toEqual([])
  })

  test('a second range that is refused after the first one was written is rolled back', async () => {
    const world = new World()
    world.refuse = (request) => request === 'create IPPool fd00---64'
    expect(await world.add(DUAL)).toMatch(/^denied: /)
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })

  test.each([
    ['pool-key-negative-v4', '-1'],
    ['pool-key-2-32', '4294967296'],
    ['pool-key-invalid', 'x'],
  ])('%s: the row stays, and others get addresses', async (_, key) => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', { [key]: row('odd') }))
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.1/24'])
    expect(await world.del(range('10.0.0.0/24'))).toBe('released 10.0.0.1')
    expect((await world.get(IPPool.info, '10.0.0.0-24')).spec).toMatchObject({ allocations: { [key]: row('odd') } })
  })

  test('pool-key-forms: the row of 01 holds the address of 1', async () => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', { '01': row('odd') }))
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.2/24'])
    expect(await world.del(range('10.0.0.0/24'), { pod: 'odd' })).toBe('released 10.0.0.1')
  })

  test('v6-offset-63: the row is seen, and kept', async () => {
    const world = new World()
    await world.create(pool('fd00::/48', { '9223372036854775808': row('far') }, 'fd00---48'))
    const ipam = range('fd00::/48', { range_start: 'fd00::8000:0:0:0' })
    expect(await world.add(ipam)).toEqual(['fd00::8000:0:0:1/48'])
    expect(await world.rows()).toHaveLength(2)
  })

  test('v6-offset-64: an address that has no key is not given', async () => {
    const world = new World()
    expect(await world.add(range('fd00::/48', { range_start: 'fd00:0:0:1::5' }))).toMatch(/^exhausted: .*2\^64/)
  })

  test('pool-host-bits: an address below the base of the pool is not given', async () => {
    const world = new World()
    await world.create(pool('10.9.0.8/24', { 7: row('x') }, '10.9.0.0-24'))
    expect(await world.add(range('10.9.0.0/24'))).toEqual(['10.9.0.8/24'])
    expect(await world.rows()).toEqual(['10.9.0.8 p1/net1 ns/p1', '10.9.0.15 x/net1 ns/x'])
  })

  test('pool-other-range: a pool of another range is not used', async () => {
    const world = new World()
    await world.create(pool('10.8.0.0/24', {}, '10.9.0.0-24'))
    expect(await world.add(range('10.9.0.0/24'))).toBe(
      'poolNotReady: IPPool 10.9.0.0-24 has the range 10.8.0.0/24, not 10.9.0.0/24',
    )
  })

  test('overlap-60: any number of addresses may be reserved by another range', async () => {
    const world = new World()
    for (let index = 1; index <= 60; index++) await world.create(reservation(`10.0.0.${index}`, `other-${index}`))
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.61/24'])
    expect(world.requests.filter((request) => request.startsWith('list'))).toHaveLength(1)
    expect(world.requests.length).toBeLessThan(10)
    expect(await world.rows()).toEqual(['10.0.0.61 p1/net1 ns/p1'])
  })

  test('reservation-delete-foreign: a row whose address another Pod has reserved is given up, and that reservation stays', async () => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', { 1: row('p1') }), reservation('10.0.0.1', 'other'))
    expect(await world.del(range('10.0.0.0/24'))).toBe('released 10.0.0.1')
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/other'])
    await world.remove(IPPool.info, '10.0.0.0-24')
    await world.create(pool('10.0.0.0/24', { 1: row('p1') }))
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.2/24'])
    expect(await world.rows()).toEqual(['10.0.0.2 p1/net1 ns/p1'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/other', '10.0.0.2 ns/p1'])
  })

  test('overlap-same-pod: two interfaces in overlapping ranges have two addresses', async () => {
    const world = new World()
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.1/24'])
    expect(await world.add(range('10.0.0.0/28'), { ifname: 'net2' })).toEqual(['10.0.0.2/28'])
  })

  test('overlap-same-pod: a reservation of upstream stays for the interface that has the address too', async () => {
    const world = new World()
    await world.create(
      pool('10.0.0.0/24', { 1: row('p1') }),
      pool('10.0.0.0/28', { 1: row('p1', { ifname: 'net2' }) }),
      reservation('10.0.0.1', 'p1'),
    )
    expect(await world.del(range('10.0.0.0/24'))).toBe('released 10.0.0.1')
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1'])
    expect(await world.add(range('10.0.0.0/24'), { pod: 'p2' })).toEqual(['10.0.0.2/24'])
    expect(await world.del(range('10.0.0.0/28'), { ifname: 'net2' })).toBe('released 10.0.0.1')
    expect(await world.reservations()).toEqual(['10.0.0.2 ns/p2'])
  })

  test('dual-missing-second-reservation: the next ADD creates it', async () => {
    const world = new World()
    await world.add(DUAL)
    await world.remove(OverlappingRangeIPReservation.info, 'fd00--1')
    expect(await world.add(DUAL)).toEqual(['10.0.0.1/24', 'fd00::1/64'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1', 'fd00--1 ns/p1'])
  })

  test('del-forbidden: a DEL that cannot write the pool fails, and the next one finds the row', async () => {
    const world = new World()
    await world.add(range('10.0.0.0/24'))
    world.refuse = (request) => request.startsWith('patch')
    expect(await failureOf(world.del(range('10.0.0.0/24')))).toBe('STORE_IO')
    expect(await world.rows()).toEqual(['10.0.0.1 p1/net1 ns/p1'])
    world.refuse = () => false
    expect(await world.del(range('10.0.0.0/24'))).toBe('released 10.0.0.1')
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })

  test('namespace-gone: a DEL that cannot reach the store fails', async () => {
    const world = new World()
    world.refuse = () => true
    expect(await failureOf(world.del(range('10.0.0.0/24')))).toBe('STORE_IO')
  })

  test('del-unknown: a DEL of nothing leaves no pool behind', async () => {
    const world = new World()
    expect(await world.del(range('10.0.0.0/24'))).toBe('nothing')
    expect(world.requests).toEqual(['get IPPool 10.0.0.0-24'])
  })

  test('pool-terminating: a pool that is being deleted gets no new row', async () => {
    const world = new World()
    const { metadata, ...rest } = pool('10.0.0.0/24', { 1: row('p1') })
    await world.create({ ...rest, metadata: { ...metadata, finalizers: ['x/y'] } })
    await world.remove(IPPool.info, '10.0.0.0-24')
    expect(await world.add(range('10.0.0.0/24'), { pod: 'p2' })).toBe(
      'poolNotReady: IPPool 10.0.0.0-24 is being deleted',
    )
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.1/24'])
    expect(await world.del(range('10.0.0.0/24'))).toBe('released 10.0.0.1')
  })

  test.each([
    ['pool-key-own-beyond', '256'],
    ['pool-key-0', '0'],
  ])('%s: a row that is no address of the range is not given again', async (_, key) => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', { [key]: row('p1') }))
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.1/24'])
  })

  test('same-range-twice: two addresses, and the same two again', async () => {
    const world = new World()
    const twice = { ipRanges: [{ range: '10.0.0.0/24' }, { range: '10.0.0.0/24' }] }
    expect(await world.add(twice)).toEqual(['10.0.0.1/24', '10.0.0.2/24'])
    expect(await world.add(twice)).toEqual(['10.0.0.1/24', '10.0.0.2/24'])
    expect(await world.rows()).toHaveLength(2)
    expect(await world.del(twice)).toBe('released 10.0.0.1 10.0.0.2')
    expect(await world.reservations()).toEqual([])
  })

  test('asked-ips: an address that is asked for is given, and never twice', async () => {
    const world = new World()
    const rest = { runtimeConfig: { ips: ['10.0.0.50/24'] } }
    expect(await world.add(range('10.0.0.0/24'), { rest })).toEqual(['10.0.0.50/24'])
    expect(await world.add(range('10.0.0.0/24'), { rest })).toEqual(['10.0.0.50/24'])
    expect(await world.add(range('10.0.0.0/24'), { rest, pod: 'p2' })).toBe('taken: another interface has 10.0.0.50')
  })

  test('gateway-routes-dns: the gateway is not given', async () => {
    const world = new World()
    expect(await world.add(range('10.0.0.0/24', { gateway: '10.0.0.1' }))).toEqual(['10.0.0.2/24'])
  })

  test('add-same-container-other-pod: another Pod with the container gets a row of its own', async () => {
    const world = new World()
    await world.add(range('10.0.0.0/24'), { container: 'c1' })
    expect(await world.add(range('10.0.0.0/24'), { container: 'c1', pod: 'p2' })).toEqual(['10.0.0.2/24'])
    expect(await world.del(range('10.0.0.0/24'), { container: 'c1' })).toBe('released 10.0.0.1 10.0.0.2')
    expect(await world.reservations()).toEqual([])
  })

  test('network-name: ranges of two networks do not overlap', async () => {
    const world = new World()
    await world.add(range('10.0.0.0/24', { network_name: 'blue' }))
    expect(await world.add(range('10.0.0.0/24', { network_name: 'red' }), { pod: 'p2' })).toEqual(['10.0.0.1/24'])
    expect(await world.reservations()).toEqual(['blue-10.0.0.1 ns/p1', 'red-10.0.0.1 ns/p2'])
  })

  test('overlap-off: no reservations', async () => {
    const world = new World()
    const off = { enable_overlapping_ranges: false }
    await world.add(range('10.0.0.0/24', off))
    expect(await world.add(range('10.0.0.0/28', off), { pod: 'p2' })).toEqual(['10.0.0.1/28'])
    expect(await world.reservations()).toEqual([])
  })
})

describe('interfaces that get an address again', () => {
  test('the same container and interface', async () => {
    const world = new World()
    await world.add(range('10.0.0.0/24'))
    expect(await world.add(range('10.0.0.0/24'))).toEqual(['10.0.0.1/24'])
    expect(world.requests).toEqual(['get IPPool 10.0.0.0-24', 'get OverlappingRangeIPReservation 10.0.0.1'])
  })

  test('another container of the same Pod gets a new one, and the DEL of the old one leaves it alone', async () => {
    const world = new World()
    await world.add(range('10.0.0.0/24'), { container: 'old' })
    expect(await world.add(range('10.0.0.0/24'), { container: 'new' })).toEqual(['10.0.0.2/24'])
    expect(await world.del(range('10.0.0.0/24'), { container: 'old' })).toBe('released 10.0.0.1')
    expect(await world.rows()).toEqual(['10.0.0.2 new/net1 ns/p1'])
    expect(await world.reservations()).toEqual(['10.0.0.2 ns/p1'])
  })

  test('unless the address is that of the Pod: the row becomes that of the new container', async () => {
    const world = new World()
    await world.add(range('10.0.0.0/24'), { container: 'old' })
    expect(await world.add(range('10.0.0.0/24'), { container: 'new' }, { sticky: 'pod' })).toEqual(['10.0.0.1/24'])
    expect(await world.del(range('10.0.0.0/24'), { container: 'old' })).toBe('nothing')
    expect(await world.del(range('10.0.0.0/24'), { container: 'new' })).toBe('released 10.0.0.1')
    expect(await world.reservations()).toEqual([])
  })
})

describe('CHECK and STATUS', () => {
  test('CHECK finds a missing row and a missing reservation', async () => {
    const world = new World()
    expect(await world.check(DUAL)).toBe('missing')
    await world.add(DUAL)
    expect(await world.check(DUAL)).toBe('present')
    await world.remove(OverlappingRangeIPReservation.info, 'fd00--1')
    expect(await world.check(DUAL)).toBe('missing')
  })

  test('STATUS says why an ADD would not be served', async () => {
    const world = new World()
    expect(await world.status(range('10.0.0.0/30'))).toBe('ready')
    await world.add(range('10.0.0.0/30'))
    await world.add(range('10.0.0.0/30'), { pod: 'p2' })
    expect(await world.status(range('10.0.0.0/30'))).toMatch(/^notReady: Could not allocate/)
  })
})

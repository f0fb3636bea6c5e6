import { OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { describe, expect, test } from 'vitest'
import { claim, IPAMClaim, podObject, pool, reservation, row, World } from './world.js'

// What an ADD with a claim leaves when it fails, or is killed, between its writes.

const FIRST = { range: '10.0.0.0/24' }
const FULL = { range: '10.1.0.0/30' }
const rest = { args: { cni: { 'ipam-claim-reference': 'vm1.net' } } }
const vm = (pod: string, container = pod) => ({ pod, container, rest })

async function stored(world: World): Promise<readonly unknown[]> {
  const { spec } = await world.get({ apiVersion: 'whereabouts.cni.cncf.io/v1alpha1', kind: 'IPPool' }, '10.0.0.0-24')
  return Object.values((spec as { allocations: object }).allocations)
}

/** Lets another Pod take the last address of the second range once the row of the first is written. */
function fillWhenTaken(world: World): void {
  const { store } = world
  const { patch } = store
  let isDone = false
  Object.assign(store, {
    patch: async (...given: Parameters<typeof patch>) => {
      const answer = await patch.call(store, ...given)
      if (!isDone && given[0].name === '10.0.0.0-24') {
        isDone = true
        await world.create(pool('10.1.0.0/30', { 1: row('x'), 2: row('y') }))
      }
      return answer
    },
  })
}

describe('an ADD that finds a later range full', () => {
  const both = { ipRanges: [FIRST, FULL] }

  test('gives the row of the claim back, which no Pod had', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    await world.add(FIRST, vm('a'))
    await world.del(FIRST, vm('a'))
    const [rows, reservations] = [await stored(world), await world.reservations()]
    fillWhenTaken(world)
    expect(await world.add(both, vm('b'))).toMatch(/^exhausted: /)
    expect(await stored(world)).toEqual(rows)
    expect(await world.reservations()).toEqual(reservations)
  })

  test('leaves the row of the claim without a Pod if an earlier container of the Pod had it', async () => {
    const world = new World()
    await world.create(claim('vm1.net'), podObject('a'))
    await world.add(FIRST, vm('a', 'a1'))
    fillWhenTaken(world)
    // the DEL of a1 may have ended meanwhile, and is not called again
    expect(await world.add(both, vm('a', 'a2'))).toMatch(/^exhausted: /)
    const { uid } = (await world.get(IPAMClaim.info, 'vm1.net', 'ns')).metadata
    expect(await stored(world)).toEqual([{ id: uid, podref: '', ipamclaim: 'ns/vm1.net', ipamclaimuid: uid }])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/a'])
  })

  test('leaves the row of the claim without a Pod if the Pod before is gone', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    await world.add(FIRST, vm('a'))
    fillWhenTaken(world)
    // the DEL of a found no row meanwhile, and is not called again
    expect(await world.add(both, vm('b'))).toMatch(/^exhausted: /)
    const { uid } = (await world.get(IPAMClaim.info, 'vm1.net', 'ns')).metadata
    expect(await stored(world)).toEqual([{ id: uid, podref: '', ipamclaim: 'ns/vm1.net', ipamclaimuid: uid }])
  })

  test('leaves the row without a Pod if the claim goes meanwhile', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    await world.add(FIRST, vm('a'))
    const { store } = world
    const { patch } = store
    const { uid } = (await world.get(IPAMClaim.info, 'vm1.net', 'ns')).metadata
    Object.assign(store, {
      patch: async (...given: Parameters<typeof patch>) => {
        const answer = await patch.call(store, ...given)
        if (given[0].name !== '10.0.0.0-24') return answer
        store.patch = patch
        const { apiVersion, kind } = IPAMClaim.info
        await store.delete({ apiVersion, kind, name: 'vm1.net', namespace: 'ns' })
        return answer
      },
    })
    expect(await world.add(FIRST, vm('b'))).toMatch(/^noClaim: /)
    expect(await stored(world)).toEqual([{ id: uid, podref: '', ipamclaim: 'ns/vm1.net', ipamclaimuid: uid }])
  })

  test('gives the row and its reservation back to the source of the migration', async () => {
    const world = new World()
    const labels = { 'kubevirt.io/created-by': 'vmi' }
    const target = { ...labels, 'kubevirt.io/migrationJobUID': 'm1' }
    await world.create(claim('vm1.net'), podObject('a', { labels }), podObject('b', { labels: target }))
    await world.add(FIRST, vm('a'))
    const rows = await stored(world)
    fillWhenTaken(world)
    expect(await world.add(both, vm('b'))).toMatch(/^exhausted: /)
    expect(await stored(world)).toEqual(rows)
    expect(await world.check(FIRST, vm('a'))).toBe('present')
  })

  test('leaves a sticky row to its DEL: that of the container before may have ended', async () => {
    const world = new World()
    await world.add(FIRST, { pod: 'a' })
    // the last address of the second range is reserved
    await world.create(pool('10.1.0.0/30', { 1: row('x') }), reservation('10.1.0.2', 'y'))
    expect(await world.add(both, { pod: 'a', container: 'a2' }, { sticky: 'pod' })).toMatch(/^exhausted: /)
    expect(await world.del(both, { pod: 'a', container: 'a2' })).toBe('released 10.0.0.1')
    expect(await stored(world)).toEqual([])
  })
})

describe('a DEL that keeps the row of a claim', () => {
  test('creates the reservation that an ADD was killed before', async () => {
    const world = new World()
    await world.create(claim('vm1.net', { ips: ['10.0.0.1/24'] }), pool('10.0.0.0/24', { 1: row('a') }))
    expect(await world.del(FIRST, vm('a'))).toBe('kept 10.0.0.1')
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/a'])
    // no overlapping range gives the address, and the next Pod of the claim has it
    expect(await world.add({ range: '10.0.0.0/28' }, { pod: 'x' })).toEqual(['10.0.0.2/28'])
    expect(await world.add(FIRST, vm('b'))).toEqual(['10.0.0.1/24'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/b', '10.0.0.2 ns/x'])
  })

  test('leaves the reservation of another Pod, and creates none without overlapping ranges', async () => {
    const world = new World()
    await world.create(claim('vm1.net', { ips: ['10.0.0.1/24'] }), pool('10.0.0.0/24', { 1: row('a'), 2: row('c') }))
    await world.create(reservation('10.0.0.1', 'other'))
    expect(await world.del(FIRST, vm('a'))).toBe('kept 10.0.0.1')
    const { spec } = await world.get(OverlappingRangeIPReservation.info, '10.0.0.1')
    expect(spec).toEqual({ podref: 'ns/other', ifname: 'net1' })
    const off = new World()
    await off.create(claim('vm1.net', { ips: ['10.0.0.1/24'] }), pool('10.0.0.0/24', { 1: row('a') }))
    expect(await off.del({ ...FIRST, enable_overlapping_ranges: false }, vm('a'))).toBe('kept 10.0.0.1')
    expect(await off.reservations()).toEqual([])
  })
})

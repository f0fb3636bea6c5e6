import { OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { fail } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { podObject, pool, reservation, row, World } from './world.js'

// Upstream writes reservations without the id of the container. Such a one can be that of an
// earlier or a later container of the Pod.

const RANGE = { range: '10.0.0.0/24' }
const kind = 'OverlappingRangeIPReservation'

/**
 * The first deletion of a reservation is done, and not answered; then upstream adds the next Pod of
 * the name.
 */
function withLostAnswer(world: World): Store {
  let isLost = false
  return storeOver(world.store, {
    async delete(ref, options) {
      const answer = await world.store.delete(ref, options)
      if (ref.kind !== kind || isLost) return answer
      isLost = true
      await world.create(reservation('10.0.0.1', 'p1'))
      const context = { operation: 'delete', object: ref.name, problem: 'timeout' }
      return fail('STORE_OUTCOME_UNKNOWN', context)
    },
  })
}

test('DEL leaves the reservation that a later container of the Pod has created meanwhile', async () => {
  const world = new World()
  await world.create(pool('10.0.0.0/24', { 1: row('p1') }), reservation('10.0.0.1', 'p1'))
  Object.assign(world, { client: withLostAnswer(world) })
  expect(await world.del(RANGE)).toBe('released 10.0.0.1')
  expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1'])
})

test('DEL creates the reservation again if a later container of the Pod takes the row over meanwhile', async () => {
  const world = new World()
  await world.create(pool('10.0.0.0/24', { 1: row('p1') }), reservation('10.0.0.1', 'p1'))
  let isSent = false
  const client = storeOver(world.store, {
    async patch(ref, patch, options) {
      const taken = { spec: { allocations: { 1: row('p1', { id: 'c2' }) } } }
      if (ref.kind === 'IPPool' && !isSent) await world.store.patch(ref, taken)
      isSent ||= ref.kind === 'IPPool'
      return world.store.patch(ref, patch, options)
    },
  })
  Object.assign(world, { client })
  expect(await world.del(RANGE)).toBe('released 10.0.0.1')
  expect(await world.rows()).toEqual(['10.0.0.1 c2/net1 ns/p1'])
  expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1'])
})

test('GC leaves the reservation that a later container of the Pod has created meanwhile', async () => {
  const world = new World()
  await world.create(pool('10.0.0.0/24', { 1: row('p1') }), reservation('10.0.0.1', 'p1'))
  await world.create(podObject('p1', { phase: 'Succeeded' }))
  world.nowMs += 60_000
  Object.assign(world, { client: withLostAnswer(world) })
  expect(await world.gc(RANGE, { valid: [] })).toEqual(['10.0.0.1'])
  expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1'])
})

test('ADD succeeds with its reservation, although the DEL of an earlier container deletes that of the Pod', async () => {
  const world = new World()
  // the reservation of another Pod makes the ADD list all reservations
  await world.create(reservation('10.0.0.1', 'p2'), reservation('10.0.0.2', 'p1'))
  const ref = { apiVersion: 'whereabouts.cni.cncf.io/v1alpha1', kind, namespace: 'kube-system', name: '10.0.0.2' }
  const { uid, resourceVersion } = (await world.get(ref, ref.name)).metadata
  let isSent = false
  const client = storeOver(world.store, {
    async patch(to, patch, options) {
      const isRow = JSON.stringify(patch).includes('"2":{')
      if (to.kind === 'IPPool' && isRow && !isSent) {
        isSent = true
        await world.store.delete(ref, { uid, resourceVersion })
      }
      return world.store.patch(to, patch, options)
    },
  })
  Object.assign(world, { client })
  expect(await world.add(RANGE, { container: 'c2' })).toEqual(['10.0.0.2/24'])
  expect(isSent).toBe(true)
  expect(await world.reservations()).toEqual(['10.0.0.1 ns/p2', '10.0.0.2 ns/p1'])
})

test('an ADD that loses an address again knows what was reserved since its first list', async () => {
  const world = new World()
  await world.create(reservation('10.0.0.1', 'other-1'))
  let lists = 0
  const client = storeOver(world.store, {
    async list(query, options) {
      const listed = await world.store.list(query, options)
      // the ADDs of another network, directly after the first list
      const later = [2, 3, 4, 5, 6].map((nth) => reservation(`10.0.0.${nth}`, `other-${nth}`))
      if (++lists === 1) await world.create(...later)
      return listed
    },
  })
  Object.assign(world, { client })
  expect(await world.add(RANGE)).toEqual(['10.0.0.7/24'])
  expect(lists).toBe(2)
  expect(await world.rows()).toEqual(['10.0.0.7 p1/net1 ns/p1'])
})

test('a sticky ADD succeeds with its reservations, although the DEL of the container before continues', async () => {
  const world = new World()
  const dual = { ipRanges: [RANGE, { range: 'fd00::/64' }] }
  await world.add(dual, { container: 'c1' })
  const ref = { apiVersion: 'whereabouts.cni.cncf.io/v1alpha1', kind, namespace: 'kube-system' }
  // as upstream and the sweep create it
  await world.store.delete({ ...ref, name: 'fd00--1' })
  await world.create(reservation('fd00--1', 'p1'))
  let isSent = false
  const client = storeOver(world.store, {
    async patch(to, patch, options) {
      if (to.kind === kind && !isSent) {
        isSent = true
        await world.store.delete({ ...ref, name: '10.0.0.1' })
        await world.store.delete({ ...ref, name: 'fd00--1' })
      }
      return world.store.patch(to, patch, options)
    },
  })
  Object.assign(world, { client })
  expect(await world.add(dual, { container: 'c2' }, { sticky: 'pod' })).toEqual(['10.0.0.1/24', 'fd00::1/64'])
  expect(isSent).toBe(true)
  expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1', 'fd00--1 ns/p1'])
})

test('an ADD takes a reservation over that it did not create, so that no delete from before is done', async () => {
  const world = new World()
  await world.create(reservation('10.0.0.1', 'p1'))
  const { uid, resourceVersion } = (await world.get(OverlappingRangeIPReservation.info, '10.0.0.1')).metadata
  expect(await world.add(RANGE)).toEqual(['10.0.0.1/24'])
  const { apiVersion } = OverlappingRangeIPReservation.info
  const ref = { apiVersion, kind, namespace: 'kube-system', name: '10.0.0.1' }
  // as the sweep sends it, before the Pod is created
  expect(await world.store.delete(ref, { uid, resourceVersion })).toMatchObject({ ok: false })
  expect(await world.reservations()).toEqual(['10.0.0.1 ns/p1'])
})

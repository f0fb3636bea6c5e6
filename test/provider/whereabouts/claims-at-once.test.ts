import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { claim, podObject, pool, row, World } from './world.js'

const RANGE = { range: '10.0.0.0/24' }
const rest = { args: { cni: { 'ipam-claim-reference': 'vm1.net' } } }
const vm = (pod: string, container = pod) => ({ pod, container, rest })

/** Does something once, directly before the first write of a row or a reservation. */
function beforeWrite(world: World, act: () => Promise<unknown>): Store {
  let isDone = false
  const first = async () => {
    if (isDone) return
    isDone = true
    await act()
  }
  return storeOver(world.store, {
    async create(object) {
      await first()
      return world.store.create(object)
    },
    async patch(ref, patch, options) {
      await first()
      return world.store.patch(ref, patch, options)
    },
  })
}

describe('two Pods with one claim at once', () => {
  test('the one that gets the row has the reservation too', async () => {
    const world = new World()
    await world.create(claim('vm1.net'), podObject('a', {}), podObject('b', {}))
    await world.add(RANGE, vm('a'))
    await world.del(RANGE, vm('a'))
    await world.store.patch(
      { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', namespace: 'ns', name: 'vm1.net' },
      { status: { ips: ['10.0.0.1/24'], ownerPod: null } },
      { subresource: 'status' },
    )
    const { client } = world
    // b has read everything, and a is faster with the row
    Object.assign(world, {
      client: beforeWrite(world, async () => {
        Object.assign(world, { client })
        await world.add(RANGE, vm('a', 'a2'))
      }),
    })
    expect(await world.add(RANGE, vm('b'))).toBe('claimInUse: IPAMClaim ns/vm1.net is in use by Pod a')
    expect(await world.rows()).toEqual(['10.0.0.1 a2/net1 ns/a'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/a'])
  })

  test('a Pod that was absent is read again if its name has a row of another container', async () => {
    const world = new World()
    await world.create(claim('vm1.net'), podObject('b', {}))
    await world.add(RANGE, vm('a', 'a1'))
    const { client } = world
    Object.assign(world, {
      client: beforeWrite(world, async () => {
        Object.assign(world, { client })
        await world.create(podObject('a', {}))
        await world.add(RANGE, vm('a', 'a2'))
      }),
    })
    expect(await world.add(RANGE, vm('b'))).toBe('claimInUse: IPAMClaim ns/vm1.net is in use by Pod a')
    expect(await world.rows()).toEqual(['10.0.0.1 a2/net1 ns/a'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/a'])
  })

  test('so is one that only the status and the reservation had named', async () => {
    const world = new World()
    await world.create(claim('vm1.net'), podObject('b', {}))
    await world.add(RANGE, vm('a', 'a1'))
    // the row has no Pod then
    await world.del(RANGE, vm('a', 'a1'))
    const { client } = world
    Object.assign(world, {
      client: beforeWrite(world, async () => {
        Object.assign(world, { client })
        await world.create(podObject('a', {}))
        await world.add(RANGE, vm('a', 'a2'))
      }),
    })
    expect(await world.add(RANGE, vm('b'))).toBe('claimInUse: IPAMClaim ns/vm1.net is in use by Pod a')
    expect(await world.rows()).toEqual(['10.0.0.1 a2/net1 ns/a'])
  })

  test('rows of two containers of a Pod are judged by one read of it', async () => {
    const world = new World()
    const dual = { ipRanges: [RANGE, { range: 'fd00::/64' }] }
    await world.create(claim('vm1.net', { ips: ['10.0.0.1/24', 'fd00::1/64'] }), podObject('a', {}), podObject('b', {}))
    await world.create(
      pool('10.0.0.0/24', { 1: row('a', { id: 'a1' }) }),
      pool('fd00::/64', { 1: row('a', { id: 'a2' }) }),
    )
    expect(await world.add(dual, vm('b'))).toBe('claimInUse: IPAMClaim ns/vm1.net is in use by Pod a')
  })

  test('the address is not given again in an overlapping range', async () => {
    const world = new World()
    await world.create(claim('vm1.net'), podObject('a', {}), podObject('b', {}))
    const { client } = world
    // b has read the claim before a has written its status
    Object.assign(world, {
      client: beforeWrite(world, async () => {
        Object.assign(world, { client })
        expect(await world.add(RANGE, vm('a'))).toEqual(['10.0.0.1/24'])
      }),
    })
    expect(await world.add({ range: '10.0.0.0/28' }, vm('b'))).toBe(
      'claimInUse: IPAMClaim ns/vm1.net is in use by Pod a',
    )
    expect(await world.rows()).toEqual(['10.0.0.1 a/net1 ns/a'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/a'])
  })
})

test('the namespace of an empty text is kube-system', async () => {
  const world = new World()
  Object.assign(world, {
    request: (...given: Parameters<World['request']>) => ({
      ...World.prototype.request.apply(world, given),
      namespace: '',
    }),
  })
  expect(await world.add(RANGE)).toEqual(['10.0.0.1/24'])
  expect(await world.check(RANGE)).toBe('present')
  expect(await world.del(RANGE)).toBe('released 10.0.0.1')
})

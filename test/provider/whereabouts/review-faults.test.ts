import { Address } from 'ipam-kit/cidr'
import { add, check, whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { claim, IPAMClaim, podObject, pool, reservation, row, World } from './world.js'

// Found by an independent model of whereabouts. Each test has the name of its fault.

const RANGE = { range: '10.0.0.0/24' }
const rest = { args: { cni: { 'ipam-claim-reference': 'vm1.net' } } }
const vm = (pod: string, more: object = {}) => ({ pod, rest: { ...rest, ...more } })
const UID_ANNOTATION = 'whereabouts.cni.cncf.io/ipamclaim-uid'

/** A world with a claim, whose row no Pod uses. */
async function idleWorld(): Promise<World> {
  const world = new World()
  await world.create(claim('vm1.net'))
  await world.add(RANGE, vm('a'))
  await world.del(RANGE, vm('a'))
  return world
}

/** The Pod and the container of a reservation. */
async function reserved(world: World, name: string): Promise<unknown> {
  const { spec } = await world.get(
    { apiVersion: 'whereabouts.cni.cncf.io/v1alpha1', kind: 'OverlappingRangeIPReservation' },
    name,
  )
  const { podref, containerid } = spec as { podref: string; containerid: string }
  return [podref, containerid]
}

/** An ADD that does something before its write of the pool is sent. */
async function addAfter(
  world: World,
  who: { pod: string; rest: object },
  before: () => Promise<unknown>,
): Promise<string> {
  let isFirst = true
  const store = storeOver(world.store, {
    patch: async (ref, patch, options) => {
      if (ref.kind === 'IPPool' && isFirst) {
        isFirst = false
        await before()
      }
      return world.store.patch(ref, patch, options)
    },
  })
  const result = await runTask(add(world.request(RANGE, who)), store, { now: () => world.nowMs })
  return result.kind === 'done' ? result.outcome.kind : result.kind
}

/** Ends all requests at the nth patch of a reservation. */
function crashAt(world: World, nth: number): void {
  let patches = 0
  world.refuse = (request) => {
    if (request.startsWith('patch Overlapping')) patches++
    return patches >= nth
  }
}

describe('R5: the row decides which container takes a reservation over', () => {
  test('the loser of the row leaves the reservation to the winner', async () => {
    const world = await idleWorld()
    await world.create(podObject('b'), podObject('c'))
    let loser = Promise.resolve('')
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    // both are about to write the row, and the winner writes it
    const winner = addAfter(world, vm('b'), () => {
      return new Promise<void>((atRow) => {
        loser = addAfter(world, vm('c'), () => {
          atRow()
          return ended
        })
      })
    })
    winner.then(end)
    expect(await winner).toBe('allocated')
    expect(await loser).toBe('claimInUse')
    expect(await world.rows()).toEqual(['10.0.0.1 b/net1 ns/b'])
    expect(await reserved(world, '10.0.0.1')).toEqual(['ns/b', 'b'])
    expect(await world.check(RANGE, vm('b'))).toBe('present')
  })

  test('a loser that has written nothing does not take the reservation', async () => {
    const world = await idleWorld()
    await world.create(podObject('b'), podObject('c'))
    const loser = await addAfter(world, vm('c'), async () => {
      // the winner has written its row, and not its reservation yet
      crashAt(world, 1)
      expect(await world.add(RANGE, vm('b')).catch(() => 'crash')).not.toEqual(['10.0.0.1/24'])
      world.refuse = () => false
    })
    expect(loser).toBe('claimInUse')
    expect(await reserved(world, '10.0.0.1')).toEqual(['ns/a', 'a'])
  })

  test('a crash between the row and the reservation is repaired by the next ADD', async () => {
    const world = await idleWorld()
    await world.create(podObject('b'))
    crashAt(world, 1)
    await world.add(RANGE, vm('b')).catch(() => undefined)
    expect(await world.rows()).toEqual(['10.0.0.1 b/net1 ns/b'])
    world.refuse = () => false
    expect(await world.add(RANGE, vm('b'))).toEqual(['10.0.0.1/24'])
    expect(await reserved(world, '10.0.0.1')).toEqual(['ns/b', 'b'])
  })

  test('also where the reservation does not name the claim', async () => {
    const world = new World()
    await world.create(
      claim('vm1.net', { ips: ['10.0.0.7/24'] }),
      pool('10.0.0.0/24', { 7: row('a') }),
      reservation('10.0.0.7', 'a'),
    )
    crashAt(world, 2)
    await world.add(RANGE, vm('b')).catch(() => undefined)
    expect(await world.rows()).toEqual(['10.0.0.7 b/net1 ns/b'])
    world.refuse = () => false
    expect(await world.add(RANGE, vm('b'))).toEqual(['10.0.0.7/24'])
    expect(await reserved(world, '10.0.0.7')).toEqual(['ns/b', 'b'])
  })
})

describe('R6: a claim is of one network', () => {
  test('it is refused in another one', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    const other = { name: 'blue' }
    expect(await world.add(RANGE, vm('b', other))).toBe(
      'otherNetwork: IPAMClaim ns/vm1.net is of the network lab, not blue',
    )
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })

  test('the reservation of the claim in another pool is not taken over while its Pod exists', async () => {
    const world = new World()
    const { spec, ...rest } = claim('vm1.net')
    await world.create({ ...rest, spec: { network: '', interface: '' } }, podObject('a'))
    const { uid } = (await world.get(IPAMClaim.info, 'vm1.net', 'ns')).metadata
    const { metadata, ...reserved } = reservation('10.0.0.1', 'a', { containerid: 'a' })
    const annotations = { [UID_ANNOTATION]: uid as string }
    await world.create(pool('10.0.0.0/29', { 1: row('a') }), { ...reserved, metadata: { ...metadata, annotations } })
    expect(await world.add(RANGE, vm('b'))).toBe('claimInUse: IPAMClaim ns/vm1.net is in use by Pod a')
    expect(await world.rows()).toEqual(['10.0.0.1 a/net1 ns/a'])
  })

  test('two interfaces of a container never share a row of their owner, nor a reservation', async () => {
    const world = new World()
    const prefix = 'whereabouts.cni.cncf.io/owner'
    const cni = { [`${prefix}ID`]: 'u1', [`${prefix}Name`]: 'vm' }
    const owned = (ifname: string) => ({ pod: 'a', ifname, rest: { args: { cni } } })
    expect(await world.add(RANGE, owned('net1'))).toEqual(['10.0.0.1/24'])
    expect(await world.add(RANGE, owned('net2'))).toEqual(['10.0.0.2/24'])
    expect(await world.add({ range: '10.0.0.0/29' }, owned('net3'))).toEqual(['10.0.0.3/29'])
  })
})

describe('R8: a DEL whose delete of the reservation fails', () => {
  test('is called again, and deletes it', async () => {
    const world = new World()
    await world.add(RANGE)
    world.refuse = (request) => request.startsWith('delete')
    await world.del(RANGE).catch(() => undefined)
    world.refuse = () => false
    expect(await world.del(RANGE)).toBe('released 10.0.0.1')
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })
})

describe('R9: the row of an owner that is no IPAMClaim', () => {
  const prefix = 'whereabouts.cni.cncf.io/owner'
  const cni = { [`${prefix}ID`]: 'u1', [`${prefix}Name`]: 'vm', [`${prefix}Type`]: 'VirtualMachine' }
  const owned = { pod: 'a', rest: { args: { cni } } }

  test('names its kind, with and without a Pod', async () => {
    const world = new World()
    const stored = async () => {
      const { spec } = await world.get(
        { apiVersion: 'whereabouts.cni.cncf.io/v1alpha1', kind: 'IPPool' },
        '10.0.0.0-24',
      )
      return (spec as { allocations: object }).allocations
    }
    const marks = { ipamowner: 'ns/vm', ipamownerkind: 'VirtualMachine', ipamowneruid: 'u1' }
    await world.add(RANGE, owned)
    expect(await stored()).toEqual({ 1: { id: 'a', podref: 'ns/a', ifname: 'net1', ...marks } })
    await world.del(RANGE, owned)
    expect(await stored()).toEqual({ 1: { id: 'owner:u1', podref: '', ...marks } })
  })

  test('is kept by the sweep after its DEL, for ever', async () => {
    const world = new World()
    await world.add(RANGE, owned)
    await world.del(RANGE, owned)
    const sweep = whereaboutsSweep({ graceSeconds: 1 })
    for (let round = 0; round < 3; round++) {
      await runUntilQuiet(world.store, [sweep], { now: () => world.nowMs })
      world.nowMs += 86_400_000
    }
    expect(await world.rows()).toEqual(['10.0.0.1 owner:u1/ '])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/a'])
  })

  test('is kept by a DEL whose configuration does not name the owner', async () => {
    const world = new World()
    await world.add(RANGE, owned)
    expect(await world.del(RANGE, { pod: 'a' })).toBe('kept 10.0.0.1')
  })

  test('is found again where the API server drops the members', async () => {
    const world = new World()
    await world.create(pool('10.0.0.0/24', { 5: { id: 'owner:u1', podref: '' } }))
    expect(await world.add(RANGE, owned)).toEqual(['10.0.0.5/24'])
  })
})

test('CHECK looks at the row of the answer, if a killed ADD of the container has left another one', async () => {
  const world = new World()
  await world.create(claim('vm1.net', { ips: ['10.0.0.3/24'] }))
  await world.create(pool('10.0.0.0/24', { 1: { ...row('a'), id: 'a2' }, 3: { ...row('a'), id: 'a1' } }))
  const given = { ...vm('a'), container: 'a2' }
  expect(await world.add(RANGE, given)).toEqual(['10.0.0.3/24'])
  const addresses = [Address.parse('10.0.0.3')]
  const checked = { ...world.request(RANGE, given), addresses }
  expect((await runTask(check(checked), world.store, { now: () => world.nowMs })) as object).toMatchObject({
    outcome: { kind: 'present' },
  })
  const other = check({ ...checked, addresses: [Address.parse('10.0.0.4')] })
  expect(await runTask(other, world.store, { now: () => world.nowMs })).toMatchObject({ outcome: { kind: 'missing' } })
  expect(await world.del(RANGE, given)).toBe('released 10.0.0.1')
})

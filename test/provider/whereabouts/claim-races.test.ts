import { describe, expect, test } from 'vitest'
import { claim, IPAMClaim, podObject, pool, reservation, row, World } from './world.js'

// Found by `npm run simulate -- --system whereabouts`: two ADDs of one claim at a time, and a DEL
// that comes late.

const RANGE = { range: '10.0.0.0/24' }
const rest = { args: { cni: { 'ipam-claim-reference': 'vm1.net' } } }
const vm = (name: string) => ({ pod: name, rest })

/** A world with a claim, and its uid. */
async function withClaim(status?: object): Promise<readonly [World, string]> {
  const world = new World()
  await world.create(claim('vm1.net', status))
  return [world, (await world.get(IPAMClaim.info, 'vm1.net', 'ns')).metadata.uid as string]
}

describe('a claim', () => {
  test('of which two ADDs at a time have left two rows has the one that its status names', async () => {
    const [world, uid] = await withClaim({ ips: ['10.0.0.6/24'] })
    const idle = { id: uid, podref: '' }
    await world.create(pool('10.0.0.0/24', { 5: idle, 6: idle }))
    expect(await world.add(RANGE, vm('b'))).toEqual(['10.0.0.6/24'])
    // and again, with the row of the container
    expect(await world.add(RANGE, vm('b'))).toEqual(['10.0.0.6/24'])
    expect(await world.rows()).toEqual([`10.0.0.5 ${uid}/ `, '10.0.0.6 b/net1 ns/b'])
  })

  test('has the row that its status names first, if it names two', async () => {
    const [world, uid] = await withClaim({ ips: ['10.0.0.6/24', '10.0.0.5/24'] })
    const idle = { id: uid, podref: '' }
    await world.create(pool('10.0.0.0/24', { 5: idle, 6: idle }))
    expect(await world.add(RANGE, vm('b'))).toEqual(['10.0.0.6/24'])
  })

  test('has no other row than its status names, although the row of that was written since the pool was read', async () => {
    const [world] = await withClaim({ ips: ['10.0.0.6/24'] })
    await world.create(pool('10.0.0.0/24', { 5: row('b') }))
    expect(await world.add(RANGE, vm('b'))).toEqual(['10.0.0.6/24'])
    expect((await world.get(IPAMClaim.info, 'vm1.net', 'ns')).status).toMatchObject({ ips: ['10.0.0.6/24'] })
    expect(await world.del(RANGE, vm('b'))).toBe('released 10.0.0.5')
    expect(await world.rows()).toEqual([expect.stringMatching(/^10.0.0.6 /)])
  })

  test('does not keep a row on DEL if its status names another address of the family', async () => {
    const [world] = await withClaim({ ips: ['10.0.0.6/24', 'fd00::6/64'] })
    await world.create(pool('10.0.0.0/24', { 5: row('a'), 6: row('b') }))
    expect(await world.del(RANGE, vm('a'))).toBe('released 10.0.0.5')
    expect(await world.del(RANGE, vm('b'))).toBe('kept 10.0.0.6')
  })

  test('is in use as long as the Pod of its status exists, also if a late DEL took it off the row', async () => {
    const [world, uid] = await withClaim({ ips: ['10.0.0.6/24'], ownerPod: { name: 'a' } })
    await world.create(podObject('a'), pool('10.0.0.0/24', { 6: { id: uid, podref: '' } }))
    expect(await world.add(RANGE, vm('b'))).toBe('claimInUse: IPAMClaim ns/vm1.net is in use by Pod a')
    expect(await world.add(RANGE, vm('a'))).toEqual(['10.0.0.6/24'])
  })

  test('does not take over a reservation without a Pod, although its row is without one too', async () => {
    const [world, uid] = await withClaim()
    await world.create(pool('10.0.0.0/24', { 5: { id: uid, podref: '' } }), reservation('10.0.0.5', '', { podref: '' }))
    expect(await world.add(RANGE, vm('b'))).toEqual(['10.0.0.1/24'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/b', '10.0.0.5 '])
  })
})

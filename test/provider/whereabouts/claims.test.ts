import { IPPool } from 'ipam-kit/crd/whereabouts'
import { readRowClaim } from 'ipam-kit/provider/whereabouts'
import { describe, expect, test } from 'vitest'
import { claim, IPAMClaim, podObject, pool, reservation, row, World } from './world.js'

const DUAL = { ipRanges: [{ range: '10.0.0.0/24' }, { range: 'fd00::/64' }] }
const rest = { args: { cni: { 'ipam-claim-reference': 'vm1.net' } } }
const vm = (pod: string) => ({ pod, rest })

describe('a claim', () => {
  test('gets its addresses and its Pod as status, and keeps the rows on DEL', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    expect(await world.add(DUAL, vm('a'))).toEqual(['10.0.0.1/24', 'fd00::1/64'])
    const object = await world.get(IPAMClaim.info, 'vm1.net', 'ns')
    expect(object.status).toEqual({ ips: ['10.0.0.1/24', 'fd00::1/64'], ownerPod: { name: 'a' } })
    expect(await world.del(DUAL, vm('a'))).toBe('kept 10.0.0.1 fd00::1')
    expect(await world.rows()).toEqual([`10.0.0.1 ${object.metadata.uid}/ `, `fd00::1 ${object.metadata.uid}/ `])
    expect(await world.del(DUAL, vm('a'))).toBe('nothing')
  })

  test('is used again by the next Pod, and others get other addresses meanwhile', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    await world.add(DUAL, vm('a'))
    await world.del(DUAL, vm('a'))
    expect(await world.add(DUAL, { pod: 'x' })).toEqual(['10.0.0.2/24', 'fd00::2/64'])
    expect(await world.add(DUAL, vm('b'))).toEqual(['10.0.0.1/24', 'fd00::1/64'])
    expect(await world.reservations()).toEqual(['10.0.0.1 ns/b', '10.0.0.2 ns/x', 'fd00--1 ns/b', 'fd00--2 ns/x'])
    const object = await world.get(IPAMClaim.info, 'vm1.net', 'ns')
    expect(object.status).toMatchObject({ ownerPod: { name: 'b' } })
  })

  test('is recognised by its status where the API server drops the members of the row', async () => {
    const world = new World()
    await world.create(
      claim('vm1.net', { ips: ['10.0.0.7/24'] }),
      pool('10.0.0.0/24', { 7: row('a') }),
      reservation('10.0.0.7', 'a'),
    )
    // the old Pod does not exist any more
    expect(await world.add({ range: '10.0.0.0/24' }, vm('b'))).toEqual(['10.0.0.7/24'])
    expect(await world.rows()).toEqual(['10.0.0.7 b/net1 ns/b'])
  })

  test('has its addresses again if the row was lost', async () => {
    const world = new World()
    await world.create(claim('vm1.net', { ips: ['10.0.0.7/24'] }))
    expect(await world.add({ range: '10.0.0.0/24' }, vm('b'))).toEqual(['10.0.0.7/24'])
  })

  test('is in use by one Pod at a time, except while migrating', async () => {
    const world = new World()
    await world.create(claim('vm1.net'), podObject('a', { labels: { 'kubevirt.io/created-by': 'vmi' } }))
    await world.add(DUAL, vm('a'))
    await world.create(podObject('b', { labels: { 'kubevirt.io/created-by': 'vmi' } }))
    expect(await world.add(DUAL, vm('b'))).toBe('claimInUse: IPAMClaim ns/vm1.net is in use by Pod a')
    const labels = { 'kubevirt.io/created-by': 'vmi', 'kubevirt.io/migrationJobUID': 'm1' }
    await world.create(podObject('c', { labels }))
    expect(await world.add(DUAL, vm('c'))).toEqual(['10.0.0.1/24', 'fd00::1/64'])
    // the source ends: the address is that of the target
    expect(await world.del(DUAL, vm('a'))).toBe('nothing')
    expect(await world.rows()).toEqual(['10.0.0.1 c/net1 ns/c', 'fd00::1 c/net1 ns/c'])
  })

  test('that does not exist, is being deleted or is of another namespace gives nothing', async () => {
    const world = new World()
    expect(await world.add(DUAL, vm('a'))).toBe('noClaim: IPAMClaim ns/vm1.net: it does not exist')
    const { metadata, ...other } = claim('vm1.net')
    await world.create({ ...other, metadata: { ...metadata, finalizers: ['x/y'] } })
    await world.remove(IPAMClaim.info, 'vm1.net', 'ns')
    expect(await world.add(DUAL, vm('a'))).toBe('noClaim: IPAMClaim ns/vm1.net: it is being deleted')
    const ipam = { ...DUAL, IPAMClaimReference: 'vm1.net', IPAMClaimNamespace: 'other' }
    expect(await world.add(ipam)).toBe('refused: a Pod of ns cannot use a claim of the namespace other')
    expect(await world.rows()).toEqual([])
  })

  test('that does not exist any more keeps nothing on DEL', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    await world.add(DUAL, vm('a'))
    await world.remove(IPAMClaim.info, 'vm1.net', 'ns')
    expect(await world.del(DUAL, vm('a'))).toBe('released 10.0.0.1 fd00::1')
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })

  test('of the same name and another uid does not get the rows', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    await world.add(DUAL, vm('a'))
    await world.del(DUAL, vm('a'))
    await world.remove(IPAMClaim.info, 'vm1.net', 'ns')
    await world.create(claim('vm1.net'))
    expect(await world.add(DUAL, vm('b'))).toEqual(['10.0.0.2/24', 'fd00::2/64'])
  })

  test('the status cannot be written: rows and reservations are rolled back', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    world.refuse = (request) => request.startsWith('patch IPAMClaim')
    expect(await world.add(DUAL, vm('a'))).toMatch(/^denied: /)
    expect([...(await world.rows()), ...(await world.reservations())]).toEqual([])
  })

  test('the owner of cni-args holds the rows without a claim', async () => {
    const world = new World()
    const uid = '8d9d6b85-49e1-4722-9b42-3348d8e9b9f6'
    const prefix = 'whereabouts.cni.cncf.io/owner'
    const cni = { [`${prefix}ID`]: uid, [`${prefix}Name`]: 'vm', [`${prefix}Type`]: 'VirtualMachine' }
    const owned = (pod: string) => ({ pod, rest: { args: { cni } } })
    expect(await world.add(DUAL, owned('a'))).toEqual(['10.0.0.1/24', 'fd00::1/64'])
    expect(await world.del(DUAL, owned('a'))).toBe('kept 10.0.0.1 fd00::1')
    expect(await world.add(DUAL, owned('b'))).toEqual(['10.0.0.1/24', 'fd00::1/64'])
  })

  test('a crash after the row: the next ADD writes the status', async () => {
    const world = new World()
    await world.create(claim('vm1.net'))
    const { uid } = (await world.get(IPAMClaim.info, 'vm1.net', 'ns')).metadata
    await world.create(pool('10.0.0.0/24', { 9: row('a', { ipamclaim: 'ns/vm1.net', ipamclaimuid: uid }) }))
    expect(await world.add({ range: '10.0.0.0/24' }, vm('a'))).toEqual(['10.0.0.9/24'])
    expect((await world.get(IPAMClaim.info, 'vm1.net', 'ns')).status).toMatchObject({ ips: ['10.0.0.9/24'] })
  })
})

describe('the claim of a row', () => {
  const uid = '8d9d6b85-49e1-4722-9b42-3348d8e9b9f6'
  test.each<[string, object, object | undefined]>([
    ['ours', { ipamclaim: 'ns/c', ipamclaimuid: uid }, { namespace: 'ns', name: 'c', uid }],
    ['with the name alone', { ipamClaimRef: 'c' }, { namespace: 'ns', name: 'c', uid: '' }],
    ['without a Pod', { id: uid, podref: '' }, { namespace: '', name: '', uid }],
    ['of a Pod alone', {}, undefined],
  ])('%s', (_, members, expected) => {
    const stored = { id: 'c1', podref: 'ns/p', ...members }
    expect(readRowClaim({ id: stored.id, podref: stored.podref, stored })).toEqual(expected)
  })
})

test('the members of a claim stay in a row that another row is written beside', async () => {
  const world = new World()
  await world.create(pool('10.0.0.0/24', { 1: row('x', { ipamclaim: 'ns/c', other: 'kept' }) }))
  await world.add({ range: '10.0.0.0/24' })
  const { spec } = await world.get(IPPool.info, '10.0.0.0-24')
  expect(spec).toMatchObject({ allocations: { 1: { ipamclaim: 'ns/c', other: 'kept' }, 2: { id: 'p1' } } })
})

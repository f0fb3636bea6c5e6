import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { unwrap } from 'ipam-kit/errors'
import { beforeEach, expect, test } from 'vitest'
import { World } from './world.js'

// The row of a claim that no Pod uses has no Pod, and where the API server drops members that the
// definitions of upstream do not have, the uid of the claim alone.

const POOL = '10.30.0.0-24'
const RANGE = '10.30.0.0/24'
const { apiVersion, kind } = IPAMClaim.info
const ref = { apiVersion, kind, namespace: 'default', name: 'vm1.net' }

let world: World
let idle: { readonly id: string; readonly podref: '' }
beforeEach(async () => {
  world = new World()
  const metadata = { namespace: 'default', name: 'vm1.net' }
  const created = await world.store.create({ apiVersion, kind, metadata, spec: { network: 'n', interface: 'net1' } })
  idle = { id: unwrap(created).metadata.uid as string, podref: '' }
  await world.pool(POOL, RANGE, { '1': idle, '2': idle })
})

test('the rows of a claim without a Pod stay as long as the claim exists', async () => {
  await world.sweep()
  expect(await world.rows(POOL)).toEqual(['1', '2'])
})

test('they are freed after the grace period when the claim is deleted', async () => {
  await world.look()
  unwrap(await world.store.delete(ref))
  await world.look()
  expect(await world.rows(POOL)).toEqual(['1', '2'])
  await world.sweep()
  expect(await world.rows(POOL)).toEqual([])
})

test('of two rows that two ADDs at a time have left, the one stays that the status names', async () => {
  unwrap(await world.store.patch(ref, { status: { ips: ['10.30.0.2/24'] } }, { subresource: 'status' }))
  await world.sweep()
  expect(await world.rows(POOL)).toEqual(['2'])
})

test('a row of a Pod that names the claim is judged by its Pod, if the status has another address', async () => {
  unwrap(await world.store.patch(ref, { status: { ips: ['10.30.0.2/24'] } }, { subresource: 'status' }))
  const row = { id: 'c', podref: 'default/gone', ifname: 'net1', ipamclaim: 'default/vm1.net', ipamclaimuid: idle.id }
  await world.pool('10.31.0.0-24', '10.31.0.0/24', { '1': row })
  await world.look()
  expect(await world.rows('10.31.0.0-24')).toEqual([])
})

test('a row without a Pod that is of no claim stays', async () => {
  await world.pool('10.31.0.0-24', '10.31.0.0/24', { '1': { id: 'a-container', podref: '' } })
  await world.sweep()
  expect(await world.rows('10.31.0.0-24')).toEqual(['1'])
})

test('a row of a deleted claim is freed, although a later claim of its name has no address yet', async () => {
  const marks = { ipamclaim: 'default/vm1.net', ipamclaimuid: idle.id }
  await world.pool('10.31.0.0-24', '10.31.0.0/24', { '1': { ...idle, ...marks } })
  unwrap(await world.store.delete(ref))
  await world.create({
    apiVersion,
    kind,
    metadata: { namespace: 'default', name: 'vm1.net' },
    spec: { network: 'n', interface: '' },
  })
  await world.sweep()
  expect(await world.rows('10.31.0.0-24')).toEqual([])
})

test('a reservation whose row is lost stays as long as the status of a claim has its address', async () => {
  unwrap(await world.store.patch(ref, { status: { ips: ['10.31.0.7/24'] } }, { subresource: 'status' }))
  await world.reservation('10.31.0.7', 'default/gone')
  await world.look()
  expect(Object.keys(await world.reservations())).toEqual(['10.31.0.7'])
  unwrap(await world.store.delete(ref))
  await world.look()
  expect(Object.keys(await world.reservations())).toEqual([])
})

import { expect, test } from 'vitest'
import { World } from './world.js'

// Found by an independent model of whereabouts. Each test has the name of its fault.

const P1 = 'default/p1'
const UID = '8d9d6b85-49e1-4722-9b42-3348d8e9b9f6'

test('R8: a reservation that is left stays not for the same address of the Pod in another network', async () => {
  const world = new World()
  await world.pool('blue-10.40.0.0-24', '10.40.0.0/24', { '3': P1 })
  await world.reservation('blue-10.40.0.3', P1)
  await world.reservation('10.40.0.3', P1)
  await world.pod(P1, { status: ['10.40.0.3'] })
  await world.look()
  expect(await world.reservations()).toEqual({ '10.40.0.3': P1, 'blue-10.40.0.3': P1 })
  await world.sweep()
  expect(await world.reservations()).toEqual({ 'blue-10.40.0.3': P1 })
})

test('R8: it stays if the Pod reports the address in both networks', async () => {
  const world = new World()
  await world.pool('blue-10.40.0.0-24', '10.40.0.0/24', { '3': P1 })
  await world.reservation('blue-10.40.0.3', P1)
  await world.reservation('10.40.0.3', P1)
  await world.pod(P1, { status: ['10.40.0.3', '10.40.0.3'] })
  await world.sweep()
  expect(await world.reservations()).toEqual({ '10.40.0.3': P1, 'blue-10.40.0.3': P1 })
})

test('R8: it stays by the row of a node slice, whose pool has the name of the Node', async () => {
  const world = new World()
  await world.pool('node-a-10.40.0.0-28', '10.40.0.0/28', { '3': P1 })
  await world.reservation('10.40.0.3', P1)
  await world.pod(P1, { status: ['10.40.0.4'] })
  await world.look()
  expect(await world.reservations()).toEqual({ '10.40.0.3': P1 })
})

test.each<[string, object]>([
  ['with its members', { podref: '', id: `owner:${UID}`, ipamowner: 'default/vm', ipamowneruid: UID }],
  ['with a Pod that does not exist', { podref: P1, id: 'c', ipamowner: 'default/vm', ipamowneruid: UID }],
  ['without members', { podref: '', id: `owner:${UID}` }],
])('R9: the row of an owner that is no IPAMClaim stays, %s', async (_, row) => {
  const world = new World()
  await world.pool('10.40.0.0-24', '10.40.0.0/24', { '3': row })
  await world.sweep()
  expect(await world.rows('10.40.0.0-24')).toEqual(['3'])
})

import { Address } from 'ipam-kit/cidr'
import {
  leaseName,
  nodeSliceName,
  normalizeRange,
  poolName,
  poolNamePrefix,
  readReservationName,
  reservationName,
  reservationReadings,
} from 'ipam-kit/crd/whereabouts'
import { describe, expect, test } from 'vitest'

const address = Address.parse

describe('the name of a pool', () => {
  test.each([
    [{ range: '10.0.0.0/8' }, '10.0.0.0-8'],
    [{ range: '10.0.0.0/8', networkName: '', nodeName: '' }, '10.0.0.0-8'],
    [{ range: '2001:db8::/64' }, '2001-db8---64'],
    [{ range: '10.0.0.0/8', networkName: 'blue' }, 'blue-10.0.0.0-8'],
    [{ range: '10.0.0.0/8', nodeName: 'n1' }, 'n1-10.0.0.0-8'],
    [{ range: 'fd00:0:0:10::/64', networkName: 'net-a', nodeName: 'n1' }, 'net-a-n1-fd00-0-0-10---64'],
  ])('of %j', (parts, value) => {
    expect(poolName(parts)).toEqual({ ok: true, value })
  })

  test('collides as that of upstream: nothing is escaped', () => {
    const range = '10.0.0.0/8'
    const names = [
      poolName({ range, networkName: 'a-b', nodeName: 'c' }),
      poolName({ range, networkName: 'a', nodeName: 'b-c' }),
      poolName({ range, networkName: 'a-b-c' }),
      poolName({ range, nodeName: 'a-b-c' }),
    ]
    expect(names).toEqual(names.map(() => ({ ok: true, value: 'a-b-c-10.0.0.0-8' })))
  })

  test.each([
    [{ range: '::/96' }, '---96'],
    [{ range: '10.0.0.0/8', networkName: 'Blue' }, 'Blue-10.0.0.0-8'],
    [{ range: '10.0.0.0/8', networkName: 'a'.repeat(250) }, `${'a'.repeat(250)}-10.0.0.0-8`],
  ])('is a failure for %j', (parts, name) => {
    expect(poolName(parts)).toEqual({
      ok: false,
      failure: { code: 'INVALID_OBJECT_NAME', context: { kind: 'IPPool', name, problem: expect.any(String) } },
    })
  })

  test('has what stands before the range', () => {
    expect(poolNamePrefix('10.0.0.0-8', '10.0.0.0/8')).toBe('')
    expect(poolNamePrefix('blue-n1-10.0.0.0-8', '10.0.0.0/8')).toBe('blue-n1')
    expect(poolNamePrefix('blue-2001-db8---64', '2001:db8::/64')).toBe('blue')
    expect(poolNamePrefix('-10.0.0.0-8', '10.0.0.0/8')).toBeUndefined()
    expect(poolNamePrefix('blue10.0.0.0-8', '10.0.0.0/8')).toBeUndefined()
    expect(poolNamePrefix('by-hand', '10.0.0.0/8')).toBeUndefined()
  })
})

describe('the name of a reservation', () => {
  test.each([
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', 'blue', 'blue-10.0.0.1'],
    ['2001:db8::', undefined, '2001-db8--0'],
    ['2001:db8::', 'blue', 'blue-2001-db8--0'],
    ['::ffff:10.0.0.1', undefined, '10.0.0.1'],
    ['::1', 'blue', 'blue---1'],
  ])('of %s in %s, and back', (text, networkName, value) => {
    expect(reservationName({ address: address(text), networkName })).toEqual({ ok: true, value })
    const reading = { address: Address.unmap(address(text)), networkName: networkName ?? '' }
    expect(readReservationName(value, networkName ?? '')).toEqual(reading)
    expect(readReservationName(value)).toEqual(reading)
  })

  test.each([
    ['::', undefined, '--0'],
    ['::1', undefined, '--1'],
    ['10.0.0.1', 'Blue', 'Blue-10.0.0.1'],
    ['10.0.0.1', 'a'.repeat(250), `${'a'.repeat(250)}-10.0.0.1`],
  ])('is a failure for %s in %s', (text, networkName, name) => {
    expect(reservationName({ address: address(text), networkName })).toMatchObject({
      ok: false,
      failure: { code: 'INVALID_OBJECT_NAME', context: { kind: 'OverlappingRangeIPReservation', name } },
    })
  })

  test('is read in any spelling of IPv6', () => {
    expect(readReservationName('fd00-0-0-10-0-0-3-1')?.address).toEqual(address('fd00:0:0:10::3:1'))
    expect(readReservationName('blue-fd00--0')).toEqual({ address: address('fd00::'), networkName: 'blue' })
  })

  test('can have several readings, and a given network chooses one', () => {
    expect(reservationReadings('a-fd00--1')).toEqual([
      { address: address('a:fd00::1'), networkName: '' },
      { address: address('fd00::1'), networkName: 'a' },
    ])
    expect(readReservationName('a-fd00--1', 'a')?.address).toEqual(address('fd00::1'))
    expect(readReservationName('a-fd00--1', 'b')).toBeUndefined()
  })

  test.each(['', 'blue', 'blue-', '-', '--', 'blue-10.0.0.256', 'blue10.0.0.1', '10.0.0.1-', 'blue-fd00--'])(
    'is not %j',
    (name) => {
      expect(readReservationName(name)).toBeUndefined()
    },
  )

  test('is not a text of a million dashes', () => {
    expect(readReservationName('-'.repeat(1_000_000))).toBeUndefined()
  })
})

test('the names of a NodeSlicePool and of a Lease', () => {
  expect(nodeSliceName({ name: 'lab' })).toEqual({ ok: true, value: 'lab' })
  expect(nodeSliceName({ name: 'lab', networkName: '' })).toEqual({ ok: true, value: 'lab' })
  expect(nodeSliceName({ name: 'lab', networkName: 'blue' })).toEqual({ ok: true, value: 'blue' })
  expect(nodeSliceName({ name: 'Lab' })).toMatchObject({ ok: false, failure: { code: 'INVALID_OBJECT_NAME' } })
  expect(leaseName()).toEqual({ ok: true, value: 'whereabouts' })
  expect(leaseName({ range: '10.0.0.0/26', nodeName: 'n1' })).toEqual({ ok: true, value: 'n1-10.0.0.0-26' })
})

test('a text becomes a part of a name as in upstream', () => {
  expect(['10.0.0.0/8', '2001:db8::', '::', '', '::ffff:10.0.0.0/120'].map(normalizeRange)).toEqual([
    '10.0.0.0-8',
    '2001-db8--0',
    '--0',
    '',
    '--ffff-10.0.0.0-120',
  ])
})

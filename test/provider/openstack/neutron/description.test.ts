import { describe, expect, test } from 'vitest'
import {
  fitsMarker,
  isCreatedFor,
  markerIn,
  newDescription,
  withMarker,
} from '../../../../src/provider/openstack/neutron/description.js'

describe('the marker in a description', () => {
  const rows: readonly [description: string, marker: string][] = [
    ['ipam-kit a/b', 'a/b'],
    ['of the office, ipam-kit a/b', 'a/b'],
    ['of the office\nipam-kit a/b', 'a/b'],
    ['ipam-kit a/b (do not delete)', 'a/b'],
    ['ipam-kit a/b ipam-kit a/b', 'a/b'],
    ['ipam-kit a/b ipam-kit a/c', ''],
    ['', ''],
    ['a/b', ''],
    ['ipam-kit a', ''],
    ['ipam-kit a/b/c', ''],
    ['ipam-kit a/b,', ''],
    ['ipam-kit  a/b', ''],
    ['notipam-kit a/b', ''],
    ['IPAM-KIT a/b', ''],
  ]
  test.each(rows)('of %j is %j', (description, marker) => {
    expect(markerIn(description)).toBe(marker)
  })

  test.each(rows)('of %j can be set and removed', (description) => {
    const marked = withMarker(description, 'x/y')
    expect([markerIn(marked), markerIn(withMarker(marked, ''))]).toEqual(['x/y', ''])
    expect(withMarker(marked, '')).toBe(withMarker(description, ''))
  })

  test('is what can be found again', () => {
    const fits = (marker: string) => fitsMarker(withMarker('of the office', marker), marker)
    expect(['', 'a/b', 'a-1.x_y/spare'].every(fits)).toBe(true)
    const long = `${'a'.repeat(200)}/${'b'.repeat(100)}`
    expect(['a', '/', 'a/', '/b', 'a/b/c', 'a b/c', 'a/b\n', long].some(fits)).toBe(false)
  })
})

test('a description is that of a pool by its names', () => {
  const pool = { namespace: 'office', name: 'public' }
  expect(isCreatedFor(pool, newDescription(pool, 'a/b'))).toBe(true)
  expect(isCreatedFor(pool, withMarker(newDescription(pool, 'a/b'), 'a/c'))).toBe(true)
  expect(isCreatedFor({ ...pool, name: 'publi' }, newDescription(pool, 'a/b'))).toBe(false)
  expect(isCreatedFor(pool, 'Created for pool office/public')).toBe(false)
  expect(isCreatedFor(pool, 'ipam-kit a/b')).toBe(false)
})

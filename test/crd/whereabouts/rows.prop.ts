import fc from 'fast-check'
import { Address, Prefix } from 'ipam-kit/cidr'
import {
  isKeyOf,
  poolName,
  poolNamePrefix,
  readReservationName,
  readRows,
  reservationName,
  reservationReadings,
  rowKey,
} from 'ipam-kit/crd/whereabouts'
import { address, prefix } from 'ipam-kit/testing/arbitraries'
import { expect, test } from 'vitest'

/** A range with host bits, and an address of it. */
const place = prefix().chain((range) => {
  const first = Address.toBigInt(Prefix.first(range))
  const last = Address.toBigInt(Prefix.last(range))
  return fc.bigInt(first, last).map((value) => ({ range, address: Address.fromBigInt(range.address.family, value) }))
})
const row = { id: 'c', podref: 'default/web-0' }

test('a row is read back at the address that its key was made of', () => {
  fc.assert(
    fc.property(place, ({ range, address }) => {
      const key = rowKey(range, address)
      const offset = Address.distance(range.address, address)
      expect(key.ok).toBe(offset >= 0n && offset < 1n << 64n)
      if (!key.ok) return
      expect(isKeyOf(range, key.value)).toBe(true)
      const read = readRows({ spec: { range: Prefix.format(range), allocations: { [key.value]: row } } })
      expect(read.rows.map((each) => each.address)).toEqual([address])
      expect(read.oddities.map(({ kind }) => kind)).toEqual(offset < 1n << 63n ? [] : ['key-large'])
    }),
  )
})

test('every entry is a row or an oddity, whatever its key and value, and is unchanged', () => {
  const part = fc.constantFrom('0', '1', '-', '+', '9', 'x', ' ', '.', '18446744073709551615', '9223372036854775808')
  const key = fc.oneof(
    fc.array(part, { maxLength: 4 }).map((parts) => parts.join('')),
    fc.string({ maxLength: 6 }),
  )
  const value = fc.oneof(fc.constant(row), fc.jsonValue({ maxDepth: 1 }))
  fc.assert(
    fc.property(prefix(), fc.dictionary(key, value, { maxKeys: 6 }), (range, allocations) => {
      const { rows, oddities } = readRows({ spec: { range: Prefix.format(range), allocations } })
      const found = new Map([...rows, ...oddities].map((each) => [each.key, each.stored]))
      expect(Object.fromEntries(found)).toEqual(allocations)
      expect(rows.every((each) => isKeyOf(range, each.key))).toBe(true)
    }),
  )
})

const label = fc.oneof(fc.constantFrom('a', 'fd00', '1', 'blue-1', 'a.b'), fc.stringMatching(/^[a-z0-9]{1,5}$/))
const network = fc.oneof(
  fc.constant(''),
  fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('-')),
)

test('the name of a reservation says its address and network', () => {
  fc.assert(
    fc.property(address(), network, (given, networkName) => {
      const name = reservationName({ address: given, networkName })
      const text = name.ok ? name.value : name.failure.context.name
      const reading = { address: Address.unmap(given), networkName }
      expect(readReservationName(text, networkName)).toEqual(reading)
      expect(reservationReadings(text)).toContainEqual(reading)
    }),
  )
})

test('two addresses of a network never have one name, of a reservation or of a row', () => {
  fc.assert(
    fc.property(address(), address(), network, (left, right, networkName) => {
      fc.pre(!Address.equals(Address.unmap(left), Address.unmap(right)))
      const names = [left, right].map((each) => reservationName({ address: each, networkName }))
      expect(names[0]).not.toEqual(names[1])
    }),
  )
})

test('the name of a pool has its network and node before its range', () => {
  fc.assert(
    fc.property(prefix(), network, network, (range, networkName, nodeName) => {
      const text = Prefix.format(Prefix.masked(range))
      const name = poolName({ range: text, networkName, nodeName })
      const before = [networkName, nodeName].filter((part) => part !== '').join('-')
      expect(poolNamePrefix(name.ok ? name.value : name.failure.context.name, text)).toBe(before)
    }),
  )
})

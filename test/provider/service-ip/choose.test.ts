import { Ledger, type LedgerEntry } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { ServiceCIDR } from 'ipam-kit/crd/networking'
import {
  bandsOf,
  namedServiceAddress,
  nextServiceAddress,
  type ServiceRange,
  serviceCIDRProblem,
  serviceRanges,
  usableAddresses,
} from 'ipam-kit/provider/service-ip'
import { describe, expect, test } from 'vitest'
import type { ServiceChoice } from '../../../src/provider/service-ip/choose.js'
import { READY, range } from './world.js'

type Status = 'True' | 'False' | 'Unknown'

function cidr(name: string, cidrs: readonly string[], status?: Status, metadata: object = {}): ServiceCIDR {
  const object = range(name, ...cidrs)
  const conditions = status && [{ ...READY, status, reason: 'x', message: '' }]
  return ServiceCIDR.parse({ ...object, metadata: { ...object.metadata, ...metadata }, status: { conditions } })
}

const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' }

function ledgerOf(ranges: readonly ServiceRange[], ...inUse: readonly string[]): Ledger {
  const ledger = new Ledger({ space: usableAddresses(ranges) })
  for (const text of inUse) {
    const entry: LedgerEntry = {
      prefix: Prefix.parse(`${text}/${text.includes(':') ? 128 : 32}`),
      reason: 'held',
      holder: { key: 'Service a/b' },
    }
    ledger.set(text, entry)
  }
  return ledger
}

const text = (choice: ServiceChoice) =>
  choice.kind === 'free' ? Address.format(choice.address) : `${choice.kind}: ${choice.message}`

describe('ranges', () => {
  test('one for each distinct prefix, ready if any of its objects is', () => {
    const ranges = serviceRanges([
      cidr('a', ['10.0.0.0/24', 'fd00::/112'], 'False'),
      cidr('b', ['10.0.0.0/24'], 'True'),
      cidr('c', ['10.1.0.0/24'], 'Unknown'),
      cidr('d', ['10.2.0.0/24']),
      cidr('e', ['10.3.0.0/24'], 'True', deleting),
    ])
    expect(ranges.map(({ prefix, isReady, objects }) => [Prefix.format(prefix), isReady, objects.length])).toEqual([
      ['10.0.0.0/24', true, 2],
      ['fd00::/112', false, 1],
      ['10.1.0.0/24', false, 1],
      // no condition: no controller runs
      ['10.2.0.0/24', true, 1],
      ['10.3.0.0/24', false, 1],
    ])
  })

  test('an object without a CIDR that an allocator takes has none, with the reason', () => {
    const bad = [cidr('a', []), cidr('b', ['x', '10.0.0.0/33']), cidr('d', ['fd00::/63'])]
    expect(serviceRanges(bad)).toEqual([])
    expect(bad.map(serviceCIDRProblem)).toEqual([
      'spec.cidrs: Required value: at least one CIDR required',
      'spec.cidrs[0]: "x" is not a CIDR',
      'fd00::/63 is wider than /64, the widest IPv6 range for Services',
    ])
    expect(serviceCIDRProblem(cidr('e', ['10.0.0.0/24', 'fd00::/64']))).toBeUndefined()
  })

  test('a stored object has those that a kube-apiserver serves: its allocator reads old forms, and skips others', () => {
    const odd = [
      cidr('a', ['10.0.0.1/24', 'x']),
      cidr('b', ['10.1.0.0/24', '10.2.0.0/24', '10.1.0.7/24']),
      cidr('c', ['FD00::/112', 'fd00::/63']),
      cidr('d', ['010.3.0.0/24', '::ffff:10.4.0.0/120']),
    ]
    expect(serviceRanges(odd).map(({ prefix, objects }) => [Prefix.format(prefix), objects.length])).toEqual([
      ['10.0.0.0/24', 1],
      ['10.1.0.0/24', 1],
      ['10.2.0.0/24', 1],
      ['fd00::/112', 1],
      ['10.3.0.0/24', 1],
      ['10.4.0.0/24', 1],
    ])
    expect(odd.map(serviceCIDRProblem)).toEqual([undefined, undefined, undefined, undefined])
  })

  test.each([
    ['10.0.0.0/28', '10.0.0.1-10.0.0.14', undefined],
    ['10.0.0.0/27', '10.0.0.17-10.0.0.30', '10.0.0.1-10.0.0.16'],
    ['10.0.0.0/16', '10.0.1.1-10.0.255.254', '10.0.0.1-10.0.1.0'],
    ['10.0.0.0/31', undefined, undefined],
    ['10.0.0.0/32', undefined, undefined],
    ['fd00::/127', 'fd00::1-fd00::1', undefined],
    ['fd00::/128', undefined, undefined],
    ['fd00::/64', 'fd00::101-fd00::ffff:ffff:ffff:ffff', 'fd00::1-fd00::100'],
  ])('%s has the bands %s and %s', (cidr, upper, lower) => {
    const bands = bandsOf(Prefix.parse(cidr))
    const format = (band: typeof bands.upper) => band && RangeSet.format(RangeSet.fromRanges([band]))[0]
    expect([format(bands.upper), format(bands.lower)]).toEqual([upper, lower])
  })
})

describe('the next address', () => {
  const ranges = serviceRanges([cidr('a', ['10.0.0.0/27'], 'True'), cidr('b', ['10.1.0.0/30', 'fd00::/112'], 'True')])
  const next = (start: number, ...inUse: readonly string[]) =>
    text(nextServiceAddress(ranges, ledgerOf(ranges, ...inUse), { family: 4, start }))
  const upper = Array.from({ length: 14 }, (_, nth) => `10.0.0.${17 + nth}`)
  const lower = Array.from({ length: 16 }, (_, nth) => `10.0.0.${1 + nth}`)

  test('is of the upper band, from the start on and around', () => {
    expect(next(0)).toBe('10.0.0.17')
    expect(next(0.5)).toBe('10.0.0.24')
    expect(next(0.9999999)).toBe('10.0.0.30')
    expect(next(0.9999999, '10.0.0.30')).toBe('10.0.0.17')
    expect(next(0.5, '10.0.0.24', '10.0.0.25')).toBe('10.0.0.26')
  })

  test('then the lowest one of the lower band, then of the next range', () => {
    expect(next(0.5, ...upper)).toBe('10.0.0.1')
    expect(next(0.5, ...upper, '10.0.0.1')).toBe('10.0.0.2')
    expect(next(0.5, ...upper, ...lower)).toBe('10.1.0.2')
    expect(next(0, ...upper, ...lower, '10.1.0.1', '10.1.0.2')).toBe(
      'full: no free IPv4 address in 10.0.0.0/27, 10.1.0.0/30',
    )
  })

  test('is of the family that is asked for, and of no range that is not ready', () => {
    const v6 = nextServiceAddress(ranges, ledgerOf(ranges), { family: 6, start: 0 })
    expect(text(v6)).toBe('fd00::101')
    const mixed = serviceRanges([cidr('a', ['10.0.0.0/27'], 'False'), cidr('b', ['10.1.0.0/30'])])
    expect(text(nextServiceAddress(mixed, ledgerOf(mixed), { family: 4, start: 0 }))).toBe('10.1.0.1')
    const none = serviceRanges([cidr('a', ['10.0.0.0/27'], 'False')])
    expect(text(nextServiceAddress(none, ledgerOf(none), { family: 4, start: 0 }))).toBe(
      'notReady: no ServiceCIDR with an IPv4 range is ready (10.0.0.0/27)',
    )
    expect(text(nextServiceAddress(none, ledgerOf(none), { family: 6, start: 0 }))).toBe(
      'mismatchedNetwork: no ServiceCIDR has an IPv6 range',
    )
  })

  test.each([-0.1, 1, Number.NaN])('a start of %d is refused', (start) => {
    expect(() => nextServiceAddress(ranges, ledgerOf(ranges), { family: 4, start })).toThrow(/start/)
  })
})

describe('a named address', () => {
  const ranges = serviceRanges([
    cidr('a', ['10.0.0.0/24'], 'True'),
    cidr('b', ['10.1.0.0/24'], 'False'),
    cidr('c', ['fd00::/112'], 'True'),
  ])
  const named = (address: string, ...inUse: readonly string[]) =>
    text(namedServiceAddress(ranges, ledgerOf(ranges, ...inUse), Address.parse(address)))

  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0.200', '10.0.0.200'],
    ['fd00::1', 'fd00::1'],
    ['fd00::ffff', 'fd00::ffff'],
    ['10.0.0.0', 'notInRange: 10.0.0.0 is the network or broadcast address of 10.0.0.0/24'],
    ['10.0.0.255', 'notInRange: 10.0.0.255 is the network or broadcast address of 10.0.0.0/24'],
    ['fd00::', 'notInRange: fd00:: is the network or broadcast address of fd00::/112'],
    ['10.1.0.1', 'notReady: 10.1.0.1 is in 10.1.0.0/24, which is not ready'],
    ['10.2.0.1', 'mismatchedNetwork: 10.2.0.1 is in no range of a ServiceCIDR'],
    ['fd01::1', 'mismatchedNetwork: fd01::1 is in no range of a ServiceCIDR'],
  ])('%s: %s', (address, answer) => {
    expect(named(address)).toBe(answer)
  })

  test('is refused if it is in use', () => {
    expect(named('10.0.0.1', '10.0.0.1')).toBe('allocated: 10.0.0.1 is in use by Service a/b')
  })

  test('may be the network address of a range in a larger one', () => {
    const grown = serviceRanges([cidr('a', ['192.168.1.0/24']), cidr('b', ['192.168.0.0/16'])])
    const address = Address.parse('192.168.1.0')
    expect(text(namedServiceAddress(grown.slice(0, 1), ledgerOf(grown.slice(0, 1)), address))).toMatch(/^notInRange/)
    expect(text(namedServiceAddress(grown, ledgerOf(grown), address))).toBe('192.168.1.0')
  })

  test('is not ready where the only range that can hold it is not', () => {
    const grown = serviceRanges([cidr('a', ['192.168.1.0/24']), cidr('b', ['192.168.0.0/16'], 'False')])
    const answer = namedServiceAddress(grown, ledgerOf(grown), Address.parse('192.168.1.0'))
    expect(text(answer)).toBe('notReady: 192.168.1.0 is in 192.168.0.0/16, which is not ready')
  })
})

import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { poolSpace } from 'ipam-kit/crd/ipam-kit'
import { describe, expect, test } from 'vitest'
import { readPoolSpace, subnetOf } from '../../../src/crd/ipam-kit/space.js'
import { domain, pool } from './objects.js'

type Fields = { readonly [field: string]: unknown }

function spaceOf(subnet: Fields, spec: Fields = {}) {
  const space = poolSpace(pool({ subnets: [{ cidr: '10.0.0.0/24', ...subnet }], ...spec }).spec)
  if (!space.ok) throw new Error(space.failure.context.problems.join('; '))
  return space.value
}
const given = (subnet: Fields, spec: Fields = {}) => RangeSet.format(spaceOf(subnet, spec).given)
const problems = (spec: Fields) => {
  const space = poolSpace(pool(spec).spec)
  return space.ok ? [] : space.failure.context.problems
}

describe('what is given of a subnet of addresses', () => {
  test.each<[string, Fields, Fields, string[]]>([
    ['all but the edges', {}, {}, ['10.0.0.1-10.0.0.254']],
    ['of IPv6 as well', { cidr: 'fd00::/120' }, {}, ['fd00::1-fd00::fe']],
    ['with them', {}, { skipEdges: 'never' }, ['10.0.0.0-10.0.0.255']],
    ['two of four', { cidr: '10.0.0.4/30' }, {}, ['10.0.0.5-10.0.0.6']],
    ['all of two', { cidr: '10.0.0.4/31' }, {}, ['10.0.0.4-10.0.0.5']],
    ['none of two, if edges are always skipped', { cidr: '10.0.0.4/31' }, { skipEdges: 'always' }, []],
    ['one of one', { cidr: 'fd00::7/128' }, {}, ['fd00::7-fd00::7']],
    ['none of one, if edges are always skipped', { cidr: 'fd00::7/128' }, { skipEdges: 'always' }, []],
    ['its ranges', { ranges: ['10.0.0.8/30', '10.0.0.5'] }, {}, ['10.0.0.5-10.0.0.5', '10.0.0.8-10.0.0.11']],
    ['an edge is that of the subnet, not of a range', { ranges: ['10.0.0.0-10.0.0.3'] }, {}, ['10.0.0.1-10.0.0.3']],
    ['nothing that is excluded', { exclude: ['10.0.0.0/25'] }, {}, ['10.0.0.128-10.0.0.254']],
    [
      'no gateway',
      { ranges: ['10.0.0.1-10.0.0.3'], gateway: '10.0.0.2' },
      {},
      ['10.0.0.1-10.0.0.1', '10.0.0.3-10.0.0.3'],
    ],
    [
      'nothing that is reserved',
      { ranges: ['10.0.0.1-10.0.0.3'], reserved: ['10.0.0.2/31'] },
      {},
      ['10.0.0.1-10.0.0.1'],
    ],
  ])('%s', (_, subnet, spec, ranges) => {
    expect(given(subnet, spec)).toEqual(ranges)
  })

  test('a reserved address is of the pool, unless it is excluded or not in a range', () => {
    const reserved = ['10.0.0.1-10.0.0.9']
    const space = spaceOf({ ranges: ['10.0.0.1-10.0.0.5'], exclude: ['10.0.0.4'], gateway: '10.0.0.1', reserved })
    expect(RangeSet.format(space.reserved)).toEqual(['10.0.0.2-10.0.0.3', '10.0.0.5-10.0.0.5'])
    expect(RangeSet.isEmpty(space.given)).toBe(true)
    expect(RangeSet.format(space.kept)).toEqual(['10.0.0.0-10.0.0.1', '10.0.0.4-10.0.0.4', '10.0.0.255-10.0.0.255'])
  })

  test('a router beyond the subnet keeps nothing back', () => {
    const space = spaceOf({ cidr: 'fd00::/126', gateway: 'fe80::1' }, { skipEdges: 'never' })
    expect(RangeSet.isEmpty(space.kept)).toBe(true)
    expect(space.subnets).toEqual([{ prefix: Prefix.parse('fd00::/126'), gateway: Address.parse('fe80::1') }])
  })
})

describe('what is given of a subnet of prefixes', () => {
  const ipv4 = { blockPrefixLength: 20, allocationPrefixLength: 28 }

  test.each<[string, Fields, string[]]>([
    ['all: prefixes have no edges', {}, ['10.0.0.0-10.0.0.255']],
    ['those that are wholly in a range', { ranges: ['10.0.0.1-10.0.0.47'] }, ['10.0.0.16-10.0.0.47']],
    ['none that is in no range as a whole', { ranges: ['10.0.0.8-10.0.0.23'] }, []],
    ['none of a subnet that is smaller', { cidr: '10.0.0.0/29' }, []],
    ['none with the gateway in it', { ranges: ['10.0.0.0/27'], gateway: '10.0.0.1' }, ['10.0.0.16-10.0.0.31']],
    ['none of which a part is excluded', { ranges: ['10.0.0.0/27'], exclude: ['10.0.0.31'] }, ['10.0.0.0-10.0.0.15']],
    [
      'up to the end of all addresses',
      { cidr: '255.255.255.192/26', ranges: ['255.255.255.200-255.255.255.255'] },
      ['255.255.255.208-255.255.255.255'],
    ],
    ['from the first of all', { cidr: '0.0.0.0/26', ranges: ['0.0.0.0-0.0.0.14'] }, []],
  ])('%s', (_, subnet, ranges) => {
    expect(given(subnet, { ipv4 })).toEqual(ranges)
  })

  test('one of which a part is reserved is reserved as a whole', () => {
    const space = spaceOf({ ranges: ['10.0.0.0/26'], reserved: ['10.0.0.17'], exclude: ['10.0.0.40'] }, { ipv4 })
    expect(RangeSet.format(space.given)).toEqual(['10.0.0.0-10.0.0.15', '10.0.0.48-10.0.0.63'])
    expect(RangeSet.format(space.reserved)).toEqual(['10.0.0.16-10.0.0.31'])
  })

  test('the family without a grid is one of addresses', () => {
    const subnets = [{ cidr: '10.0.0.0/27' }, { cidr: 'fd00::/126' }]
    const space = poolSpace(pool({ subnets, ipv4 }).spec)
    expect(space.ok && RangeSet.format(space.value.given)).toEqual(['10.0.0.0-10.0.0.31', 'fd00::1-fd00::2'])
  })

  test('the grid of the domain counts, where it is known', () => {
    const { spec } = pool({ subnets: [{ cidr: '10.0.0.0/27', ranges: ['10.0.0.1-10.0.0.31'] }] })
    const space = poolSpace(spec, domain({ ipv4 }).spec)
    expect(space.ok && RangeSet.format(space.value.given)).toEqual(['10.0.0.16-10.0.0.31'])
  })
})

describe('subnets within others', () => {
  const subnets = [
    { cidr: '10.0.0.0/24', ranges: ['10.0.0.0/28'], gateway: '10.0.0.9', exclude: ['10.0.0.5'] },
    { cidr: '10.0.0.4/30', gateway: '10.0.0.6' },
  ]

  test('what one keeps back, the other does not give', () => {
    const space = poolSpace(pool({ subnets }).spec)
    expect(space.ok && RangeSet.format(space.value.given)).toEqual([
      '10.0.0.1-10.0.0.3',
      '10.0.0.8-10.0.0.8',
      '10.0.0.10-10.0.0.15',
    ])
  })

  test.each([
    ['10.0.0.5', '10.0.0.4/30'],
    ['10.0.0.8', '10.0.0.0/24'],
    ['10.0.1.0', undefined],
    ['::ffff:10.0.0.5', undefined],
  ])('%s is of %s', (address, cidr) => {
    const space = poolSpace(pool({ subnets }).spec)
    const found = space.ok ? subnetOf(space.value, Address.parse(address)) : undefined
    expect(found && Prefix.format(found.prefix)).toBe(cidr)
  })
})

describe('a pool is refused', () => {
  const texts = (count: number) => Array.from({ length: count }, (_, index) => `10.0.0.${index % 256}`)
  const networks = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ cidr: `10.${index % 256}.${Math.floor(index / 256)}.0/24` }))

  test.each<[string, Fields]>([
    ['spec.subnets: Invalid value: 0: a pool has at least one subnet', { subnets: [] }],
    ['spec.subnets: Invalid value: 257: a pool has at most 256 subnets', { subnets: networks(257) }],
    ['spec.subnets[0].cidr: Invalid value: "10.0.0.0": is not a CIDR', { subnets: [{ cidr: '10.0.0.0' }] }],
    ['spec.subnets[0].cidr: Invalid value: "10.0.0.1/24": has host bits', { subnets: [{ cidr: '10.0.0.1/24' }] }],
    [
      'spec.subnets[0].cidr: Invalid value: "::ffff:10.0.0.0/120": is IPv4 within IPv6',
      { subnets: [{ cidr: '::ffff:10.0.0.0/120' }] },
    ],
    [
      'spec.subnets[1].cidr: Invalid value: "FD00:0::/64": is the subnet of spec.subnets[0] again',
      { subnets: [{ cidr: 'fd00::/64' }, { cidr: 'FD00:0::/64' }] },
    ],
    [
      'spec.subnets[0].ranges: Invalid value: 0: is empty: leave it out for the whole subnet',
      { subnets: [{ cidr: '10.0.0.0/24', ranges: [] }] },
    ],
    [
      'spec.subnets[0].exclude: Invalid value: 257: a list has at most 256 texts',
      { subnets: [{ cidr: '10.0.0.0/24', exclude: texts(257) }] },
    ],
    [
      'spec.subnets[0].ranges[1]: Invalid value: "x": is not an address, a range or a CIDR without host bits',
      { subnets: [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.1', 'x'] }] },
    ],
    [
      'spec.subnets[0].ranges[0]: Invalid value: "10.0.0.9/28": is not an address, a range or a CIDR without host bits',
      { subnets: [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.9/28'] }] },
    ],
    [
      'spec.subnets[0].ranges[0]: Invalid value: "10.0.0.250-10.0.1.2": is not within 10.0.0.0/24',
      { subnets: [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.250-10.0.1.2'] }] },
    ],
    [
      'spec.subnets[0].exclude[0]: Invalid value: "10.0.1.0": is not within 10.0.0.0/24',
      { subnets: [{ cidr: '10.0.0.0/24', exclude: ['10.0.1.0'] }] },
    ],
    [
      'spec.subnets[0].reserved[0]: Invalid value: "fd00::1": is not within 10.0.0.0/24',
      { subnets: [{ cidr: '10.0.0.0/24', reserved: ['fd00::1'] }] },
    ],
    [
      'spec.subnets[0].gateway: Invalid value: "": is not an address',
      { subnets: [{ cidr: '10.0.0.0/24', gateway: '' }] },
    ],
    [
      'spec.subnets[0].gateway: Invalid value: "fe80::1": is not within 10.0.0.0/24',
      { subnets: [{ cidr: '10.0.0.0/24', gateway: 'fe80::1' }] },
    ],
    [
      'spec.subnets[0].gateway: Invalid value: "fec0::1": is not within fd00::/64 nor link-local',
      { subnets: [{ cidr: 'fd00::/64', gateway: 'fec0::1' }] },
    ],
    [
      'spec.ipv6.allocationPrefixLength: Invalid value: 129: is not from 1 to 128',
      { ipv6: { allocationPrefixLength: 129 } },
    ],
  ])('%s', (problem, spec) => {
    expect(problems(spec)).toEqual([problem])
  })

  test('in a domain that names of blocks cannot begin with', () => {
    expect(problems({ domain: 'Lab' })).toEqual(['spec.domain: Invalid value: "Lab": is not the name of a domain'])
  })

  test('for everything that is wrong, and no sentence is longer for a long text', () => {
    const subnets = [{ cidr: 'x'.repeat(1000) }, { cidr: '10.0.0.0/24', ranges: ['y'], gateway: 'z' }]
    const found = problems({ subnets })
    expect(found.map((problem) => problem.split(':')[0])).toEqual([
      'spec.subnets[0].cidr',
      'spec.subnets[1].ranges[0]',
      'spec.subnets[1].gateway',
    ])
    expect(Math.max(...found.map(({ length }) => length))).toBeLessThan(200)
  })
})

describe('a stored spec that is wrong in part', () => {
  const read = (...subnets: readonly object[]) => {
    const { spec } = pool({ subnets, skipEdges: 'never' })
    const { space, isUnsafe, errors } = readPoolSpace(spec, spec)
    return { given: RangeSet.format(space.given), isUnsafe, problems: errors.map(({ path }) => path) }
  }
  const right = { cidr: '10.1.0.0/30' }

  test.each<[string, object, string]>([
    ['a CIDR', { cidr: 'x' }, 'spec.subnets[0].cidr'],
    ['an exclusion', { cidr: '10.0.0.0/30', exclude: ['10.0.0.1', '10.0.0.300'] }, 'spec.subnets[0].exclude[1]'],
    ['a reserved address', { cidr: '10.0.0.0/30', reserved: ['x'] }, 'spec.subnets[0].reserved[0]'],
    ['a gateway', { cidr: '10.0.0.0/30', gateway: 'x' }, 'spec.subnets[0].gateway'],
    ['a gateway of another subnet', { cidr: '10.0.0.0/30', gateway: '10.9.0.1' }, 'spec.subnets[0].gateway'],
    ['all of its ranges', { cidr: '10.0.0.0/30', ranges: ['x'] }, 'spec.subnets[0].ranges[0]'],
  ])('by %s gives the other subnets', (_, wrong, path) => {
    expect(read(wrong, right)).toEqual({ given: ['10.1.0.0-10.1.0.3'], isUnsafe: false, problems: [path] })
  })

  test('gives the ranges that are right', () => {
    const ranges = ['10.0.0.1', 'x', '10.9.0.0/24', '10.0.0.3']
    expect(read({ cidr: '10.0.0.0/30', ranges }).given).toEqual(['10.0.0.1-10.0.0.1', '10.0.0.3-10.0.0.3'])
  })

  test.each<[string, object]>([
    ['an unreadable CIDR', { cidr: 'x', exclude: ['10.1.0.1'], reserved: ['10.1.0.2'], gateway: '10.1.0.3' }],
    ['host bits', { cidr: '10.1.0.9/24', exclude: ['10.1.0.1-10.1.0.3'] }],
    ['the CIDR of another one', { ...right, exclude: ['10.1.0.1-10.1.0.3'] }],
  ])('gives nothing that a subnet with %s keeps back', (_, wrong) => {
    expect(read(right, wrong)).toMatchObject({ given: ['10.1.0.0-10.1.0.0'], isUnsafe: false })
  })

  test('keeps back what an exclusion outside of its subnet names', () => {
    expect(read({ cidr: '10.0.0.0/30', exclude: ['10.1.0.0/31'] }, right).given).toEqual(['10.1.0.2-10.1.0.3'])
  })

  test('gives nothing of a subnet with host bits that keeps back what cannot be read', () => {
    expect(read(right, { cidr: '10.1.0.3/31', exclude: ['x'] }).given).toEqual(['10.1.0.0-10.1.0.1'])
  })

  test.each<[string, readonly object[]]>([
    ['it is unknown what is kept back, and of which subnet', [right, { cidr: 'x', exclude: ['y'] }]],
    ['no subnet is right', [{ cidr: 'x' }]],
    ['there is no subnet', []],
    ['there are too many subnets', Array.from({ length: 257 }, (_, index) => ({ cidr: `10.0.${index % 256}.0/24` }))],
  ])('gives nothing at all where %s', (_, subnets) => {
    expect(read(...subnets).isUnsafe).toBe(true)
  })
})

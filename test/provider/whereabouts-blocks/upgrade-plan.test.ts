import { Address } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { planUpgrade, type UpgradeOddity, type UpgradePlan } from 'ipam-kit/provider/whereabouts-blocks'
import { describe, expect, test } from 'vitest'
import { oldNetwork, oldPool, pod, reservation, row } from './old-objects.js'

const RANGE = '10.0.0.0/24'

interface Given {
  readonly networks?: readonly object[]
  readonly pools: readonly KubeObject[]
  readonly reservations?: readonly KubeObject[]
  readonly pods?: readonly KubeObject[]
}

function plan({ networks = [{ range: RANGE }], pools, reservations = [], pods = [] }: Given): UpgradePlan {
  return planUpgrade({ networks: networks.map((ipam) => oldNetwork(ipam)), pools, reservations, pods })
}

/** `kind key address` of each oddity, with `!` if it is an obstacle. */
function texts(oddities: readonly UpgradeOddity[]): readonly string[] {
  return oddities.map(({ kind, isObstacle, key, address }) =>
    [`${isObstacle ? '!' : ''}${kind}`, key, address && Address.format(address)].filter(Boolean).join(' '),
  )
}

/** The oddities of the first pool. */
function oddities(given: Given): readonly string[] {
  const [first] = plan(given).pools
  expect(first!.isReady).toBe(!first!.oddities.some(({ isObstacle }) => isObstacle))
  return texts(first!.oddities)
}

const p1 = pod('p1', ['net1=10.0.0.7'])
const r7 = reservation('10.0.0.7', 'p1')

describe('a pool without anything unusual', () => {
  test('is ready, and its rows name their Pods by uid', () => {
    const { pools, otherReservations } = plan({
      pools: [oldPool(RANGE, { 9: row('p2', { extra: true }), 7: row('p1') })],
      reservations: [r7, reservation('10.0.0.9', 'p2')],
      pods: [p1, pod('p2', ['net1=10.0.0.9'])],
    })
    expect(otherReservations).toEqual([])
    expect(pools).toEqual([
      {
        namespace: 'kube-system',
        name: '10.0.0.0-24',
        isReady: true,
        domain: 'whereabouts',
        targets: ['whereabouts.10.0.0.0-24'],
        rows: [7, 9].map((key) => ({
          key: `${key}`,
          address: Address.parse(`10.0.0.${key}`),
          pool: 'whereabouts.10.0.0.0-24',
          owner: `ns/p${key === 7 ? 1 : 2}`,
          uid: `uid-p${key === 7 ? 1 : 2}`,
          interface: 'net1',
          container: `c-p${key === 7 ? 1 : 2}`,
        })),
        oddities: [],
      },
    ])
  })

  test('is the pool of a named network, of IPv6, and of a domain of its own', () => {
    const [own] = plan({
      networks: [{ range: 'fd00::/64', network_name: 'blue', enable_overlapping_ranges: false }],
      pools: [oldPool('fd00::/64', { 5: row('p1') }, { name: 'blue-fd00---64' })],
      pods: [pod('p1', ['net1=fd00::5'])],
    }).pools
    expect(own).toMatchObject({ isReady: true, oddities: [], domain: 'whereabouts.fd00---64.own.net.blue' })
    expect(own!.rows).toHaveLength(1)
  })

  test('gives each row to the pool of the bounds that it lies in', () => {
    const bounds = (from: number, to: number) => ({
      range: RANGE,
      range_start: `10.0.0.${from}`,
      range_end: `10.0.0.${to}`,
    })
    const [first] = plan({
      networks: [bounds(1, 99), bounds(100, 200)],
      pools: [oldPool(RANGE, { 7: row('p1'), 150: row('p2') })],
      reservations: [r7, reservation('10.0.0.150', 'p2')],
      pods: [p1, pod('p2', ['net1=10.0.0.150'])],
    }).pools
    expect(first!.oddities).toEqual([])
    expect(first!.rows.map(({ key, pool }) => [key, pool])).toEqual([
      ['7', 'whereabouts.10.0.0.0-24.to-10-0-0-99'],
      ['150', 'whereabouts.10.0.0.0-24.from-10-0-0-100.to-10-0-0-200'],
    ])
  })

  test('takes the interface from the Pod where the row has none, and the uid of a static Pod', () => {
    const metadata = { annotations: { ...p1.metadata.annotations, 'kubernetes.io/config.mirror': 'uid-static' } }
    const [first] = plan({
      pools: [oldPool(RANGE, { 7: row('p1', { ifname: undefined }) })],
      reservations: [r7],
      pods: [{ ...p1, metadata: { ...p1.metadata, ...metadata } }],
    }).pools
    expect(first).toMatchObject({ isReady: true, rows: [{ interface: 'net1', uid: 'uid-static' }] })
  })
})

describe('the oddities of a pool', () => {
  test.each<readonly [string, Given, readonly string[]]>([
    ['no IPPool', { pools: [{ ...oldPool(RANGE), spec: { range: 7 } }] }, ['!pool-unreadable']],
    [
      'being deleted',
      { pools: [oldPool(RANGE, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' })] },
      ['!pool-terminating'],
    ],
    ['without a network', { pools: [oldPool('10.1.0.0/24')] }, ['!pool-unnamed']],
    [
      'of a Node',
      {
        networks: [{ range: RANGE, node_slice_size: '/26' }],
        pools: [oldPool('10.0.0.64/26', {}, { name: 'n1-10.0.0.64-26' })],
      },
      ['!pool-sliced'],
    ],
    ['without a range', { pools: [oldPool('x', {}, { name: '10.0.0.0-24' })] }, ['!range']],
    ['of another range', { pools: [oldPool('10.0.0.0/25', {}, { name: '10.0.0.0-24' })] }, ['!range']],
    [
      'of two domains',
      { networks: [{ range: RANGE }, { range: RANGE, enable_overlapping_ranges: false }], pools: [oldPool(RANGE)] },
      ['!domains'],
    ],
    [
      'without a pool of blocks',
      {
        networks: [{ range: RANGE, network_name: 'b'.repeat(180) }],
        pools: [oldPool(RANGE, {}, { name: `${'b'.repeat(180)}-10.0.0.0-24` })],
      },
      ['!target'],
    ],
    [
      'that a range of the network overlaps',
      { networks: [{ range: RANGE }, { range: '10.0.0.128/25' }], pools: [oldPool(RANGE)] },
      ['!overlap'],
    ],
    [
      'that node slices overlap',
      { networks: [{ range: RANGE }, { range: '10.0.0.0/16', node_slice_size: '26' }], pools: [oldPool(RANGE)] },
      ['!overlap'],
    ],
    [
      'that a pool with rows and without a network overlaps',
      { pools: [oldPool(RANGE), oldPool('10.0.0.0/25', { 1: row('p1') })] },
      ['!overlap'],
    ],
  ])('%s', (_, given, expected) => {
    expect(oddities(given)).toEqual(expected)
  })

  test('no overlap is one of another network, of an empty pool without a network, or of a domain of its own', () => {
    const ranges = [
      [{ range: RANGE }, { range: '10.0.0.0/25', network_name: 'blue' }],
      [{ range: RANGE, enable_overlapping_ranges: false }, { range: '10.0.0.0/25' }],
    ]
    for (const networks of ranges) expect(oddities({ networks, pools: [oldPool(RANGE)] })).toEqual([])
    expect(oddities({ pools: [oldPool(RANGE), oldPool('10.0.0.0/25')] })).toEqual([])
  })
})

describe('the oddities of a row', () => {
  const one = (key: string, more: object = {}, rest: Partial<Given> = {}): Given => ({
    pools: [oldPool(RANGE, { [key]: row('p1', more) })],
    reservations: [r7],
    pods: [p1],
    ...rest,
  })
  test.each<readonly [string, Given, readonly string[]]>([
    ['a key that is no number', one('x', {}, { reservations: [] }), ['key-unreadable x']],
    ['a key outside of the range', one('256', {}, { reservations: [] }), ['!key-outside 256 10.0.1.0']],
    ['a key in another spelling', one('07'), ['key-spelling 07 10.0.0.7']],
    ['no id', one('7', { id: 7 }), ['!row-unreadable 7 10.0.0.7']],
    [
      'two rows of one address',
      { ...one('7'), pools: [oldPool(RANGE, { 7: row('p1'), '07': row('p2') })] },
      [
        'key-spelling 07 10.0.0.7',
        '!duplicate 7 10.0.0.7',
        '!duplicate 07 10.0.0.7',
        '!reserved-for-other 07 10.0.0.7',
        'no-pod 07 10.0.0.7',
      ],
    ],
    ['a claim', one('7', { ipamclaim: 'ns/c', ipamclaimuid: 'u' }), ['!claim 7 10.0.0.7']],
    ['no Pod', one('7', { podref: '' }), ['!row-texts 7 10.0.0.7']],
    ['an id that is too long', one('7', { id: 'c'.repeat(65) }), ['!row-texts 7 10.0.0.7']],
    ['an id with a blank', one('7', { id: 'c 1' }), ['!row-texts 7 10.0.0.7']],
    ['a Pod that does not exist', one('7', {}, { pods: [] }), ['no-pod 7 10.0.0.7']],
    ['a Pod without a status', one('7', {}, { pods: [pod('p1', undefined)] }), ['unreported 7 10.0.0.7']],
    ['a Pod with another address', one('7', {}, { pods: [pod('p1', ['net1=10.0.0.8'])] }), ['unreported 7 10.0.0.7']],
    ['a Pod with it for another interface', one('7', { ifname: 'net2' }), ['unreported 7 10.0.0.7']],
    [
      'no interface',
      one('7', { ifname: undefined }, { pods: [{ ...pod('p1', []), status: { podIPs: [{ ip: '10.0.0.7' }] } }] }),
      ['no-interface 7 10.0.0.7'],
    ],
    [
      'an address that is not given',
      one('7', {}, { networks: [{ range: RANGE, exclude: ['10.0.0.0/28'] }] }),
      ['not-given 7 10.0.0.7'],
    ],
    [
      'an address between the bounds',
      one('7', {}, { networks: [9, 19].map((n) => ({ range: RANGE, range_start: `10.0.0.${n}` })) }),
      ['not-given 7 10.0.0.7', '!ambiguous 7 10.0.0.7'],
    ],
    ['no reservation', one('7', {}, { reservations: [] }), ['no-reservation 7 10.0.0.7']],
    [
      'a reservation of another Pod',
      one('7', {}, { reservations: [reservation('10.0.0.7', 'p2')] }),
      ['!reserved-for-other 7 10.0.0.7'],
    ],
    [
      'a reservation without a row',
      one('7', {}, { reservations: [r7, reservation('10.0.0.8', 'p1')] }),
      ['!reservation-alone 10.0.0.8'],
    ],
    [
      'two rows of one interface',
      {
        ...one('7'),
        pools: [oldPool(RANGE, { 7: row('p1'), 8: row('p1') })],
        reservations: [r7, reservation('10.0.0.8', 'p1')],
        pods: [pod('p1', ['net1=10.0.0.7', 'net1=10.0.0.8'])],
      },
      ['!second-row 8 10.0.0.8'],
    ],
  ])('%s', (_, given, expected) => {
    expect(oddities(given)).toEqual(expected)
  })

  test('a reservation of no pool is named, and is no obstacle', () => {
    const others = [reservation('10.9.0.1', 'p1'), reservation('10.0.0.7', 'p1', 'blue')]
    const { pools, otherReservations } = plan(one('7', {}, { reservations: [r7, ...others] }))
    expect(pools[0]!.isReady).toBe(true)
    expect(otherReservations).toEqual(['10.9.0.1', 'blue-10.0.0.7'])
  })

  test('two spellings of one address of IPv6 are two reservations of it', () => {
    const spelled = {
      ...reservation('fd00::7', 'p2'),
      metadata: { name: 'fd00-0-0-0-0-0-0-7', namespace: 'kube-system' },
    }
    const given = {
      networks: [{ range: 'fd00::/64' }],
      pools: [oldPool('fd00::/64', { 7: row('p1') })],
      reservations: [reservation('fd00::7', 'p1'), spelled],
      pods: [pod('p1', ['net1=fd00::7'])],
    }
    expect(oddities(given)).toEqual(['!reserved-for-other 7 fd00::7'])
  })
})

test('an argument that is wrong is refused', () => {
  expect(() => planUpgrade({ networks: [], pools: [], reservations: [] } as never)).toThrow(/pods/)
})

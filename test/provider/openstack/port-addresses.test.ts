import { claimsFor, type ResolvedClaim } from 'ipam-kit/provider/consumer'
import { portAddresses } from 'ipam-kit/provider/openstack'
import { expect, test } from 'vitest'
import type { Resolution } from '../../../src/provider/consumer/resolution.js'
import { addressOf, claimOf, machine, poolRef } from '../consumer/world.js'

const subnets = [
  { id: 's4', cidr: '10.0.0.0/24' },
  { id: 's6', cidr: 'fd00::/64' },
]
const pool = poolRef('lab')

/** Claims of a machine: for each device the addresses of its claims. */
function claims(...devices: readonly (readonly (readonly [address: string, prefix?: number])[])[]): ResolvedClaim[] {
  const desired = claimsFor(
    machine(),
    devices.map((device) => ({ pools: device.map(() => pool) })),
    'capv',
  )
  return desired.map((each) => {
    const [address, prefix] = devices[each.deviceIndex]![each.poolIndex]!
    const claim = claimOf(each, { addressRef: each.name })
    const object = addressOf(each, { address, prefix })
    return { desired: each, resolution: { kind: 'bound', message: '', claim, address: object, annotations: {} } }
  })
}
const reasons = (given: readonly ResolvedClaim[], of = subnets) => {
  const got = portAddresses(given, of)
  return got.ok ? [] : got.problems.map(({ reason }) => reason)
}

test('each port has the addresses of its claims, of both families', () => {
  expect(
    portAddresses(
      claims(
        [
          ['10.0.0.5', 24],
          ['FD00:0::5', 64],
        ],
        [['10.0.0.6']],
      ),
      subnets,
    ),
  ).toEqual({
    ok: true,
    ports: [
      {
        deviceIndex: 0,
        fixed_ips: [
          { subnet_id: 's4', ip_address: '10.0.0.5' },
          { subnet_id: 's6', ip_address: 'fd00::5' },
        ],
      },
      { deviceIndex: 1, fixed_ips: [{ subnet_id: 's4', ip_address: '10.0.0.6' }] },
    ],
  })
})

test.each([
  [[['x', 24]], 'MalformedAddress'],
  [[['10.0.1.5', 24]], 'NoSubnet'],
  [[['10.0.0.0', 24]], 'NotAHost'],
  [[['10.0.0.255', 24]], 'NotAHost'],
  [[['fd00::', 64]], 'NotAHost'],
  [[['10.0.0.5', 25]], 'PrefixMismatch'],
  [
    [
      ['10.0.0.5', 24],
      ['10.0.0.5', 24],
    ],
    'DuplicateAddress',
  ],
] as const)('%j is refused: %s', (device, reason) => {
  expect(reasons(claims(device))).toEqual([reason])
})

test('an address in two subnets is refused, and so is a subnet that is none; a /31 and a /32 have hosts only', () => {
  expect(reasons(claims([['10.0.0.5', 24]]), [...subnets, { id: 'again', cidr: '10.0.0.0/16' }])).toEqual([
    'AmbiguousSubnet',
  ])
  expect(reasons([], [{ id: 'bad', cidr: '10.0.0.0' }])).toEqual(['MalformedSubnet'])
  expect(reasons(claims([['10.0.0.4', 31]], [['10.0.0.5', 31]]), [{ id: 'p2p', cidr: '10.0.0.4/31' }])).toEqual([])
})

test('all problems are reported at once, also of claims that have no address', () => {
  const [bound] = claims([['x', 24]])
  const waiting: Resolution = { kind: 'missing', message: 'IPAddressClaim default/vm-0-0 is not there' }
  const given = [bound!, { ...bound!, resolution: waiting }]
  expect(reasons(given, [...subnets, { id: 'bad', cidr: '' }])).toEqual([
    'MalformedSubnet',
    'MalformedAddress',
    'NotBound',
  ])
})

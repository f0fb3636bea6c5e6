import { Prefix } from 'ipam-kit/cidr'
import type { IPAddress } from 'ipam-kit/crd/cluster-api'
import {
  claimsFor,
  clusterPool,
  dnsServersOf,
  gatewayMetricOf,
  machineConfig,
  machineProblems,
  provisionedCondition,
  reportedAddresses,
  resolveClaims,
  withNetworkConfiguration,
} from 'ipam-kit/provider/consumer'
import { describe, expect, test } from 'vitest'
import { lacksAddressSource } from '../../../src/provider/consumer/address-source.js'
import type { PoolRequest } from '../../../src/provider/consumer/desired.js'
import type { MachineSpec } from '../../../src/provider/consumer/machine-admission.js'
import { addressOf, claimOf, machine, poolRef } from './world.js'

describe('a device lacks a source of addresses', () => {
  test.each([
    [{}, true],
    [{ dhcp4: false, dhcp6: null, ipAddrs: [], addressesFromPools: null }, true],
    [{ dhcp4: true }, false],
    [{ dhcp6: true }, false],
    [{ ipAddrs: ['10.0.0.5/24'] }, false],
    [{ addressesFromPools: [poolRef('a')] }, false],
    [{ skipIPAllocation: true }, false],
  ])('%j: %s', (device, lacks) => {
    expect(lacksAddressSource(device)).toBe(lacks)
  })

  test('and then the machine waits, before all else', () => {
    expect(provisionedCondition({ devices: [{ dhcp4: true }, {}], reportedAddresses: ['10.0.0.5'] })).toMatchObject({
      status: 'False',
      reason: 'WaitingForStaticIPAllocation',
    })
    const devices = [{ dhcp4: true }]
    expect(provisionedCondition({ devices })).toBeUndefined()
    expect(provisionedCondition({ devices, reportedAddresses: [] })?.reason).toBe('WaitingForIPAllocation')
    expect(provisionedCondition({ devices, reportedAddresses: ['10.0.0.5'] })).toMatchObject({ status: 'True' })
  })
})

test('a network configuration goes over a device where it says something', () => {
  const device = { networkName: 'a', dhcp4: true, pools: ['a'], nested: { a: 1 } }
  const configuration = { networkName: '', dhcp4: false, pools: [], nested: {}, dhcp6: undefined, mtu: 0, names: ['n'] }
  expect(withNetworkConfiguration(device, configuration)).toEqual({ ...device, dhcp4: false, mtu: 0, names: ['n'] })
})

describe('a change of a machine', () => {
  const spec = (ips: readonly string[], more: object = {}): MachineSpec => ({
    network: { devices: ips.map((ip) => ({ ipAddrs: [ip] })) },
    ...more,
  })
  const problems = (...[change]: Parameters<typeof machineProblems>) =>
    machineProblems(change).map(({ path, type }) => `${type} ${path}`)

  test('has CIDRs for addresses', () => {
    const bad = spec(['10.0.0.5/24', '10.0.0.6', '<nil>/32', 'fd00::1/129'])
    const at = (index: number) => `Invalid spec.network.devices[${index}].ipAddrs[0]`
    expect(problems({ kind: 'machine', spec: bad })).toEqual([at(1), at(2), at(3)])
    expect(problems({ kind: 'vm', spec: bad, oldSpec: spec([]) })).toEqual([at(1), at(2), at(3)])
    expect(problems({ kind: 'machine', spec: {} })).toEqual([])
  })

  test('is refused for the addresses that it adds, not for those that were there', () => {
    const before = spec(['10.0.0.6', '10.0.0.5/24'])
    expect(problems({ kind: 'vm', spec: before, oldSpec: before })).toEqual([])
    expect(problems({ kind: 'vm', spec: spec(['10.0.0.5/24', '10.0.0.6']), oldSpec: before })).toEqual([])
    const [again, other] = [spec(['10.0.0.6', '10.0.0.6']), spec(['10.0.0.6', '10.0.0.7'])]
    const added = ['Invalid spec.network.devices[1].ipAddrs[0]']
    expect(problems({ kind: 'machine', spec: again, oldSpec: before })).toEqual(added)
    expect(problems({ kind: 'machine', spec: other, oldSpec: before })).toEqual(added)
  })

  test('changes devices and a few other fields, and nothing else', () => {
    const [before, after] = [spec(['10.0.0.5/24'], { server: 'a' }), spec(['10.0.0.6/24'], { server: 'a' })]
    expect(problems({ kind: 'machine', spec: after, oldSpec: before })).toEqual([])
    expect(problems({ kind: 'machine', spec: { ...after, providerID: 'p' }, oldSpec: before })).toEqual([])
    expect(problems({ kind: 'vm', spec: { ...after, providerID: 'p' }, oldSpec: before })).toEqual(['Forbidden spec'])
    expect(problems({ kind: 'vm', spec: { ...after, bootstrapRef: { name: 'b' } }, oldSpec: before })).toEqual([])
    expect(problems({ kind: 'machine', spec: { ...after, server: 'b' }, oldSpec: before })).toEqual(['Forbidden spec'])
    const tags = (all: readonly string[]) => ({ ...after, network: { ...after.network, tags: all } })
    expect(problems({ kind: 'machine', spec: tags(['a']), oldSpec: tags(['a']) })).toEqual([])
    expect(problems({ kind: 'machine', spec: tags(['a']), oldSpec: tags(['a', 'b']) })).toEqual(['Forbidden spec'])
  })

  test('sets what was empty, once', () => {
    expect(problems({ kind: 'vm', spec: spec([], { os: 'Linux' }), oldSpec: spec([], { os: '' }) })).toEqual([])
    expect(problems({ kind: 'vm', spec: spec([], { os: 'Linux' }), oldSpec: spec([], { os: 'Windows' }) })).toEqual([
      'Forbidden spec',
    ])
  })

  test('leaves templates as they are, without addresses', () => {
    const template = (ips: readonly string[], more: object = {}) =>
      ({ kind: 'template', spec: spec(ips, more) }) as const
    expect(problems(template([]))).toEqual([])
    expect(problems(template(['10.0.0.5/24'], { providerID: 'p' }))).toEqual([
      'Forbidden spec.template.spec.providerID',
      'Forbidden spec.template.spec.network.devices.ipAddrs',
    ])
    const changed = { ...template([], { server: 'b' }), oldSpec: spec([], { server: 'a' }) }
    expect(problems(changed)).toEqual(['Invalid spec.template.spec'])
    expect(problems({ ...changed, isDryRun: true })).toEqual([])
    expect(problems({ ...template([], { server: 'a' }), oldSpec: spec([], { server: 'a' }) })).toEqual([])
  })
})

describe('the pool of a cluster', () => {
  const pool = (addresses: readonly string[], metric?: number | null) =>
    clusterPool({ cluster: 'blue', namespace: 'default', addresses, prefix: 64, metric })

  test('has the name of its family and a grace period', () => {
    expect(pool(['fd00::/64', 'fd00:1::1'])).toMatchObject({
      metadata: { name: 'blue-v6-icip', namespace: 'default' },
      spec: { addresses: ['fd00::/64', 'fd00:1::1'], prefix: 64, addressReuseGracePeriodSeconds: 60 },
    })
    expect(pool(['10.0.0.1']).metadata).toEqual({ name: 'blue-v4-icip', namespace: 'default' })
  })

  test('keeps the metric under both names, and empties it', () => {
    expect(gatewayMetricOf(pool(['10.0.0.1'], 123))).toBe(123)
    expect(pool(['10.0.0.1'], 123).metadata.annotations).toEqual({
      'ipam.capmox.cluster.x-k8s.io/gateway-metric': '123',
      metric: '123',
    })
    expect(gatewayMetricOf(pool(['10.0.0.1'], null))).toBeUndefined()
    expect(gatewayMetricOf(pool(['10.0.0.1']))).toBeUndefined()
    const odd = { ...pool(['10.0.0.1']), metadata: { name: 'p', annotations: { metric: '-1' } } }
    expect(() => gatewayMetricOf(odd)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  test.each([
    ['none', [], 'INVALID_ARGUMENT'],
    ['both families', ['10.0.0.1', 'fd00::1'], 'INVALID_ARGUMENT'],
    ['what is none', ['x'], 'MALFORMED_RANGE_SET_ENTRY'],
  ])('is refused for %s', (_, addresses, code) => {
    expect(() => pool(addresses)).toThrow(expect.objectContaining({ code }))
  })
})

describe('name servers of an address from a pool of metal3', () => {
  const ref = { apiGroup: 'ipam.metal3.io', kind: 'IPPool', name: 'p' }
  const dns = (text: string, pool: Parameters<typeof dnsServersOf>[2]) => {
    const found = dnsServersOf(ref, text, pool)
    return found.kind === 'found' ? found.servers : found.kind
  }

  test('are those of the entry that it lies in, else those of the pool', () => {
    const pools = [
      { start: 'x', subnet: '10.0.0.0/24', dnsServers: ['never'] },
      { start: '10.0.0.10', end: '10.0.0.20', subnet: '10.0.0.0/24', dnsServers: ['a'] },
      { start: '10.0.0.21', end: '10.0.0.30', dnsServers: [] },
      { start: '10.0.1.0', subnet: '10.0.1.0/25' },
    ]
    expect(dns('10.0.0.20', { pools, dnsServers: ['b'] })).toEqual(['a'])
    expect(dns('10.0.0.21', { pools, dnsServers: ['b'] })).toEqual(['b'])
    expect(dns('10.0.1.127', { pools })).toBe('none')
    for (const outside of ['10.0.0.9', '10.0.0.31', '10.0.1.128', 'fd00::1', 'x']) {
      expect(dns(outside, { pools, dnsServers: ['b'] }), outside).toBe('failed')
    }
  })

  test('are not looked for in a pool of another kind, and not found in one that is missing', () => {
    expect(dnsServersOf({ ...ref, kind: 'OtherPool' }, '10.0.0.1', undefined)).toEqual({ kind: 'none' })
    expect(dns('10.0.0.1', undefined)).toBe('failed')
    expect(dns('10.0.0.1', {})).toBe('failed')
  })

  test('are those of an entry that leaves a side open', () => {
    for (const [end, inside, outside] of [
      ['10.0.0.9', ['0.0.0.1', '10.0.0.1', '10.0.0.9'], ['10.0.0.10', 'fd00::1']],
      ['fd00::9', ['::1', 'fd00::9'], ['fd00::a', '10.0.0.1']],
    ] as const) {
      const pool = { pools: [{ end, dnsServers: ['a'] }] }
      for (const text of inside) expect(dns(text, pool), text).toEqual(['a'])
      for (const text of outside) expect(dns(text, pool), text).toBe('failed')
    }
    for (const open of [{}, { start: '', end: null, subnet: undefined }]) {
      for (const text of ['10.0.0.1', 'fd00::1']) {
        expect(dns(text, { pools: [{ ...open, dnsServers: ['a'] }], dnsServers: ['b'] })).toEqual(['a'])
        expect(dns(text, { pools: [open], dnsServers: ['b'] })).toEqual(['b'])
        expect(dns(text, { pools: [open] })).toBe('none')
      }
    }
    expect(dns('x', { pools: [{}] })).toBe('failed')
  })
})

describe('two devices of a machine with one MAC address', () => {
  const devices = claimsFor(machine(), [{ pools: [poolRef('a')] }, { pools: [poolRef('b')] }, { pools: [] }], 'capv')
  const claims = devices.map((each) => claimOf(each, { addressRef: each.name }))
  const addresses = devices.map((each, index) => addressOf(each, { address: `10.0.${index}.5` }))
  const resolved = resolveClaims(devices, claims, addresses)
  const configOf = (...macs: readonly string[]) =>
    machineConfig(
      macs.map((macAddress, index) => ({
        macAddress,
        claims: resolved.filter(({ desired }) => desired.deviceIndex === index),
      })),
    )

  test('are a problem, in whatever case it is written, and whichever has addresses', () => {
    for (const macs of [
      ['02:aa', '02:aa', '02:bb'],
      ['02:aa', '02:AA', '02:bb'],
      ['02:aa', '02:bb', '02:AA'],
    ]) {
      const config = configOf(...macs)
      expect(config.kind).toBe('invalid')
      if (config.kind !== 'invalid') continue
      const second = macs.findIndex((mac, index) => index > 0 && mac.toLowerCase() === '02:aa')
      expect(config.problems).toEqual([
        {
          code: 'DuplicateMacAddress',
          message: `devices 0 and ${second} have the same MAC address: "${macs[second]}"`,
          deviceIndex: second,
        },
      ])
      // the first one keeps what it has
      expect(config.partial.get('02:aa')?.addresses.map(Prefix.format)).toEqual(['10.0.0.5/24'])
    }
  })

  test('and other ones are none', () => {
    const config = configOf('02:aa', '02:bb', '02:cc')
    expect(config.kind === 'configured' && [...config.settings.keys()]).toEqual(['02:aa', '02:bb'])
  })
})

describe('the status of a machine', () => {
  const own = { annotations: { 'ipam.capmox.cluster.x-k8s.io/default-gateway': 'true' } }
  const pools: readonly PoolRequest[] = [{ ...poolRef('v4'), ...own }, { ...poolRef('v6'), ...own }, poolRef('extra')]
  const desired = claimsFor(machine(), [{ name: 'net0', pools }], 'proxmox')
  const claims = desired.map((each) => claimOf(each, { addressRef: each.name }))
  const addresses = ['10.0.0.5', 'fd00::5', '10.0.1.5'].map(
    (address, index): IPAddress => addressOf(desired[index]!, { address }),
  )
  const all = resolveClaims(desired, claims, addresses)

  test('lists addresses by device and family, and those of the cluster apart', () => {
    expect(Object.fromEntries(reportedAddresses(all))).toEqual({
      net0: { ipv4: ['10.0.0.5', '10.0.1.5'], ipv6: ['fd00::5'] },
      default: { ipv4: ['10.0.0.5'], ipv6: ['fd00::5'] },
    })
    const unreadable = resolveClaims(desired, claims, [addressOf(desired[0]!, { address: 'x' })])
    expect(reportedAddresses(unreadable).size).toBe(0)
  })

  test('is made anew of claims only when it is lost, and all of them are bound', () => {
    const current = new Map([['net0', { ipv4: ['10.9.9.9'], ipv6: [] }]])
    expect(reportedAddresses(all, { lastStatus: current })).toBe(current)
    expect(reportedAddresses(all, { lastStatus: new Map() }).get('net0')?.ipv4).toEqual(['10.0.0.5', '10.0.1.5'])
    expect(reportedAddresses(resolveClaims(desired, claims, addresses.slice(1)), { lastStatus: new Map() }).size).toBe(
      0,
    )
  })
})

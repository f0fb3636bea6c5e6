import { Address, Prefix } from 'ipam-kit/cidr'
import { type DeviceSettings, kernelArgs, netplan, networkConfig } from 'ipam-kit/provider/consumer'
import { describe, expect, test } from 'vitest'

const MAC = '02:00:00:00:00:01'
const settings: DeviceSettings = {
  addresses: [Prefix.parse('10.0.0.5/24'), Prefix.parse('fd00::5/64')],
  gateway4: Address.parse('10.0.0.1'),
  routes: [{ to: Prefix.parse('0.0.0.0/0'), via: Address.parse('10.0.0.1'), metric: 100 }],
}

describe('kernelArgs', () => {
  test('masks IPv4 at every length', () => {
    const maskOf = (text: string) => kernelArgs([{ addresses: [Prefix.parse(text)] }]).split(':')[3]
    expect([0, 1, 8, 23, 24, 31, 32].map((length) => maskOf(`10.0.0.5/${length}`))).toEqual([
      '0.0.0.0',
      '128.0.0.0',
      '255.0.0.0',
      '255.255.254.0',
      '255.255.255.0',
      '255.255.255.254',
      '255.255.255.255',
    ])
  })

  test('brackets IPv6, gives a gateway to its family only, and goes device by device', () => {
    const nameservers = [Address.parse('10.0.0.53'), Address.parse('fd00::53')]
    const { addresses, gateway4: gateway } = settings
    expect(
      kernelArgs([
        { addresses, gateway, nameservers },
        { addresses: [Prefix.parse('fd01::5/48')], gateway: Address.parse('fd01::1') },
      ]),
    ).toBe(
      'ip=10.0.0.5::10.0.0.1:255.255.255.0:::none ip=[fd00::5]:::64:::none nameserver=10.0.0.53 nameserver=[fd00::53] ip=[fd01::5]::[fd01::1]:48:::none',
    )
    expect(kernelArgs([])).toBe('')
  })
})

describe('networkConfig', () => {
  test('writes addresses and routes as text', () => {
    expect(networkConfig(MAC, settings)).toEqual({
      mac: MAC,
      addresses: ['10.0.0.5/24', 'fd00::5/64'],
      routes: [{ to: '0.0.0.0/0', via: '10.0.0.1', metric: 100 }],
    })
  })

  test.each([undefined, ''])('is none for a device without MAC address: %s', (mac) => {
    expect(networkConfig(mac, settings)).toBeUndefined()
  })
})

describe('netplan', () => {
  test('takes what pools say before what the spec says, and keeps the rest', () => {
    const device = {
      ...{ macAddress: MAC, deviceName: 'ens3', mtu: 9000, nameservers: ['1.1.1.1'], searchDomains: ['lab'] },
      ...{ ipAddrs: ['192.0.2.1/24'], gateway4: '192.0.2.254', gateway6: 'fd00::1' },
    }
    expect(netplan([device], new Map([[MAC, settings]])).network.ethernets.id0).toEqual({
      match: { macaddress: MAC },
      'set-name': 'ens3',
      wakeonlan: true,
      ...{ dhcp4: false, dhcp6: false, 'accept-ra': false },
      addresses: ['10.0.0.5/24', 'fd00::5/64'],
      ...{ gateway6: 'fd00::1', routes: [{ to: '0.0.0.0/0', via: '10.0.0.1', metric: 100 }], mtu: 9000 },
      nameservers: { addresses: ['1.1.1.1'], search: ['lab'] },
    })
    const without = netplan([device], new Map()).network.ethernets.id0
    expect(without).toMatchObject({ addresses: ['192.0.2.1/24'], gateway4: '192.0.2.254' })
    const bare = netplan([{ macAddress: MAC, nameservers: [] }], new Map()).network.ethernets.id0
    expect(Object.keys(bare ?? {})).toEqual(['match', 'set-name', 'wakeonlan', 'dhcp4', 'dhcp6', 'accept-ra'])
  })

  test('waits for DHCP, and for addresses whose subnet is not known', () => {
    const waits = (device: object) => netplan([{ macAddress: MAC, ...device }], new Map())['wait-on-network']
    expect(waits({})).toEqual({ ipv4: false, ipv6: false })
    expect(waits({ dhcp4: true })).toEqual({ ipv4: true, ipv6: false })
    expect(waits({ dhcp6: true })).toEqual({ ipv4: false, ipv6: true })
    expect(waits({ ipAddrs: ['192.0.2.1/24', 'fd00::1'] })).toEqual({ ipv4: false, ipv6: true })
    expect(netplan([{ macAddress: MAC }], new Map([[MAC, settings]]))['wait-on-network']).toEqual({
      ipv4: false,
      ipv6: false,
    })
  })

  test('a device with DHCPv6 accepts router advertisements', () => {
    const { id0, id1 } = netplan(
      [
        { macAddress: 'a', dhcp6: true },
        { macAddress: 'b', dhcp4: true },
      ],
      new Map(),
    ).network.ethernets
    expect([id0?.['accept-ra'], id1?.['accept-ra'], id1?.['set-name']]).toEqual([true, false, 'eth1'])
  })
})

describe('netplan keeps routes', () => {
  const gateway4 = Address.parse('10.0.0.1')
  const gateway6 = Address.parse('fd00::1')
  const all4 = Prefix.parse('0.0.0.0/0')
  const all6 = Prefix.parse('::/0')
  const ethernetOf = (own: Partial<DeviceSettings>, device: object = {}) => {
    const settings = new Map([[MAC, { addresses: [Prefix.parse('10.0.0.5/24')], routes: [], ...own }]])
    return netplan([{ macAddress: MAC, ...device }], settings).network.ethernets.id0
  }

  test('a gateway without a metric is a gateway, as upstream writes it', () => {
    const routes = [
      { to: all4, via: gateway4 },
      { to: all6, via: gateway6 },
    ]
    const ethernet = ethernetOf({ gateway4, gateway6, routes })
    expect(ethernet).toMatchObject({ gateway4: '10.0.0.1', gateway6: 'fd00::1' })
    expect(ethernet).not.toHaveProperty('routes')
  })

  test('a gateway with a metric is a default route with it, in either family', () => {
    const routes = [
      { to: all4, via: gateway4, metric: 100 },
      { to: all6, via: gateway6, metric: 0 },
    ]
    const ethernet = ethernetOf({ gateway4, gateway6, routes })
    expect(ethernet?.routes).toEqual([
      { to: '0.0.0.0/0', via: '10.0.0.1', metric: 100 },
      { to: '::/0', via: 'fd00::1', metric: 0 },
    ])
    expect(ethernet).not.toHaveProperty('gateway4')
    expect(ethernet).not.toHaveProperty('gateway6')
  })

  test('of one family only, where only that has one', () => {
    const routes = [
      { to: all4, via: gateway4 },
      { to: all6, via: gateway6, metric: 7 },
    ]
    const ethernet = ethernetOf({ gateway4, gateway6, routes })
    expect(ethernet).toMatchObject({ gateway4: '10.0.0.1', routes: [{ to: '::/0', via: 'fd00::1', metric: 7 }] })
    expect(ethernet).not.toHaveProperty('gateway6')
  })

  test('two gateways of a device are two default routes', () => {
    for (const [to, first, second] of [
      [all4, '10.0.0.1', '10.0.0.2'],
      [all6, 'fd00::1', 'fd00::2'],
    ] as const) {
      const routes = [first, second].map((via, index) => ({ to, via: Address.parse(via), metric: 100 * (index + 1) }))
      const [{ via }] = routes as [(typeof routes)[0]]
      const ethernet = ethernetOf({ [via.family === 4 ? 'gateway4' : 'gateway6']: via, routes })
      expect(ethernet?.routes).toEqual([
        { to: Prefix.format(to), via: first, metric: 100 },
        { to: Prefix.format(to), via: second, metric: 200 },
      ])
      expect(Object.keys(ethernet ?? {}).filter((key) => key.startsWith('gateway'))).toEqual([])
    }
  })

  test('two gateways of two devices keep theirs', () => {
    const [mac1, mac2] = [MAC, '02:00:00:00:00:02']
    const of = (metric: number): DeviceSettings => ({
      addresses: [Prefix.parse('10.0.0.5/24')],
      gateway4,
      routes: [{ to: all4, via: gateway4, metric }],
    })
    const plan = netplan(
      [{ macAddress: mac1 }, { macAddress: mac2 }],
      new Map([
        [mac1, of(100)],
        [mac2, of(200)],
      ]),
    )
    expect(Object.values(plan.network.ethernets).map(({ routes }) => routes?.[0]?.metric)).toEqual([100, 200])
  })

  test('static routes of pools and of the spec, those of the spec last', () => {
    const routes = [
      { to: all4, via: gateway4 },
      { to: Prefix.parse('10.9.0.0/16'), via: Address.parse('10.0.0.9') },
    ]
    const device = {
      routes: [
        { to: '192.0.2.0/24', via: '10.0.0.7', metric: 5 },
        { to: 'fd09::/64', via: 'fd00::9' },
      ],
    }
    expect(ethernetOf({ gateway4, routes }, device)).toMatchObject({
      gateway4: '10.0.0.1',
      routes: [
        { to: '10.9.0.0/16', via: '10.0.0.9' },
        { to: '192.0.2.0/24', via: '10.0.0.7', metric: 5 },
        { to: 'fd09::/64', via: 'fd00::9' },
      ],
    })
    const without = netplan([{ macAddress: MAC, ...device }], new Map()).network.ethernets.id0
    expect(without?.routes).toEqual(device.routes)
  })

  test('what DHCP may set', () => {
    const overrides = { hostname: 'web', routeMetric: 0, sendHostname: false, useDNS: false, useDomains: 'route' }
    const more = { useHostname: true, useMTU: true, useNTP: false, useRoutes: true }
    const device = {
      dhcp4: true,
      dhcp6: true,
      dhcp4Overrides: { ...overrides, ...more },
      dhcp6Overrides: { useDNS: true },
    }
    const ethernet = netplan([{ macAddress: MAC, ...device }], new Map()).network.ethernets.id0
    expect(ethernet?.['dhcp4-overrides']).toEqual({
      hostname: 'web',
      'route-metric': 0,
      'send-hostname': false,
      'use-dns': false,
      'use-domains': 'route',
      'use-hostname': true,
      'use-mtu': true,
      'use-ntp': false,
      'use-routes': true,
    })
    expect(ethernet?.['dhcp6-overrides']).toEqual({ 'use-dns': true })
    const empty = netplan([{ macAddress: MAC, dhcp4: true, dhcp4Overrides: {} }], new Map()).network.ethernets.id0
    expect(empty).not.toHaveProperty('dhcp4-overrides')
    expect(empty).not.toHaveProperty('dhcp6-overrides')
  })
})

describe('netplan tells devices apart by MAC address', () => {
  const mac = '02:00:00:aa:bb:cc'

  test('whatever the case of its letters', () => {
    for (const [inSpec, inSettings] of [
      [mac, mac.toUpperCase()],
      [mac.toUpperCase(), mac],
    ] as const) {
      const { id0 } = netplan([{ macAddress: inSpec }], new Map([[inSettings, settings]])).network.ethernets
      expect(id0).toMatchObject({ match: { macaddress: inSpec }, addresses: ['10.0.0.5/24', 'fd00::5/64'] })
    }
  })

  test('and refuses two of one, which would both get its addresses', () => {
    for (const other of [mac, mac.toUpperCase()]) {
      expect(() => netplan([{ macAddress: mac }, { macAddress: MAC }, { macAddress: other }], new Map())).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
    }
    expect(() => netplan([{ macAddress: '' }, { macAddress: '' }], new Map())).not.toThrow()
  })
})

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
      ...{ gateway4: '10.0.0.1', gateway6: 'fd00::1', mtu: 9000 },
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

import { Address } from 'ipam-kit/cidr'
import { readNetworkStatus, readPodNetworks } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'

describe('the network status of a Pod', () => {
  test('has its interfaces, with addresses by value', () => {
    const net1 = {
      name: 'lab/blue',
      interface: 'net1',
      ips: ['10.0.0.7', '2001:1b74:0480:0000:0000:0000:0000:0002'],
      mac: '02:00:00:00:00:07',
      mtu: 1500,
      gateway: [''],
      dns: {},
      'device-info': { type: 'pci' },
      later: 1,
    }
    const found = unwrap(readNetworkStatus(JSON.stringify([{ name: 'cbr0', default: true, dns: null }, net1])))
    expect(found).toEqual([
      { name: 'cbr0', isDefault: true, ips: [], gateway: [], stored: { name: 'cbr0', default: true } },
      {
        name: 'lab/blue',
        interface: 'net1',
        ips: [{ address: Address.parse('10.0.0.7') }, { address: Address.parse('2001:1b74:480::2') }],
        isDefault: false,
        mac: '02:00:00:00:00:07',
        mtu: 1500,
        gateway: [''],
        dns: {},
        deviceInfo: { type: 'pci' },
        stored: net1,
      },
    ])
    expect(unwrap(readNetworkStatus('[]'))).toEqual([])
  })

  test.each(['', 'this-wont-fly', '[{'])('%j is not JSON', (text) => {
    expect(readNetworkStatus(text)).toEqual({
      ok: false,
      failure: {
        code: 'MALFORMED_EMBEDDED_JSON',
        context: { what: 'annotation k8s.v1.cni.cncf.io/network-status', text },
      },
    })
  })

  test.each([
    ['{}', ''],
    ['[1]', '[0]'],
    ['[{"ips":["10.0.0.1"]},{"ips":["x"]}]', '[1].ips[0]'],
    ['[{"default":"true"}]', '[0].default'],
  ])('%s is refused in %j', (text, path) => {
    expect(readNetworkStatus(text)).toMatchObject({
      failure: { code: 'INVALID_OBJECT', context: { issues: [{ path }] } },
    })
  })
})

describe('the networks of a Pod of OVN-Kubernetes', () => {
  test('have addresses, a MAC address and a role', () => {
    const entry = {
      ip_addresses: ['10.128.20.8/24', 'fd01::8/64'],
      mac_address: '0a:58:0a:80:14:08',
      gateway_ips: ['10.128.20.1'],
      role: 'primary',
      tunnel_id: 3,
    }
    expect(unwrap(readPodNetworks(JSON.stringify({ default: entry })))).toEqual([
      {
        network: 'default',
        addresses: [
          { address: Address.parse('10.128.20.8'), prefixLength: 24 },
          { address: Address.parse('fd01::8'), prefixLength: 64 },
        ],
        isDHCP: false,
        mac: '0a:58:0a:80:14:08',
        role: 'primary',
        stored: entry,
      },
    ])
  })

  test('may wait for a lease of a DHCP server, and get its address later', () => {
    const text = (more: object) =>
      JSON.stringify({ 'lab/blue': { ipam_mode: 'dhcp', mac_address: '0a:58:0a:80:14:08', ...more } })
    expect(unwrap(readPodNetworks(text({})))).toMatchObject([{ network: 'lab/blue', isDHCP: true, addresses: [] }])
    expect(unwrap(readPodNetworks(text({ ip_addresses: ['10.0.0.7/24'] })))).toMatchObject([
      { isDHCP: true, addresses: [{ prefixLength: 24 }] },
    ])
  })

  test('are read in the old form with one address', () => {
    expect(unwrap(readPodNetworks('{"default":{"ip_address":"10.0.0.7/24"}}'))).toMatchObject([
      { addresses: [{ address: Address.parse('10.0.0.7') }] },
    ])
  })

  test.each([
    ['{"default":{"ip_addresses":["10.0.0.300/24"]}}', 'default.ip_addresses[0]'],
    ['{"default":{"mac_address":"x"}}', 'default.mac_address'],
    ['[]', ''],
  ])('%s is refused in %j', (text, path) => {
    expect(readPodNetworks(text)).toMatchObject({
      failure: { code: 'INVALID_OBJECT', context: { issues: [{ path }] } },
    })
  })

  test('a text that is not JSON is refused', () => {
    expect(readPodNetworks('x')).toMatchObject({ failure: { code: 'MALFORMED_EMBEDDED_JSON' } })
  })
})

import { Address } from 'ipam-kit/cidr'
import { unwrap } from 'ipam-kit/errors'
import { type GuestInterface, guestNetwork, readGuestSettings } from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { nadOf, ovn } from './definitions.js'

const PRIMARY = ovn({ role: 'primary', subnets: '10.0.0.0/24,fd00::/64', allowPersistentIPs: true, mtu: 1400 })
const MACVLAN = {
  name: 'lan',
  type: 'macvlan',
  allowPersistentIPs: true,
  dns: { nameservers: ['192.168.0.53'], search: ['shop.example'] },
  ipam: { type: 'whereabouts', gateway: '192.168.0.1', routes: [{ dst: '10.9.0.0/16' }, { dst: '0.0.0.0/0' }] },
}

function settingsOf(config: object) {
  return unwrap(readGuestSettings(nadOf(config)))
}

function guest(network: string, config: object, ips: readonly string[], number = 1): GuestInterface {
  const settings = settingsOf(config)
  const claim = {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { namespace: 'ns1', name: `vm.${network}` },
    spec: { network: settings.definition.name, interface: '' },
    status: { ips },
  }
  return { network, mac: `02:00:00:00:00:0${number}`, claim, settings }
}

function reasons(interfaces: readonly GuestInterface[]): readonly string[] {
  const data = guestNetwork(interfaces)
  return data.kind === 'refused' ? data.problems.map(({ network, reason }) => `${network} ${reason}`) : []
}

describe('settings of a network', () => {
  test('a primary network of layer2 has the first addresses as gateways, unless it names others', () => {
    expect(settingsOf(PRIMARY).gateways.map(Address.format)).toEqual(['10.0.0.1', 'fd00::1'])
    const named = settingsOf({ ...PRIMARY, defaultGatewayIPs: '10.0.0.9, fd00::9' })
    expect(named.gateways.map(Address.format)).toEqual(['10.0.0.9', 'fd00::9'])
    expect(settingsOf(ovn()).gateways).toEqual([])
  })

  test('the gateway of another network is no default route by itself', () => {
    const without = { ...MACVLAN, ipam: { gateway: '192.168.0.1' } }
    expect(settingsOf(without).gateways).toEqual([])
    expect(settingsOf(MACVLAN).gateways.map(Address.format)).toEqual(['192.168.0.1'])
  })

  test.each([
    ['a gateway that is no address', { ...PRIMARY, defaultGatewayIPs: 'x' }, 'defaultGatewayIPs: "x" is no address'],
    ['a route without gateway', { ...MACVLAN, ipam: { routes: [{ dst: '10.9.0.0/16' }] } }, 'has no gateway'],
    [
      'a route of two families',
      { ...MACVLAN, ipam: { routes: [{ dst: '::/0', gw: '10.0.0.1' }] } },
      '::/0 via 10.0.0.1',
    ],
    ['routes that are no list', { ...MACVLAN, ipam: { routes: {} } }, 'expected a list'],
    ['a name server that is no address', { ...MACVLAN, dns: { nameservers: ['dns'] } }, '"dns" is no address'],
    ['DNS that is a text', { ...MACVLAN, dns: 'x' }, 'dns: expected an object'],
  ])('%s is refused', (_, config, sentence) => {
    const read = readGuestSettings(nadOf(config))
    expect(!read.ok && read.failure.context.problem).toContain(sentence)
  })
})

describe('the data of a guest', () => {
  test('a machine with two networks has one default route of each family, in the primary one', () => {
    const data = guestNetwork([
      guest('lan', MACVLAN, ['192.168.0.7/24'], 1),
      guest('net', PRIMARY, ['10.0.0.7/24', 'fd00::7'], 2),
    ])
    if (data.kind === 'refused') throw new Error('refused')
    expect(data.data.ethernets).toEqual({
      id0: expect.objectContaining({
        match: { macaddress: '02:00:00:00:00:01' },
        addresses: ['192.168.0.7/24'],
        routes: [{ to: '10.9.0.0/16', via: '192.168.0.1' }],
        nameservers: { addresses: ['192.168.0.53'], search: ['shop.example'] },
      }),
      id1: expect.objectContaining({
        addresses: ['10.0.0.7/24', 'fd00::7/64'],
        gateway4: '10.0.0.1',
        gateway6: 'fd00::1',
        mtu: 1400,
      }),
    })
    expect(data.data.ethernets.id0).not.toHaveProperty('gateway4')
    expect(data.defaultRoutes.map(({ family, kind }) => [family, kind])).toEqual([
      [4, 'route'],
      [6, 'route'],
    ])
  })

  test('of two networks with gateways the option names one', () => {
    const interfaces = [
      guest('a', MACVLAN, ['192.168.0.7/24'], 1),
      guest('b', { ...MACVLAN, ipam: { routes: [{ dst: '0.0.0.0/0', gw: '192.168.0.2' }] } }, ['192.168.0.8/24'], 2),
    ]
    const open = guestNetwork(interfaces)
    expect(open).toMatchObject({ defaultRoutes: [{ family: 4, kind: 'none', reason: 'SeveralGateways' }] })
    expect(JSON.stringify(open)).not.toContain('gateway4')
    const chosen = guestNetwork(interfaces, { defaultRoute: 'b' })
    expect(chosen).toMatchObject({ defaultRoutes: [{ kind: 'route', network: 'b' }] })
    expect(chosen).toMatchObject({ data: { ethernets: { id1: { gateway4: '192.168.0.2' } } } })
    expect(() => guestNetwork(interfaces, { defaultRoute: 'c' })).toThrow('a network of the guest')
  })

  test('a guest that is the gateway itself has no default route', () => {
    const data = guestNetwork([guest('lan', MACVLAN, ['192.168.0.1/24'])])
    expect(data).toMatchObject({ defaultRoutes: [{ family: 4, kind: 'none', reason: 'NoGateway' }] })
  })

  test('each interface that cannot be configured is named with its reason', () => {
    const right = guest('right', MACVLAN, ['192.168.0.7/24'])
    const claim = { ...right.claim, spec: { network: 'other', interface: '' } }
    expect(
      reasons([
        guest('new', MACVLAN, [], 2),
        guest('text', MACVLAN, ['x'], 3),
        guest('twice', MACVLAN, ['192.168.0.7/24', '192.168.0.7/24'], 4),
        { ...right, network: 'moved', mac: '02:00:00:00:00:05', claim },
        { ...right, network: 'mac', mac: '02:00' },
        right,
        { ...right, mac: '02:00:00:00:00:06' },
        { ...right, network: 'same' },
      ]),
    ).toEqual([
      'new NoAddresses',
      'text InvalidClaim',
      'twice InvalidClaim',
      'moved NetworkMismatch',
      'mac InvalidMAC',
      'right DuplicateNetwork',
      'same DuplicateMAC',
    ])
  })
})

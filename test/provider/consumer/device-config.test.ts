import { Address, Prefix } from 'ipam-kit/cidr'
import {
  claimsFor,
  type DesiredClaim,
  deviceConfig,
  type MachineDevice,
  machineAddresses,
  machineConfig,
  type ResolvedClaim,
  resolveClaims,
} from 'ipam-kit/provider/consumer'
import { describe, expect, test } from 'vitest'
import type { DeviceConfig } from '../../../src/provider/consumer/device-config.js'
import { type AddressParts, addressOf, claimOf, machine, poolRef } from './world.js'

const [desired] = claimsFor(machine(), [{ pools: [poolRef('lab')] }], 'capv') as [DesiredClaim]

function address(text: string, parts: AddressParts = {}) {
  const [ip, prefix] = text.split('/') as [string, string?]
  return addressOf(desired, { address: ip, prefix: prefix === undefined ? undefined : Number(prefix), ...parts })
}

function textOf(config: DeviceConfig) {
  const { addresses, gateway4, gateway6, routes } = config.kind === 'configured' ? config : config.partial
  return {
    addresses: addresses.map(Prefix.format),
    gateway4: gateway4 && Address.format(gateway4),
    gateway6: gateway6 && Address.format(gateway6),
    routes: routes.map(({ to, via, metric }) => [Prefix.format(to), Address.format(via), metric]),
  }
}

function messagesOf(config: DeviceConfig) {
  return config.kind === 'invalid' ? config.problems.map(({ message }) => message) : []
}

describe('a device is set up with', () => {
  test('addresses of both families, one gateway for each, and a default route to it', () => {
    const config = deviceConfig({ index: 0 }, [
      address('10.0.0.5/24', { gateway: '10.0.0.1' }),
      address('10.0.1.5/30', { gateway: '10.0.0.1' }),
      address('fd00::5/64', { gateway: 'fd00::1' }),
    ])
    expect(config.kind).toBe('configured')
    expect(textOf(config)).toEqual({
      addresses: ['10.0.0.5/24', '10.0.1.5/30', 'fd00::5/64'],
      gateway4: '10.0.0.1',
      gateway6: 'fd00::1',
      routes: [
        ['0.0.0.0/0', '10.0.0.1', undefined],
        ['::/0', 'fd00::1', undefined],
      ],
    })
  })

  test('the metric that the caller knows', () => {
    const config = deviceConfig({ index: 0 }, [address('10.0.0.5/24', { gateway: '10.0.0.1' })], {
      metricOf: () => 100,
    })
    expect(textOf(config).routes).toEqual([['0.0.0.0/0', '10.0.0.1', 100]])
  })

  test.each([
    [4, '10.0.0.5/24', '10.0.0.1', '10.0.1.5/24', '10.0.1.1'],
    [6, 'fd00::5/64', 'fd00::1', 'fd01::5/64', 'fd01::1'],
  ] as const)('two gateways of IPv%i, where each has a metric of its own', (family, one, via1, other, via2) => {
    const addresses = [
      address(one, { gateway: via1 }),
      address(other, { gateway: via2 }),
      address(one.replace('5/', '6/'), { gateway: via1 }),
    ]
    const configOf = (...metrics: (number | undefined)[]) =>
      deviceConfig({ index: 0 }, addresses, { metricOf: (each) => metrics[addresses.indexOf(each)] })
    const config = configOf(200, 100, 200)
    const to = family === 4 ? '0.0.0.0/0' : '::/0'
    expect(textOf(config).routes).toEqual([
      [to, via1, 200],
      [to, via2, 100],
    ])
    // the one that is preferred, for a renderer that knows but one
    expect(textOf(config)[`gateway${family}`]).toBe(via2)
    for (const metrics of [[], [100], [undefined, 100], [100, 100]]) {
      expect(configOf(...metrics)).toMatchObject({ kind: 'invalid', problems: [{ code: 'GatewaysDiffer' }] })
    }
  })

  test('no gateway, where none is given', () => {
    const config = deviceConfig({ index: 0 }, [address('10.0.0.5/24'), address('fd00::5/64', { gateway: '' })])
    expect(config).not.toHaveProperty('gateway4')
    expect(config).toMatchObject({ kind: 'configured', routes: [] })
  })

  test('gateways that are spelt in two ways', () => {
    const config = deviceConfig({ index: 0, gateway6: 'FD00:0:0:0:0:0:0:1' }, [
      address('fd00::5/64', { gateway: 'fd00::1' }),
      address('fd00::6/64', { gateway: 'fd00:0::1' }),
    ])
    expect(config).toMatchObject({ kind: 'configured' })
  })

  test('a prefix of 0 only where that is asked for', () => {
    const bare = address('10.0.0.5')
    expect(textOf(deviceConfig({ index: 0 }, [bare], { lax: true })).addresses).toEqual(['10.0.0.5/0'])
    for (const each of [bare, address('10.0.0.5/0')]) {
      expect(messagesOf(deviceConfig({ index: 0 }, [each]))).toEqual([
        'IPAddress default/vm-0-0 has invalid ip address: "10.0.0.5/0"',
      ])
    }
  })
})

describe('it is refused', () => {
  test.each<[string, Parameters<typeof deviceConfig>, string]>([
    [
      'an address that is none',
      [{ index: 0 }, [address('/24')]],
      'IPAddress default/vm-0-0 has invalid ip address: "/24"',
    ],
    [
      'with a zone',
      [{ index: 0 }, [address('fe80::1%eth0/64')]],
      'IPAddress default/vm-0-0 has invalid ip address: "fe80::1%eth0/64"',
    ],
    [
      'a prefix that is too long',
      [{ index: 0 }, [address('10.0.0.5/33')]],
      'IPAddress default/vm-0-0 has invalid ip address: "10.0.0.5/33"',
    ],
    [
      'an address twice',
      [{ index: 0 }, [address('fd00::5/64'), address('fd00:0::5/64')]],
      'IPAddress default/vm-0-0 is a duplicate of another address: "fd00::5/64"',
    ],
    [
      'a gateway that is none',
      [{ index: 0 }, [address('10.0.0.5/24', { gateway: 'none' })]],
      'IPAddress default/vm-0-0 has invalid gateway: "none"',
    ],
    [
      'a gateway of the other family',
      [{ index: 0 }, [address('10.0.0.5/24', { gateway: 'fd00::1' })]],
      'IPAddress default/vm-0-0 has mismatched gateway and address IP families',
    ],
    [
      'another gateway than that of the device',
      [{ index: 2, gateway4: '10.0.0.2' }, [address('10.0.0.5/24', { gateway: '10.0.0.1' })]],
      'the IPv4 Gateway for IPAddress vm-0-0 does not match the Gateway4 already configured on device (index 2)',
    ],
    [
      'and a gateway of the device that is none',
      [{ index: 0, gateway6: 'none' }, [address('fd00::5/64', { gateway: 'fd00::1' })]],
      'the IPv6 Gateway for IPAddress vm-0-0 does not match the Gateway6 already configured on device (index 0)',
    ],
    [
      'two gateways of one family',
      [{ index: 1 }, [address('fd00::5/64', { gateway: 'fd00::1' }), address('fd00::6/64', { gateway: 'fd00::2' })]],
      'the IPv6 IPAddresses assigned to the same device (index 1) do not have the same gateway',
    ],
  ])('%s', (_, [device, addresses], message) => {
    expect(messagesOf(deviceConfig(device, addresses))).toEqual([message])
  })
})

describe('the devices of a machine', () => {
  const wanted = claimsFor(machine(), [{ pools: [poolRef('a')] }, { pools: [] }, { pools: [poolRef('b')] }], 'capv')
  const resolved = (parts: readonly AddressParts[]) => {
    const claims = wanted.map((each) => claimOf(each, { addressRef: each.name }))
    const addresses = wanted.flatMap((each, index) =>
      parts[index] === undefined ? [] : [addressOf(each, parts[index])],
    )
    return resolveClaims(wanted, claims, addresses)
  }
  const devicesOf = (claims: readonly ResolvedClaim[], macs: readonly string[] = ['a', 'b', 'c']): MachineDevice[] =>
    [0, 1, 2].map((index) => ({
      macAddress: macs[index],
      claims: claims.filter(({ desired }) => desired.deviceIndex === index),
    }))
  const good = resolved([{ address: '10.0.0.5' }, { address: '10.0.1.5' }])

  test('are set up by MAC address, and those without pools have no entry', () => {
    const config = machineConfig(devicesOf(good))
    expect(config.kind === 'configured' && [...config.settings.keys()]).toEqual(['a', 'c'])
  })

  test('wait for a MAC address, whether they have pools or not, and for every claim', () => {
    const message = 'waiting for devices to have MAC address set'
    expect(machineConfig(devicesOf(good, ['a', '', 'c']))).toEqual({ kind: 'waiting', for: 'mac-address', message })
    expect(machineAddresses(devicesOf(good, ['a', 'b'])).kind).toBe('waiting')
    const unbound = machineConfig(devicesOf(resolved([{}])))
    expect(unbound).toMatchObject({ for: 'claims', message: 'waiting for IP address claims to be bound' })
  })

  test('tell all that is wrong with any of them, and keep what is right', () => {
    const config = machineConfig(devicesOf(resolved([{ gateway: 'x' }, { address: 'y' }])))
    expect(config.kind === 'invalid' && config.problems.map(({ code }) => code)).toEqual([
      'InvalidGateway',
      'InvalidAddress',
    ])
    const half = machineConfig(devicesOf(resolved([{ gateway: 'x' }, {}])))
    expect(half.kind === 'invalid' && [...half.partial.keys()]).toEqual(['c'])
  })
})

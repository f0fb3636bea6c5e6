import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import type { DeviceSettings } from './device-config.js'
import type { SettingsByMac } from './machine-config.js'

/** A route as network configurations write it. */
export interface RouteText {
  /** A CIDR; the default route is `0.0.0.0/0` or `::/0`. */
  readonly to: string
  readonly via: string
  readonly metric?: number | undefined
}

/** A device as network configurations write it. */
export interface DeviceText {
  readonly mac: string
  readonly addresses: readonly string[]
  readonly routes: readonly RouteText[]
}

/**
 * The settings of a device as the text of a network configuration. `undefined` without a MAC address: the guest could not tell which device is meant. O(n).
 *
 * Source: cluster-api-provider-proxmox, internal/service/vmservice/bootstrap.go.
 *
 * @example
 * const settings = { addresses: [Prefix.parse('10.0.0.5/24')], routes: [{ to: Prefix.parse('0.0.0.0/0'), via: Address.parse('10.0.0.1') }] }
 * networkConfig('02:00:00:00:00:01', settings).routes // [{ to: '0.0.0.0/0', via: '10.0.0.1' }]
 */
export function networkConfig(mac: string | undefined, settings: DeviceSettings): DeviceText | undefined {
  if (mac === undefined || mac === '') return undefined
  return {
    mac,
    addresses: settings.addresses.map(Prefix.format),
    routes: settings.routes.map(({ to, via, metric }) => ({
      to: Prefix.format(to),
      via: Address.format(via),
      ...(metric === undefined ? {} : { metric }),
    })),
  }
}

/** What of a device netplan is told besides its addresses from pools. */
export interface NetplanDevice {
  readonly macAddress: string
  /** The name of the interface in the guest. Left out: `eth` and the index. */
  readonly deviceName?: string | undefined
  readonly dhcp4?: boolean | undefined
  readonly dhcp6?: boolean | undefined
  /** Addresses that are written in the spec. Those of pools take their place. */
  readonly ipAddrs?: readonly string[] | undefined
  readonly gateway4?: string | undefined
  readonly gateway6?: string | undefined
  readonly mtu?: number | undefined
  readonly nameservers?: readonly string[] | undefined
  readonly searchDomains?: readonly string[] | undefined
}

/** One entry of `ethernets` of netplan, version 2. */
export interface NetplanEthernet {
  readonly match: { readonly macaddress: string }
  readonly 'set-name': string
  readonly wakeonlan: true
  readonly dhcp4: boolean
  readonly dhcp6: boolean
  readonly 'accept-ra': boolean
  readonly addresses?: readonly string[]
  readonly gateway4?: string
  readonly gateway6?: string
  readonly mtu?: number
  readonly nameservers?: { readonly addresses?: readonly string[]; readonly search?: readonly string[] }
}

/** The part of the metadata of a machine that is about its network, as JSON, which is YAML. */
export interface Netplan {
  /** Whether the guest waits for an address of the family: where a DHCP server gives it one. */
  readonly 'wait-on-network': { readonly ipv4: boolean; readonly ipv6: boolean }
  readonly network: { readonly version: 2; readonly ethernets: { readonly [id: string]: NetplanEthernet } }
}

/**
 * What cloud-init is told of the network: each device by its MAC address, `id0`, `id1` and so on. Addresses of pools take the place of those in the spec; a
 * gateway in the spec stays where the pools have none. O(devices).
 *
 * Source: `GetMachineMetadata` of cluster-api-provider-vsphere. There a gateway of the spec is lost where the pools have none. As there, a device without
 * DHCPv6 does not accept router advertisements.
 *
 * @example
 * const settings = { addresses: [Prefix.parse('10.0.0.5/24')], gateway4: Address.parse('10.0.0.1'), routes: [] }
 * const plan = netplan([{ macAddress: '02:00:00:00:00:01' }], new Map([['02:00:00:00:00:01', settings]]))
 * plan.network.ethernets.id0.gateway4 // '10.0.0.1'
 */
export function netplan(devices: readonly NetplanDevice[], settings: SettingsByMac): Netplan {
  const waitsFor = (family: 4 | 6) =>
    devices.some(
      (device) => device[`dhcp${family}`] === true || (device.ipAddrs ?? []).some((ip) => isBare(ip, family)),
    )
  const ethernets = devices.map((device, index) => [`id${index}`, ethernetOf(device, index, settings)] as const)
  return {
    'wait-on-network': { ipv4: waitsFor(4), ipv6: waitsFor(6) },
    network: { version: 2, ethernets: Object.fromEntries(ethernets) },
  }
}

function ethernetOf(device: NetplanDevice, index: number, settings: SettingsByMac): NetplanEthernet {
  const { macAddress, deviceName, dhcp4 = false, dhcp6 = false, mtu, nameservers = [], searchDomains = [] } = device
  const own = settings.get(macAddress)
  const addresses = own === undefined ? (device.ipAddrs ?? []) : own.addresses.map(Prefix.format)
  const gateway4 = own?.gateway4 === undefined ? device.gateway4 : Address.format(own.gateway4)
  const gateway6 = own?.gateway6 === undefined ? device.gateway6 : Address.format(own.gateway6)
  const hasNames = nameservers.length + searchDomains.length > 0
  return {
    match: { macaddress: macAddress },
    'set-name': deviceName || `eth${index}`,
    wakeonlan: true,
    dhcp4,
    dhcp6,
    'accept-ra': dhcp6,
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(gateway4 ? { gateway4 } : {}),
    ...(gateway6 ? { gateway6 } : {}),
    ...(mtu ? { mtu } : {}),
    ...(hasNames
      ? {
          nameservers: {
            ...(nameservers.length === 0 ? {} : { addresses: nameservers }),
            ...(searchDomains.length === 0 ? {} : { search: searchDomains }),
          },
        }
      : {}),
  }
}

/** Whether a text is an address of a family without a length: one that the guest has to find the subnet of. */
function isBare(text: string, family: 4 | 6): boolean {
  const parsed = Address.safeParse(text)
  return parsed.ok && parsed.value.family === family
}

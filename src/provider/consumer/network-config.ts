import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { check, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { DeviceSettings, Route } from './device-config.js'
import { macKey, type SettingsByMac, sharedMac } from './machine-config.js'

/** A route in a network configuration. */
export interface RouteText {
  /** A CIDR; the default route is `0.0.0.0/0` or `::/0`. */
  readonly to: string
  readonly via: string
  readonly metric?: number | undefined
}

/** A device in a network configuration. */
export interface DeviceText {
  readonly mac: string
  readonly addresses: readonly string[]
  readonly routes: readonly RouteText[]
}

/**
 * The settings of a device as texts for a network configuration. `undefined` without a MAC address:
 * the guest could not identify the device. O(n).
 *
 * Source: cluster-api-provider-proxmox, internal/service/vmservice/bootstrap.go.
 *
 * @example
 * const settings = { addresses: [Prefix.parse('10.0.0.5/24')], routes: [{ to: Prefix.parse('0.0.0.0/0'), via: Address.parse('10.0.0.1') }] }
 * networkConfig('02:00:00:00:00:01', settings).routes // [{ to: '0.0.0.0/0', via: '10.0.0.1' }]
 */
export function networkConfig(mac: string | undefined, settings: DeviceSettings): DeviceText | undefined {
  if (mac !== undefined) check('networkConfig', 'mac', mac, 'text')
  check('networkConfig', 'settings', settings, ['open', { addresses: ['list', 'object'], routes: ['list', 'object'] }])

  if (mac === undefined || mac === '') return undefined
  return { mac, addresses: settings.addresses.map(Prefix.format), routes: settings.routes.map(routeText) }
}

function routeText({ to, via, metric }: Route): RouteText {
  return { to: Prefix.format(to), via: Address.format(via), ...(metric === undefined ? {} : { metric }) }
}

/**
 * What a device uses of the answer of a DHCP server, and what it sends. Left out: the default of
 * the guest.
 */
export interface DhcpOverrides {
  readonly hostname?: string | undefined
  readonly routeMetric?: number | undefined
  readonly sendHostname?: boolean | undefined
  readonly useDNS?: boolean | undefined
  /** `true`, `false` or `route`. */
  readonly useDomains?: boolean | string | undefined
  readonly useHostname?: boolean | undefined
  readonly useMTU?: boolean | undefined
  readonly useNTP?: boolean | undefined
  readonly useRoutes?: boolean | string | undefined
}

/** The names in netplan. */
const OVERRIDES: { readonly [Field in keyof DhcpOverrides]-?: string } = {
  hostname: 'hostname',
  routeMetric: 'route-metric',
  sendHostname: 'send-hostname',
  useDNS: 'use-dns',
  useDomains: 'use-domains',
  useHostname: 'use-hostname',
  useMTU: 'use-mtu',
  useNTP: 'use-ntp',
  useRoutes: 'use-routes',
}

/** The fields of a device for netplan besides its addresses from pools. */
export interface NetplanDevice {
  readonly macAddress: string
  /** The name of the interface in the guest. Left out: `eth` and the index. */
  readonly deviceName?: string | undefined
  readonly dhcp4?: boolean | undefined
  readonly dhcp6?: boolean | undefined
  /** Addresses in the spec. Addresses from pools replace them. */
  readonly ipAddrs?: readonly string[] | undefined
  readonly gateway4?: string | undefined
  readonly gateway6?: string | undefined
  /** Static routes in the spec, in addition to those of pools. */
  readonly routes?: readonly RouteText[] | undefined
  readonly dhcp4Overrides?: DhcpOverrides | undefined
  readonly dhcp6Overrides?: DhcpOverrides | undefined
  readonly mtu?: number | undefined
  readonly nameservers?: readonly string[] | undefined
  readonly searchDomains?: readonly string[] | undefined
}

const NETPLAN_DEVICE: KindOf<NetplanDevice> = [
  'open',
  {
    macAddress: 'text',
    ipAddrs: ['list?', 'text'],
    routes: ['list?', 'object'],
    dhcp4Overrides: 'object?',
    dhcp6Overrides: 'object?',
    nameservers: ['list?', 'text'],
    searchDomains: ['list?', 'text'],
  },
]

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
  readonly routes?: readonly RouteText[]
  /** By their names in netplan, for example `use-dns`. */
  readonly 'dhcp4-overrides'?: { readonly [name: string]: string | number | boolean }
  readonly 'dhcp6-overrides'?: { readonly [name: string]: string | number | boolean }
  readonly mtu?: number
  readonly nameservers?: { readonly addresses?: readonly string[]; readonly search?: readonly string[] }
}

/** The network part of the metadata of a machine, as JSON, which is valid YAML. */
export interface Netplan {
  /** Whether the guest waits for an address of the family from a DHCP server. */
  readonly 'wait-on-network': { readonly ipv4: boolean; readonly ipv6: boolean }
  readonly network: { readonly version: 2; readonly ethernets: { readonly [id: string]: NetplanEthernet } }
}

/**
 * The network configuration for cloud-init: each device by its MAC address, `id0`, `id1` and so on.
 * O(devices).
 *
 * - Addresses from pools replace those in the spec; a gateway in the spec stays if the pools have
 *   none.
 * - A gateway with a metric becomes a default route with that metric, because `gateway4` cannot
 *   have one. Several gateways of one family become default routes too.
 *
 * Source: `GetMachineMetadata` of cluster-api-provider-vsphere. Upstream drops a gateway of the
 * spec if the pools have none. As upstream, a device without DHCPv6 does not accept router
 * advertisements.
 *
 * @param settings by MAC address, in upper or lower case
 * @throws IpamError `INVALID_ARGUMENT` for two devices with one MAC address: both would get its
 * addresses
 *
 * @example
 * const settings = { addresses: [Prefix.parse('10.0.0.5/24')], gateway4: Address.parse('10.0.0.1'), routes: [] }
 * const plan = netplan([{ macAddress: '02:00:00:00:00:01' }], new Map([['02:00:00:00:00:01', settings]]))
 * plan.network.ethernets.id0.gateway4 // '10.0.0.1'
 */
export function netplan(devices: readonly NetplanDevice[], settings: SettingsByMac): Netplan {
  check('netplan', 'devices', devices, ['list', NETPLAN_DEVICE])
  check('netplan', 'settings', settings, 'iterable')

  const isWaiting = (device: NetplanDevice, family: 4 | 6) =>
    device[`dhcp${family}`] === true || (device.ipAddrs ?? []).some((ip) => isBare(ip, family))
  const waitsFor = (family: 4 | 6) => devices.some((device) => isWaiting(device, family))
  const shared = sharedMac(devices)
  if (shared !== undefined) refuse('netplan', 'devices', 'each device with a MAC address of its own', shared.macAddress)
  const byKey = new Map([...settings].map(([mac, own]) => [macKey(mac), own]))
  const ethernets = devices.map((device, index) => {
    return [`id${index}`, ethernetOf(device, index, byKey.get(macKey(device.macAddress)))] as const
  })
  return {
    'wait-on-network': { ipv4: waitsFor(4), ipv6: waitsFor(6) },
    network: { version: 2, ethernets: Object.fromEntries(ethernets) },
  }
}

function ethernetOf(device: NetplanDevice, index: number, own: DeviceSettings | undefined): NetplanEthernet {
  const { macAddress, deviceName, dhcp4 = false, dhcp6 = false, mtu, nameservers = [], searchDomains = [] } = device
  const addresses = own === undefined ? (device.ipAddrs ?? []) : own.addresses.map(Prefix.format)
  const [way4, way6] = [wayOut(own, device.gateway4, 4), wayOut(own, device.gateway6, 6)]
  const given = (own?.routes ?? []).filter((route) => !isDefault(route)).map(routeText)
  const routes = [...way4.routes, ...way6.routes, ...given, ...(device.routes ?? [])]
  const [overrides4, overrides6] = [overridesOf(device.dhcp4Overrides), overridesOf(device.dhcp6Overrides)]
  const names = {
    ...(nameservers.length === 0 ? {} : { addresses: nameservers }),
    ...(searchDomains.length === 0 ? {} : { search: searchDomains }),
  }
  return {
    match: { macaddress: macAddress },
    'set-name': deviceName || `eth${index}`,
    wakeonlan: true,
    dhcp4,
    dhcp6,
    'accept-ra': dhcp6,
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(way4.gateway ? { gateway4: way4.gateway } : {}),
    ...(way6.gateway ? { gateway6: way6.gateway } : {}),
    ...(routes.length === 0 ? {} : { routes }),
    ...(overrides4 && { 'dhcp4-overrides': overrides4 }),
    ...(overrides6 && { 'dhcp6-overrides': overrides6 }),
    ...(mtu ? { mtu } : {}),
    ...(Object.keys(names).length === 0 ? {} : { nameservers: names }),
  }
}

interface WayOut {
  readonly gateway?: string | undefined
  /** Default routes. */
  readonly routes: readonly RouteText[]
}

/**
 * One gateway without a metric is written as a gateway, as upstream does; more become default
 * routes.
 */
function wayOut(own: DeviceSettings | undefined, inSpec: string | undefined, family: 4 | 6): WayOut {
  const gateway = family === 4 ? own?.gateway4 : own?.gateway6
  const defaults = (own?.routes ?? []).filter((route) => isDefault(route) && route.to.address.family === family)
  const [only, another] = defaults
  const isPlain =
    another === undefined &&
    (only === undefined || (only.metric === undefined && gateway !== undefined && Address.equals(only.via, gateway)))
  if (!isPlain) return { routes: defaults.map(routeText) }
  return { gateway: gateway === undefined ? inSpec : Address.format(gateway), routes: [] }
}

function isDefault({ to }: Route): boolean {
  return to.length === 0
}

function overridesOf(overrides: DhcpOverrides = {}): NetplanEthernet['dhcp4-overrides'] {
  const fields = Object.entries(OVERRIDES) as [keyof DhcpOverrides, string][]
  const set = fields.flatMap(([field, name]) => {
    const value = overrides[field]
    return value === undefined || value === null ? [] : [[name, value] as const]
  })
  return set.length === 0 ? undefined : Object.fromEntries(set)
}

/**
 * Whether a text is an address of a family without a prefix length: the guest has to find its
 * subnet.
 */
function isBare(text: string, family: 4 | 6): boolean {
  const parsed = Address.safeParse(text)
  return parsed.ok && parsed.value.family === family
}

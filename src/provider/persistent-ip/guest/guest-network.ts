import * as Address from '../../../cidr/nouns/address.js'
import type * as Prefix from '../../../cidr/nouns/prefix.js'
import type { IPAddress } from '../../../crd/cluster-api/ip-address.js'
import { claimAddresses, type IPAMClaim } from '../../../crd/ipamclaims/index.js'
import { nameKey } from '../../../crd/meta/object.js'
import { check, type KindOf } from '../../../errors/check.js'
import { quote } from '../../../errors/quote.js'
import { refuse } from '../../../errors/refuse.js'
import { type DeviceSettings, deviceConfig } from '../../consumer/device-config.js'
import { type Netplan, netplan } from '../../consumer/network-config.js'
import { withLength } from '../serving/space.js'
import type { GuestSettings } from './guest-settings.js'

/** An interface of a guest whose addresses a claim holds. */
export interface GuestInterface {
  /** The name of the network in the spec of the virtual machine. */
  readonly network: string
  /** The MAC address that the guest sees. */
  readonly mac: string
  readonly claim: IPAMClaim
  /** Of `readGuestSettings`. */
  readonly settings: GuestSettings
}

export interface GuestNetworkOptions {
  /**
   * The network with the default route, by its name in the spec. Left out: the primary network, or
   * else the only one that has a gateway.
   */
  readonly defaultRoute?: string | undefined
}

/**
 * Why a guest cannot be configured.
 *
 * - `NoAddresses`: the claim has no addresses yet
 * - `InvalidClaim`: a text of the claim is no address, or it has an address twice
 * - `NetworkMismatch`: the claim is of another network
 * - `InvalidMAC`: the text is no MAC address
 * - `DuplicateMAC`: an earlier interface has the MAC address
 * - `DuplicateNetwork`: an earlier interface has the name of the network
 */
export type GuestProblemReason =
  | 'NoAddresses'
  | 'InvalidClaim'
  | 'NetworkMismatch'
  | 'InvalidMAC'
  | 'DuplicateMAC'
  | 'DuplicateNetwork'

export interface GuestProblem {
  readonly network: string
  readonly reason: GuestProblemReason
  readonly message: string
}

/**
 * The default route of a family, or why the guest has none.
 *
 * - `NoGateway`: no network that can have the default route has a gateway
 * - `SeveralGateways`: several gateways are possible, and `defaultRoute` names none of their
 *   networks
 */
export type DefaultRoute =
  | { readonly family: 4 | 6; readonly kind: 'route'; readonly network: string; readonly via: Address.Address }
  | {
      readonly family: 4 | 6
      readonly kind: 'none'
      readonly reason: 'NoGateway' | 'SeveralGateways'
      readonly message: string
    }

/** The network data of a guest. */
export type GuestNetwork =
  | {
      readonly kind: 'configured'
      /** For `networkData` of a cloud-init volume: JSON is valid YAML. */
      readonly data: Netplan['network']
      /** One for each family of the addresses of the guest. */
      readonly defaultRoutes: readonly DefaultRoute[]
    }
  | { readonly kind: 'refused'; readonly problems: readonly GuestProblem[] }

const OPTIONS: KindOf<GuestNetworkOptions> = { defaultRoute: 'text?' }
const INTERFACES = [
  'list',
  [
    'open',
    {
      network: 'text',
      mac: 'text',
      claim: ['open', { metadata: ['open', { name: 'text' }], spec: ['open', { network: 'text' }] }],
      settings: [
        'open',
        {
          definition: ['open', { name: 'text', subnets: 'list' }],
          gateways: 'list',
          routes: 'list',
          nameservers: 'list',
          searchDomains: ['list', 'text'],
        },
      ],
    },
  ],
] as const

/** An interface with the addresses of its claim. */
interface Ready {
  readonly guest: GuestInterface
  readonly addresses: readonly Prefix.Prefix[]
}

/**
 * The network data of cloud-init for a guest without DHCP, version 2: the addresses of its claims,
 * the routes and the name servers of their networks. Each family has exactly one default route over
 * all interfaces, or a reason why it has none. Pure; O(addresses + routes).
 *
 * A gateway counts for an interface that has an address of its family. One that is the address of
 * the guest itself does not count.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an interface of another form, or a `defaultRoute` that
 * is no network of the guest
 * @example
 * import { unwrap } from 'ipam-kit/errors'
 * const config = JSON.stringify({
 *   name: 'lab', type: 'ovn-k8s-cni-overlay', topology: 'layer2', role: 'primary', subnets: '10.0.0.0/24',
 *   netAttachDefName: 'a/blue', allowPersistentIPs: true,
 * })
 * const settings = unwrap(readGuestSettings({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } }))
 * const claim = {
 *   apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', metadata: { name: 'vm1.net', namespace: 'a' },
 *   spec: { network: 'lab', interface: '' }, status: { ips: ['10.0.0.7/24'] },
 * }
 * const guest = guestNetwork([{ network: 'net', mac: '02:00:00:00:00:01', claim, settings }])
 * guest.kind === 'configured' && guest.data.ethernets.id0.gateway4 // '10.0.0.1'
 */
export function guestNetwork(interfaces: readonly GuestInterface[], options: GuestNetworkOptions = {}): GuestNetwork {
  check<unknown>('guestNetwork', 'interfaces', interfaces, INTERFACES)
  check('guestNetwork', 'options', options, OPTIONS)
  const { defaultRoute } = options
  if (defaultRoute !== undefined && !interfaces.some(({ network }) => network === defaultRoute)) {
    refuse('guestNetwork', 'defaultRoute', 'a network of the guest', defaultRoute)
  }
  const ready: Ready[] = []
  const problems: GuestProblem[] = []
  for (const [index, guest] of interfaces.entries()) {
    const addresses = addressesOf(guest)
    const problem = 'reason' in addresses ? addresses : sameProblem(guest, interfaces.slice(0, index))
    if (problem !== undefined) problems.push({ network: guest.network, ...problem })
    else ready.push({ guest, addresses: addresses as readonly Prefix.Prefix[] })
  }
  if (problems.length > 0) return { kind: 'refused', problems }
  const families = ([4, 6] as const).filter((family) => ready.some((each) => hasFamily(each, family)))
  const defaultRoutes = families.map((family) => defaultRouteOf(family, ready, options))
  return { kind: 'configured', data: dataOf(ready, defaultRoutes), defaultRoutes }
}

type Problem = Omit<GuestProblem, 'network'>

function addressesOf({ claim, settings: { definition } }: GuestInterface): readonly Prefix.Prefix[] | Problem {
  const what = `IPAMClaim ${nameKey(claim.metadata)}`
  if (claim.spec.network !== definition.name) {
    const message = `${what} is of the network ${claim.spec.network}, not of ${definition.name}`
    return { reason: 'NetworkMismatch', message }
  }
  const read = claimAddresses(claim)
  if (!read.ok) return { reason: 'InvalidClaim', message: read.failure.message }
  if (read.value.length === 0) return { reason: 'NoAddresses', message: `${what} has no addresses yet` }
  const addresses = read.value.map((one) => withLength(one, definition))
  const settings = deviceConfig({ index: 0 }, asAddresses(claim, addresses, []))
  if (settings.kind === 'configured') return addresses
  return { reason: 'InvalidClaim', message: settings.problems.map(({ message }) => message).join('; ') }
}

const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i

function sameProblem({ network, mac }: GuestInterface, earlier: readonly GuestInterface[]): Problem | undefined {
  if (!MAC.test(mac)) return { reason: 'InvalidMAC', message: `not a MAC address: ${quote(mac)}` }
  if (earlier.some((each) => each.network === network)) {
    return { reason: 'DuplicateNetwork', message: `an earlier interface is of the network ${network}` }
  }
  return earlier.some((each) => each.mac.toLowerCase() === mac.toLowerCase())
    ? { reason: 'DuplicateMAC', message: `an earlier interface has the MAC address ${mac}` }
    : undefined
}

/** The addresses of a claim as `deviceConfig` reads them, with the gateways of its interface. */
function asAddresses(
  { metadata: { name, namespace } }: IPAMClaim,
  addresses: readonly Prefix.Prefix[],
  gateways: readonly Address.Address[],
): readonly IPAddress[] {
  return addresses.map(({ address, length }) => {
    const gateway = gateways.find(({ family }) => family === address.family)
    return {
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddress',
      metadata: { name, ...(namespace !== undefined && { namespace }) },
      spec: {
        claimRef: { name },
        poolRef: { apiGroup: 'k8s.cni.cncf.io', kind: 'IPAMClaim', name },
        address: Address.format(address),
        prefix: length,
        ...(gateway && { gateway: Address.format(gateway) }),
      },
    }
  })
}

function hasFamily({ addresses }: Ready, family: 4 | 6): boolean {
  return addresses.some(({ address }) => address.family === family)
}

interface Way {
  readonly network: string
  readonly isPrimary: boolean
  readonly via: Address.Address
}

function defaultRouteOf(family: 4 | 6, ready: readonly Ready[], { defaultRoute }: GuestNetworkOptions): DefaultRoute {
  const ways = ready.flatMap((each) => (hasFamily(each, family) ? waysOf(each, family) : []))
  const primary = ways.filter(({ isPrimary }) => isPrimary)
  const preferred = primary.length > 0 ? primary : ways
  const possible = defaultRoute === undefined ? preferred : ways.filter(({ network }) => network === defaultRoute)
  const [first, second] = possible
  if (first === undefined) {
    const where = defaultRoute === undefined ? 'no network of the guest' : `not the network ${defaultRoute}`
    return { family, kind: 'none', reason: 'NoGateway', message: `${where} has an IPv${family} gateway` }
  }
  if (second === undefined) return { family, kind: 'route', network: first.network, via: first.via }
  const all = possible.map(({ network, via }) => `${Address.format(via)} of ${network}`).join(', ')
  return { family, kind: 'none', reason: 'SeveralGateways', message: `several IPv${family} gateways: ${all}` }
}

function waysOf({ guest: { network, settings }, addresses }: Ready, family: 4 | 6): readonly Way[] {
  const isPrimary = settings.definition.role === 'primary'
  const isOwn = (via: Address.Address) => addresses.some(({ address }) => Address.equals(address, via))
  return settings.gateways
    .filter((via) => via.family === family && !isOwn(via))
    .map((via) => ({ network, isPrimary, via }))
}

function dataOf(ready: readonly Ready[], defaultRoutes: readonly DefaultRoute[]): Netplan['network'] {
  const settings = new Map<string, DeviceSettings>()
  for (const [index, { guest, addresses }] of ready.entries()) {
    const own = defaultRoutes.flatMap((each) =>
      each.kind === 'route' && each.network === guest.network ? [each.via] : [],
    )
    const config = deviceConfig({ index }, asAddresses(guest.claim, addresses, own))
    const device = config.kind === 'configured' ? config : config.partial
    const routes = guest.settings.routes.filter(({ to }) => hasFamily({ guest, addresses }, to.address.family))
    settings.set(guest.mac, { ...device, routes: [...device.routes, ...routes] })
  }
  const devices = ready.map(({ guest: { mac, settings: network } }) => ({
    macAddress: mac,
    mtu: network.definition.mtu,
    nameservers: network.nameservers.map(Address.format),
    searchDomains: network.searchDomains,
  }))
  return netplan(devices, settings).network
}

import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { ADDRESS } from '../../crd/cluster-api/kinds.js'
import { nameKey } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'

type Address = Address.Address
type Prefix = Prefix.Prefix

/** The spec of a device whose addresses come from pools. */
export interface DeviceSpec {
  /** The index of the device in the machine, from 0: problems name it. */
  readonly index: number
  /** The text as written. */
  readonly gateway4?: string | undefined
  readonly gateway6?: string | undefined
}

export interface Route {
  readonly to: Prefix
  readonly via: Address
  readonly metric?: number | undefined
}

/** The network settings of a device. */
export interface DeviceSettings {
  /** Each with the length of its subnet, in the order of the pools. Host bits are kept. */
  readonly addresses: readonly Prefix[]
  /** Of several gateways of a family the one with the lowest metric. */
  readonly gateway4?: Address | undefined
  readonly gateway6?: Address | undefined
  /** A default route for each gateway. */
  readonly routes: readonly Route[]
}

export type DeviceProblemCode =
  | 'InvalidAddress'
  | 'DuplicateAddress'
  | 'InvalidGateway'
  | 'GatewayFamilyMismatch'
  | 'GatewayDiffersFromDevice'
  | 'GatewaysDiffer'

/** A problem with one address of a device. */
export interface DeviceProblem {
  readonly code: DeviceProblemCode
  /** In the words of cluster-api-provider-vsphere. */
  readonly message: string
  readonly address: IPAddress
}

/**
 * The settings of a device, or all problems with its addresses, and the settings without those
 * addresses.
 */
export type DeviceConfig =
  | ({ readonly kind: 'configured' } & DeviceSettings)
  | { readonly kind: 'invalid'; readonly problems: readonly DeviceProblem[]; readonly partial: DeviceSettings }

export interface DeviceConfigOptions {
  /**
   * Accept an address without a prefix, or with 0, as upstream does: its subnet is the whole
   * address space. Default false.
   */
  readonly lax?: boolean | undefined
  /**
   * The metric of the route to the gateway of an address. Default: none. With different metrics a
   * device may have several gateways of a family.
   */
  readonly metricOf?: ((address: IPAddress) => number | undefined) | undefined
}

export const DEVICE_CONFIG_OPTIONS: KindOf<DeviceConfigOptions> = { lax: 'flag?', metricOf: 'function?' }

/**
 * The settings of a device from the addresses of its claims, in the order of its pools. Reports all
 * problems at once. A gateway is optional, and may lie outside the subnet of its address. O(n) in
 * addresses.
 *
 * Source: cluster-api-provider-vsphere, pkg/services/govmomi/ipam. Upstream compares gateways as
 * text, so `fd00::1` and `fd00:0::1` differ; allows a zone in a gateway; and gives an address
 * without a prefix `/0`.
 *
 * @example
 * const spec = { claimRef: { name: 'vm-0-0' }, poolRef: { apiGroup: 'g', kind: 'Pool', name: 'p' }, address: '10.0.0.5', prefix: 24 }
 * const address = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress', metadata: { name: 'vm-0-0', namespace: 'a' }, spec }
 * deviceConfig({ index: 0 }, [address]).addresses.map(Prefix.format) // ['10.0.0.5/24']
 * deviceConfig({ index: 0 }, [address, address]).problems[0].message
 * // 'IPAddress a/vm-0-0 is a duplicate of another address: "10.0.0.5/24"'
 */
export function deviceConfig(
  device: DeviceSpec,
  addresses: readonly IPAddress[],
  options: DeviceConfigOptions = {},
): DeviceConfig {
  check('deviceConfig', 'device', device, ['open', { index: 'number' }])
  check('deviceConfig', 'addresses', addresses, ['list', ADDRESS])
  check('deviceConfig', 'options', options, DEVICE_CONFIG_OPTIONS)

  const settings: Draft = { addresses: [], routes: [] }
  const problems: DeviceProblem[] = []
  for (const address of addresses) {
    const problem = take(address, device, settings, options)
    if (problem !== undefined) problems.push({ ...problem, address })
  }
  return problems.length === 0 ? { kind: 'configured', ...settings } : { kind: 'invalid', problems, partial: settings }
}

interface Draft {
  readonly addresses: Prefix[]
  gateway4?: Address
  gateway6?: Address
  readonly routes: Route[]
}

type Problem = Omit<DeviceProblem, 'address'>

/** Adds one address, or returns its problem. */
function take(
  address: IPAddress,
  device: DeviceSpec,
  settings: Draft,
  options: DeviceConfigOptions,
): Problem | undefined {
  const problemOf = (code: DeviceProblemCode, words: string, text: string): Problem => {
    return { code, message: `IPAddress ${nameKey(address.metadata)} ${words}: ${JSON.stringify(text)}` }
  }
  const prefix = prefixOf(address, options)
  if (typeof prefix === 'string') return problemOf('InvalidAddress', 'has invalid ip address', prefix)
  if (settings.addresses.some((other) => Prefix.equals(other, prefix))) {
    return problemOf('DuplicateAddress', 'is a duplicate of another address', Prefix.format(prefix))
  }
  const gateway = gatewayOf(address)
  if (typeof gateway === 'string') return problemOf('InvalidGateway', 'has invalid gateway', gateway)
  if (gateway !== undefined) {
    const metric = options.metricOf?.(address)
    const known = settings.routes.filter(({ via }) => via.family === gateway.family)
    const problem = problemOfGateway(gateway, { address, prefix, device, known, metric })
    if (problem !== undefined) return problem
    if (!hasGateway(known, gateway)) addGateway(gateway, settings, known, metric)
  }
  settings.addresses.push(prefix)
  return undefined
}

interface GatewayPlace {
  readonly address: IPAddress
  readonly prefix: Prefix
  readonly device: DeviceSpec
  /** The routes to gateways of the same family. */
  readonly known: readonly Route[]
  readonly metric: number | undefined
}

function problemOfGateway(
  gateway: Address,
  { address, prefix, device, known, metric }: GatewayPlace,
): Problem | undefined {
  const { family } = gateway
  if (family !== prefix.address.family) {
    const message = `IPAddress ${nameKey(address.metadata)} has mismatched gateway and address IP families`
    return { code: 'GatewayFamilyMismatch', message }
  }
  const wanted = family === 4 ? device.gateway4 : device.gateway6
  if (wanted !== undefined && wanted !== '' && !isText(gateway, wanted)) {
    const { name } = address.metadata
    const message = `the IPv${family} Gateway for IPAddress ${name} does not match the Gateway${family} already configured on device (index ${device.index})`
    return { code: 'GatewayDiffersFromDevice', message }
  }
  const isOfItsOwn = (other: Route) => metric !== undefined && other.metric !== undefined && other.metric !== metric
  if (hasGateway(known, gateway) || known.every(isOfItsOwn)) return undefined
  const message = `the IPv${family} IPAddresses assigned to the same device (index ${device.index}) do not have the same gateway`
  return { code: 'GatewaysDiffer', message }
}

function hasGateway(routes: readonly Route[], gateway: Address): boolean {
  return routes.some(({ via }) => Address.equals(via, gateway))
}

function addGateway(gateway: Address, settings: Draft, known: readonly Route[], metric: number | undefined): void {
  const isPreferred = known.every((other) => (other.metric ?? 0) > (metric ?? 0))
  if (isPreferred) settings[gateway.family === 4 ? 'gateway4' : 'gateway6'] = gateway
  const to = Prefix.masked(Prefix.of(gateway, 0))
  settings.routes.push({ to, via: gateway, ...(metric === undefined ? {} : { metric }) })
}

/** The address with its prefix length, or the text that is not one. */
function prefixOf({ spec }: IPAddress, { lax = false }: DeviceConfigOptions): Prefix | string {
  const length = spec.prefix ?? 0
  const text = `${spec.address}/${length}`
  const parsed = Prefix.safeParse(text)
  return parsed.ok && (lax || length > 0) ? parsed.value : text
}

/** The gateway, or the text that is not one. */
function gatewayOf({ spec }: IPAddress): Address | string | undefined {
  if (spec.gateway === undefined || spec.gateway === '') return undefined
  const parsed = Address.safeParse(spec.gateway)
  return parsed.ok ? parsed.value : spec.gateway
}

function isText(address: Address, text: string): boolean {
  const parsed = Address.safeParse(text)
  return parsed.ok && Address.equals(parsed.value, address)
}

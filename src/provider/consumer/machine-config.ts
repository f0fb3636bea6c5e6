import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import {
  type DeviceConfigOptions,
  type DeviceProblem,
  type DeviceSettings,
  type DeviceSpec,
  deviceConfig,
} from './device-config.js'
import type { ResolvedClaim } from './resolve.js'

/** A device of a machine with its claims. */
export interface MachineDevice extends Omit<DeviceSpec, 'index'> {
  /** As the hypervisor gave it. Empty or left out: not yet. */
  readonly macAddress?: string | undefined
  /** In the order of its pools; none for a device that gets its addresses elsewhere. */
  readonly claims: readonly ResolvedClaim[]
}

/** The addresses of one device. */
export interface DeviceAddresses {
  readonly index: number
  readonly macAddress: string
  readonly addresses: readonly IPAddress[]
}

/** What a machine still waits for before its devices can be set up, in the words of cluster-api-provider-vsphere. */
export interface MachineWaits {
  readonly kind: 'waiting'
  readonly for: 'mac-address' | 'claims'
  readonly message: string
}

/** The settings of devices by MAC address: those that have an address from a pool. */
export type SettingsByMac = ReadonlyMap<string, DeviceSettings>

/** The settings of all devices of a machine, or why there are none (yet). */
export type MachineConfig =
  | { readonly kind: 'configured'; readonly settings: SettingsByMac }
  | MachineWaits
  | { readonly kind: 'invalid'; readonly problems: readonly DeviceProblem[]; readonly partial: SettingsByMac }

/**
 * The addresses of each device, when every device has a MAC address and every claim is Bound. O(claims).
 *
 * Source: `buildIPAMDeviceConfigs` of cluster-api-provider-vsphere. There a claim that is being deleted counts as any other.
 *
 * @example
 * machineAddresses([{ claims: [] }]).message // 'waiting for devices to have MAC address set'
 */
export function machineAddresses(
  devices: readonly MachineDevice[],
): { readonly kind: 'addressed'; readonly devices: readonly DeviceAddresses[] } | MachineWaits {
  const addressed: DeviceAddresses[] = []
  let isUnbound = false
  for (const [index, { macAddress, claims }] of devices.entries()) {
    if (macAddress === undefined || macAddress === '') {
      return { kind: 'waiting', for: 'mac-address', message: 'waiting for devices to have MAC address set' }
    }
    const addresses = claims.flatMap(({ resolution }) => (resolution.kind === 'bound' ? [resolution.address] : []))
    isUnbound ||= addresses.length < claims.length
    addressed.push({ index, macAddress, addresses })
  }
  if (isUnbound) return { kind: 'waiting', for: 'claims', message: 'waiting for IP address claims to be bound' }
  return { kind: 'addressed', devices: addressed }
}

/**
 * The settings of all devices of a machine: {@link deviceConfig} of each, by MAC address. All that is wrong with any of them is found at once. O(claims).
 *
 * @example
 * machineConfig([{ macAddress: '02:00:00:00:00:01', claims: [] }]).settings.size // 0
 */
export function machineConfig(devices: readonly MachineDevice[], options: DeviceConfigOptions = {}): MachineConfig {
  const addressed = machineAddresses(devices)
  if (addressed.kind === 'waiting') return addressed
  const settings = new Map<string, DeviceSettings>()
  const problems: DeviceProblem[] = []
  for (const { index, macAddress, addresses } of addressed.devices) {
    const config = deviceConfig({ ...devices[index], index }, addresses, options)
    if (config.kind === 'invalid') problems.push(...config.problems)
    const done = config.kind === 'invalid' ? config.partial : config
    if (done.addresses.length > 0) settings.set(macAddress, done)
  }
  return problems.length === 0 ? { kind: 'configured', settings } : { kind: 'invalid', problems, partial: settings }
}

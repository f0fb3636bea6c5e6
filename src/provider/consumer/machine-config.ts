import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { check, type KindOf } from '../../errors/check.js'
import {
  DEVICE_CONFIG_OPTIONS,
  type DeviceConfigOptions,
  type DeviceProblem,
  type DeviceSettings,
  type DeviceSpec,
  deviceConfig,
} from './device-config.js'
import { RESOLVED, type ResolvedClaim } from './resolution.js'

/** A device of a machine with its claims. */
export interface MachineDevice extends Omit<DeviceSpec, 'index'> {
  /** From the hypervisor. Empty or left out: not known yet. */
  readonly macAddress?: string | undefined
  /** In the order of its pools; empty for a device whose addresses come from elsewhere. */
  readonly claims: readonly ResolvedClaim[]
}

const DEVICE: KindOf<MachineDevice> = ['open', { macAddress: 'text?', claims: ['list', RESOLVED] }]

/** The addresses of one device. */
export interface DeviceAddresses {
  readonly index: number
  readonly macAddress: string
  readonly addresses: readonly IPAddress[]
}

/**
 * What a machine waits for before its devices can be configured, in the words of
 * cluster-api-provider-vsphere.
 */
export interface MachineWaits {
  readonly kind: 'waiting'
  readonly for: 'mac-address' | 'claims'
  readonly message: string
}

/** The settings of devices by MAC address as written: devices with an address from a pool. */
export type SettingsByMac = ReadonlyMap<string, DeviceSettings>

/** The settings of all devices of a machine, or why there are none yet. */
export type MachineConfig =
  | { readonly kind: 'configured'; readonly settings: SettingsByMac }
  | MachineWaits
  | {
      readonly kind: 'invalid'
      readonly problems: readonly (DeviceProblem | MacProblem)[]
      /** Of several devices with one MAC address, the settings of the first. */
      readonly partial: SettingsByMac
    }

/** Two devices have the same MAC address: a guest could not distinguish them. */
export interface MacProblem {
  readonly code: 'DuplicateMacAddress'
  readonly message: string
  /** From 0. */
  readonly deviceIndex: number
}

/**
 * The addresses of each device, once every device has a MAC address and every claim is Bound.
 * O(claims).
 *
 * Source: `buildIPAMDeviceConfigs` of cluster-api-provider-vsphere. Upstream makes no difference
 * for a claim that is being deleted.
 *
 * @example
 * machineAddresses([{ claims: [] }]).message // 'waiting for devices to have MAC address set'
 */
export function machineAddresses(
  devices: readonly MachineDevice[],
): { readonly kind: 'addressed'; readonly devices: readonly DeviceAddresses[] } | MachineWaits {
  check('machineAddresses', 'devices', devices, ['list', DEVICE])

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
 * The settings of all devices of a machine: {@link deviceConfig} of each, by MAC address. Reports
 * all problems at once. O(claims).
 *
 * @example
 * machineConfig([{ macAddress: '02:00:00:00:00:01', claims: [] }]).settings.size // 0
 */
export function machineConfig(devices: readonly MachineDevice[], options: DeviceConfigOptions = {}): MachineConfig {
  check('machineConfig', 'devices', devices, ['list', DEVICE])
  check('machineConfig', 'options', options, DEVICE_CONFIG_OPTIONS)

  const addressed = machineAddresses(devices)
  if (addressed.kind === 'waiting') return addressed
  const settings = new Map<string, DeviceSettings>()
  const problems: (DeviceProblem | MacProblem)[] = []
  const byMac = new Map<string, number>()
  for (const { index, macAddress, addresses } of addressed.devices) {
    const before = byMac.get(macKey(macAddress))
    if (before !== undefined) {
      const message = `devices ${before} and ${index} have the same MAC address: ${JSON.stringify(macAddress)}`
      problems.push({ code: 'DuplicateMacAddress', message, deviceIndex: index })
      continue
    }
    byMac.set(macKey(macAddress), index)
    const config = deviceConfig({ ...devices[index], index }, addresses, options)
    if (config.kind === 'invalid') problems.push(...config.problems)
    const done = config.kind === 'invalid' ? config.partial : config
    if (done.addresses.length > 0) settings.set(macAddress, done)
  }
  return problems.length === 0 ? { kind: 'configured', settings } : { kind: 'invalid', problems, partial: settings }
}

/** The key of a MAC address: upper and lower case are equal. */
export function macKey(macAddress: string): string {
  return macAddress.toLowerCase()
}

/**
 * The first device that has the MAC address of an earlier one. Devices without one are ignored.
 * O(devices).
 */
export function sharedMac<T extends { readonly macAddress: string }>(devices: readonly T[]): T | undefined {
  const seen = new Set<string>()
  return devices.find(({ macAddress }) => {
    const key = macKey(macAddress)
    const isShared = key !== '' && seen.has(key)
    seen.add(key)
    return isShared
  })
}

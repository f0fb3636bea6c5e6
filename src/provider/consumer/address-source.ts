import type { ConditionUpdate } from '../../claim/conditions.js'
import { check } from '../../errors/check.js'

/** The sources of addresses for a device. */
export interface AddressSources {
  readonly dhcp4?: boolean | null | undefined
  readonly dhcp6?: boolean | null | undefined
  /** Addresses that are written in the spec. */
  readonly ipAddrs?: readonly string[] | null | undefined
  readonly addressesFromPools?: readonly unknown[] | null | undefined
  /** The device gets no address, or gets it in its own way. */
  readonly skipIPAllocation?: boolean | null | undefined
}

/**
 * Whether a device has no source of addresses. A machine with such a device waits until an address
 * is written into its spec. O(1).
 *
 * Source: `isWaitingForStaticIPAllocation` of cluster-api-provider-vsphere.
 */
export function lacksAddressSource(device: AddressSources): boolean {
  const { dhcp4, dhcp6, ipAddrs, addressesFromPools, skipIPAllocation } = device
  if (dhcp4 || dhcp6 || skipIPAllocation) return false
  return (ipAddrs?.length ?? 0) === 0 && (addressesFromPools?.length ?? 0) === 0
}

/** The input for the condition of a machine. */
export interface ProvisioningState {
  readonly devices: readonly AddressSources[]
  /** The addresses that the running machine reports. Left out: it does not run yet. */
  readonly reportedAddresses?: readonly string[] | undefined
}

/**
 * The condition of a machine about its addresses, in the words of cluster-api-provider-vsphere.
 * `undefined` if the machine does not run yet and has no other problem. O(n) in devices.
 *
 * @example
 * provisionedCondition({ devices: [{}] }).reason // 'WaitingForStaticIPAllocation'
 * provisionedCondition({ devices: [{ dhcp4: true }], reportedAddresses: [] }).reason // 'WaitingForIPAllocation'
 */
export function provisionedCondition(state: ProvisioningState): ConditionUpdate | undefined {
  check('provisionedCondition', 'state', state, [
    'open',
    { devices: ['list', 'object'], reportedAddresses: ['list?', 'text'] },
  ])

  const type = 'VirtualMachineProvisioned'
  const waiting = (reason: string): ConditionUpdate => ({ type, status: 'False', reason, message: '' })
  if (state.devices.some(lacksAddressSource)) return waiting('WaitingForStaticIPAllocation')
  if (state.reportedAddresses === undefined) return undefined
  if (state.reportedAddresses.length === 0) return waiting('WaitingForIPAllocation')
  return { type, status: 'True', reason: 'Provisioned', message: '' }
}

/**
 * A device with the network configuration of its failure domain: each field of the configuration
 * that is not empty replaces the one of the device. False is not empty. O(fields).
 *
 * Source: `mergeNetworkConfiguration` of cluster-api-provider-vsphere, pkg/services.
 *
 * @example
 * withNetworkConfiguration({ networkName: 'a', dhcp4: true }, { networkName: 'b', nameservers: [] })
 * // { networkName: 'b', dhcp4: true }
 */
export function withNetworkConfiguration<D extends object, C extends object>(
  device: D,
  configuration: C,
): D & Partial<C> {
  check<object>('withNetworkConfiguration', 'device', device, 'object')
  check<object>('withNetworkConfiguration', 'configuration', configuration, 'object')
  const given = Object.entries(configuration).filter(([, value]) => !isEmpty(value))
  return { ...device, ...(Object.fromEntries(given) as Partial<C>) }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

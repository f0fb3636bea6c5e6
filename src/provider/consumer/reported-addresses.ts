import * as Address from '../../cidr/nouns/address.js'
import { check } from '../../errors/check.js'
import { DEFAULT_GATEWAY_ANNOTATION } from './dialects.js'
import { RESOLVED, type ResolvedClaim } from './resolution.js'

/** The addresses of one device in the status of a machine. */
export interface FamilyAddresses {
  readonly ipv4: readonly string[]
  readonly ipv6: readonly string[]
}

/** By the name of the device. */
export type ReportedAddresses = ReadonlyMap<string, FamilyAddresses>

/**
 * The entry for addresses from pools of the cluster itself, of all devices. No device has that
 * name.
 */
const DEFAULT_ENTRY = 'default'

/**
 * The addresses of a machine by device, for its status, in the order of the pools. Addresses whose
 * claims have the annotation for the default gateway are listed under `default` as well. Invalid
 * texts are left out. A pure read: nothing is claimed or written. O(n) in claims.
 *
 * Source: cluster-api-provider-proxmox, internal/service/vmservice.
 *
 * @param options.lastStatus the present status of a running machine. It stays, unless it is empty,
 * as after a restore, and all claims are Bound
 *
 * @example
 * reportedAddresses([]).size // 0
 */
export function reportedAddresses(
  claims: readonly ResolvedClaim[],
  options: { readonly lastStatus?: ReportedAddresses | undefined } = {},
): ReportedAddresses {
  check('reportedAddresses', 'claims', claims, ['list', RESOLVED])
  check('reportedAddresses', 'options', options, 'object')
  const { lastStatus } = options
  if (lastStatus !== undefined) {
    check('reportedAddresses', 'options.lastStatus', lastStatus, 'iterable')
    if (lastStatus.size > 0 || claims.some(({ resolution }) => resolution.kind !== 'bound')) return lastStatus
  }
  const reported = new Map<string, { ipv4: string[]; ipv6: string[] }>()
  const add = (entry: string, address: Address.Address) => {
    const lists = reported.get(entry) ?? { ipv4: [], ipv6: [] }
    reported.set(entry, lists)
    lists[address.family === 4 ? 'ipv4' : 'ipv6'].push(Address.format(address))
  }
  for (const { desired, resolution } of claims) {
    if (resolution.kind !== 'bound') continue
    const address = Address.safeParse(resolution.address.spec.address)
    if (!address.ok) continue
    add(desired.deviceName, address.value)
    if (desired.annotations[DEFAULT_GATEWAY_ANNOTATION] === 'true') add(DEFAULT_ENTRY, address.value)
  }
  return reported
}

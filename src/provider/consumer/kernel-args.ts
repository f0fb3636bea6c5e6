import { whyNotAddress, whyNotPrefix } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import type { Prefix } from '../../cidr/nouns/prefix.js'
import { check, type KindOf } from '../../errors/check.js'

type Address = Address.Address

/** A device, as kernel arguments describe it. */
export interface KernelDevice {
  readonly addresses: readonly Prefix[]
  /** The gateway of the device: used for addresses of its family only. */
  readonly gateway?: Address | undefined
  readonly nameservers?: readonly Address[] | undefined
}

const DEVICE: KindOf<KernelDevice> = [
  'open',
  {
    addresses: ['list', whyNotPrefix],
    gateway: ['is?', whyNotAddress],
    nameservers: ['list?', whyNotAddress],
  },
]

/**
 * Kernel arguments for dracut: `ip=` for each address, `nameserver=` for each name server, device
 * by device. IPv6 is in brackets with a prefix length, IPv4 with a mask. O(n).
 *
 * Source: machine-api-operator, pkg/controller/vsphere/reconciler.go; dracut.cmdline(7).
 *
 * @example
 * kernelArgs([{ addresses: [Prefix.parse('10.0.0.5/24')], gateway: Address.parse('10.0.0.1') }])
 * // 'ip=10.0.0.5::10.0.0.1:255.255.255.0:::none'
 */
export function kernelArgs(devices: readonly KernelDevice[]): string {
  check('kernelArgs', 'devices', devices, ['list', DEVICE])

  return devices
    .flatMap(({ addresses, gateway, nameservers = [] }) => [
      ...addresses.map((prefix) => ipArgument(prefix, gateway)),
      ...nameservers.map((address) => `nameserver=${bracketed(address)}`),
    ])
    .join(' ')
}

function ipArgument(prefix: Prefix, gateway: Address | undefined): string {
  const { address, length } = prefix
  const via = gateway?.family === address.family ? bracketed(gateway) : ''
  return `ip=${bracketed(address)}::${via}:${address.family === 4 ? maskOf(length) : length}:::none`
}

function maskOf(length: number): string {
  return Address.format(Address.from4(length === 0 ? 0 : (0xffffffff << (32 - length)) >>> 0))
}

function bracketed(address: Address): string {
  return address.family === 4 ? Address.format(address) : `[${Address.format(address)}]`
}

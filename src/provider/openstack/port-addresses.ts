import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { check } from '../../errors/check.js'
import type { ResolvedClaim } from '../consumer/resolution.js'

/** A subnet of a network that ports are in. */
export interface PortSubnet {
  readonly id: string
  readonly cidr: string
}

/** An entry of `fixed_ips` of a port, as in Neutron. */
export interface FixedIP {
  readonly subnet_id: string
  readonly ip_address: string
}

/** The input for the creation of a port. */
export interface PortFixedIPs {
  /** The index of the device of the claims, from 0. */
  readonly deviceIndex: number
  readonly fixed_ips: readonly FixedIP[]
}

/**
 * Why an address of a claim cannot be a fixed one of a port.
 *
 * - `NotBound`: the claim has no address, or none that belongs to it
 * - `MalformedAddress`, `MalformedSubnet`: an invalid text
 * - `NoSubnet`, `AmbiguousSubnet`: it is in none of the subnets, or in more than one
 * - `NotAHost`: it is the network or the broadcast address of an IPv4 subnet
 * - `PrefixMismatch`: the claim has another prefix length than the subnet
 * - `DuplicateAddress`: two claims have it
 */
export interface PortAddressProblem {
  readonly reason:
    | 'NotBound'
    | 'MalformedAddress'
    | 'MalformedSubnet'
    | 'NoSubnet'
    | 'AmbiguousSubnet'
    | 'NotAHost'
    | 'PrefixMismatch'
    | 'DuplicateAddress'
  /** Name of the claim, or id of the subnet. */
  readonly of: string
  readonly message: string
}

export type PortAddresses =
  | { readonly ok: true; readonly ports: readonly PortFixedIPs[] }
  | { readonly ok: false; readonly problems: readonly PortAddressProblem[] }

/**
 * `fixed_ips` of the ports of a server, from its claims instead of DHCP: one port for each device,
 * in the order of the claims. Data only: no port is created. Reports all problems at once. O(claims
 * * subnets).
 *
 * @example
 * portAddresses([], [{ id: 's1', cidr: '10.0.0.0/24' }]) // { ok: true, ports: [] }
 */
export function portAddresses(claims: readonly ResolvedClaim[], subnets: readonly PortSubnet[]): PortAddresses {
  check('portAddresses', 'claims', claims, [
    'list',
    ['open', { desired: ['open', { name: 'text', deviceIndex: 'number' }], resolution: 'object' }],
  ])
  for (const { resolution } of claims) {
    if (resolution.kind === 'bound') {
      check('portAddresses', 'claims[].resolution.address', resolution.address, ['open', { spec: 'object' }])
    }
  }
  check('portAddresses', 'subnets', subnets, ['list', ['open', { id: 'text', cidr: 'text' }]])

  const problems: PortAddressProblem[] = []
  const prefixes = subnets.flatMap(({ id, cidr }) => {
    const parsed = Prefix.safeParse(cidr)
    if (parsed.ok) return [{ id, prefix: Prefix.masked(parsed.value) }]
    problems.push({
      reason: 'MalformedSubnet',
      of: id,
      message: `subnet ${id} has ${JSON.stringify(cidr)}, which is no CIDR`,
    })
    return []
  })
  const holders = new Map<string, string>()
  const ports = new Map<number, FixedIP[]>()
  for (const claim of claims) {
    const found = fixedIPOf(claim, prefixes)
    if (!('ip_address' in found)) {
      problems.push(found)
      continue
    }
    const { name, deviceIndex } = claim.desired
    const other = holders.get(found.ip_address)
    if (other !== undefined) {
      const message = `${found.ip_address} is the address of both ${other} and ${name}`
      problems.push({ reason: 'DuplicateAddress', of: name, message })
    }
    holders.set(found.ip_address, name)
    ports.set(deviceIndex, [...(ports.get(deviceIndex) ?? []), found])
  }
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, ports: [...ports].map(([deviceIndex, fixed_ips]) => ({ deviceIndex, fixed_ips })) }
}

interface ParsedSubnet {
  readonly id: string
  readonly prefix: Prefix.Prefix
}

function fixedIPOf(
  { desired: { name }, resolution }: ResolvedClaim,
  subnets: readonly ParsedSubnet[],
): FixedIP | PortAddressProblem {
  const problem = (reason: PortAddressProblem['reason'], message: string) => ({ reason, of: name, message })
  if (resolution.kind !== 'bound') return problem('NotBound', resolution.message)
  const { address: text, prefix: length } = resolution.address.spec
  const parsed = Address.safeParse(text)
  if (!parsed.ok) return problem('MalformedAddress', `${name} has ${JSON.stringify(text)}, which is no address`)
  const address = Address.unmap(parsed.value)
  const ip_address = Address.format(address)
  const [subnet, other] = subnets.filter(({ prefix }) => Prefix.contains(prefix, address))
  if (subnet === undefined)
    return problem('NoSubnet', `${ip_address} of ${name} is in none of ${subnets.length} subnets`)
  if (other !== undefined) {
    return problem('AmbiguousSubnet', `${ip_address} of ${name} is in subnets ${subnet.id} and ${other.id}`)
  }
  const { prefix } = subnet
  if (!isHost(address, prefix)) {
    return problem('NotAHost', `${ip_address} of ${name} is the first or the last address of subnet ${subnet.id}`)
  }
  if (length !== undefined && length !== prefix.length) {
    const message = `${name} has ${ip_address}/${length}, and subnet ${subnet.id} is ${Prefix.format(prefix)}`
    return problem('PrefixMismatch', message)
  }
  return { subnet_id: subnet.id, ip_address }
}

/**
 * Network and broadcast address are no hosts in IPv4, but for a /31 and a /32 (RFC 3021); in IPv6
 * the first address is that of the routers (RFC 4291, 2.6.1).
 */
function isHost(address: Address.Address, prefix: Prefix.Prefix): boolean {
  const bits = Address.bitsOf(address.family)
  if (bits - prefix.length <= 1) return true
  if (Address.equals(address, Prefix.first(prefix))) return false
  return address.family === 6 || !Address.equals(address, Prefix.last(prefix))
}

import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { type Given, NetworkLedger, type SubnetTexts } from './network-range.js'

/** An error of upstream: its name if it has one, and its text. */
export interface UpstreamError {
  readonly name?: string
  readonly text: string
}

const ERR_ALLOCATED: UpstreamError = { name: 'ErrAllocated', text: 'provided IP is already allocated' }

/** What upstream says of a request that was not given what it wants. */
export function errorOf({ kind }: Given): UpstreamError {
  switch (kind) {
    case 'exhausted':
      return { name: 'ErrFull', text: 'subnet address pool exhausted' }
    case 'taken':
      return ERR_ALLOCATED
    case 'outOfPool':
      return { name: 'ErrNotInRange', text: 'provided IP is not in the valid range' }
    case 'allocated':
      return { text: 'allocated' }
  }
}

/** A set of subnets: each gives its next address after the one that it has given. */
export class Subnets {
  readonly network: NetworkLedger
  readonly reserved: readonly Prefix[]
  readonly excluded: RangeSet
  readonly #last = new Map<Prefix, Address>()

  constructor({ excludeSubnets = [], reservedSubnets = [], ...fields }: SubnetTexts) {
    this.network = new NetworkLedger({ ...fields, excludeSubnets, reservedSubnets })
    this.reserved = reservedSubnets.map((text) => Prefix.parse(text))
    this.excluded = RangeSet.parse(excludeSubnets)
  }

  next(subnet: Prefix): Given {
    const given = this.network.next(subnet, this.#last.get(subnet))
    if (given.kind === 'allocated') this.#last.set(subnet, given.address)
    return given
  }

  /** The part that an address is of: upstream has an allocator for each. */
  partOf(address: Address): Prefix | undefined {
    return [...this.reserved, ...this.network.subnets].find((part) => Prefix.contains(part, address))
  }
}

/** The first subnet to keep back that lies in none of the subnets. */
export function strangerOf({ subnets, reservedSubnets = [], excludeSubnets = [] }: SubnetTexts): string | undefined {
  const outer = subnets.map((text) => Prefix.parse(text))
  return [...reservedSubnets, ...excludeSubnets].find(
    (text) => !outer.some((subnet) => Prefix.contains(subnet, Prefix.parse(text))),
  )
}

/** What a call on a set of subnets has given, or why it has changed nothing. */
export interface SubnetResult {
  readonly ips: readonly string[]
  readonly error?: UpstreamError
}

/** One address of each subnet, with its mask; none at all where one of them has none left. */
export function nextIps(subnets: Subnets, name: string): SubnetResult {
  const { network } = subnets
  const given: Address[] = []
  for (const subnet of network.subnets) {
    const outcome = subnets.next(subnet)
    if (outcome.kind !== 'allocated') {
      for (const address of given) network.release(address)
      const error = errorOf(outcome)
      return { ips: [], error: { ...error, text: `failed to allocate new IPs for ${name}: ${error.text}` } }
    }
    given.push(outcome.address)
  }
  return { ips: given.map((address, nth) => `${Address.format(address)}/${network.subnets[nth]?.length}`) }
}

/** All of the addresses, at most one from each part, or none. */
export function allocateIps(ips: readonly Address[], subnets: Subnets, name: string): SubnetResult {
  const { network } = subnets
  const parts = new Set<Prefix>()
  const given: Address[] = []
  const refused = (error: UpstreamError): SubnetResult => {
    for (const address of given) network.release(address)
    return { ips: [], error }
  }
  for (const address of ips) {
    const part = subnets.partOf(address)
    const words = `failed to allocate IP ${Address.format(address)} for ${name}`
    if (part === undefined) return refused({ text: `${words}: not contained in any known subnet` })
    // to upstream what is excluded is allocated
    if (RangeSet.contains(subnets.excluded, address)) return refused(ERR_ALLOCATED)
    if (parts.has(part)) {
      const kind = subnets.reserved.includes(part) ? 'static' : 'continuous'
      return refused({ text: `${words}: attempted to reserve multiple IPs in the same ${kind} IPAM instance` })
    }
    const outcome = network.allocate(address)
    if (outcome.kind !== 'allocated') return refused(errorOf(outcome))
    parts.add(part)
    given.push(address)
  }
  return { ips: [] }
}

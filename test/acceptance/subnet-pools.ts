import {
  AddressPool,
  type AddressPoolSpec,
  type AllocationOutcome,
  explainRefusal,
  reservedAddresses,
} from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'

/**
 * Of an IPv6 subnet only so many addresses are looked at: the length of the prefix that has them.
 */
const WINDOW_LENGTH = 112

/**
 * A pool of one range. Every address that it gives has an owner of its own, where nothing else is
 * said.
 */
export class RangePool {
  readonly pool: AddressPool
  #owners = 0

  constructor(
    readonly subnet: Prefix,
    spec: Omit<AddressPoolSpec, 'ranges'>,
  ) {
    this.pool = new AddressPool({ ranges: RangeSet.fromRanges([windowOf(subnet)]), ...spec })
  }

  next(uid = this.#newOwner()): AllocationOutcome {
    return this.pool.allocate({ owner: { uid } })
  }

  allocate(address: Address, uid = this.#newOwner()): AllocationOutcome {
    return this.pool.allocate({ owner: { uid }, want: { kind: 'address', address } })
  }

  release(address: Address): void {
    for (const owner of this.pool.ownersOf(address)) this.pool.release(address, owner)
  }

  #newOwner(): string {
    return `owner-${++this.#owners}`
  }
}

function windowOf(subnet: Prefix): Range {
  const first = Prefix.first(subnet)
  return Range.fromPrefix(Prefix.of(first, first.family === 6 ? Math.max(subnet.length, WINDOW_LENGTH) : subnet.length))
}

/** The addresses of subnets that are given to nobody. */
export function edgesOf(subnets: readonly Prefix[]): RangeSet {
  return reservedAddresses(subnets, 'service')
}

/** An error of upstream: its name if it has one, and its text. */
export interface UpstreamError {
  readonly name?: string
  readonly text: string
}

const ERR_ALLOCATED: UpstreamError = { name: 'ErrAllocated', text: 'provided IP is already allocated' }

/** What upstream says of a request that was not given what it wants. */
export function errorOf(outcome: AllocationOutcome): UpstreamError {
  switch (outcome.kind) {
    case 'exhausted':
      return { name: 'ErrFull', text: 'subnet address pool exhausted' }
    case 'taken':
      return ERR_ALLOCATED
    case 'outOfPool':
      return { name: 'ErrNotInRange', text: 'provided IP is not in the valid range' }
    default:
      return { text: explainRefusal(outcome) ?? outcome.kind }
  }
}

/** The texts of a set of subnets. */
export interface SubnetTexts {
  readonly subnets: readonly string[]
  readonly excludeSubnets: readonly string[]
  readonly reservedSubnets: readonly string[]
}

/** The pools of a set of subnets. */
export interface SubnetPools {
  /** Of each subnet, in order: they give the next address. */
  readonly ranges: readonly RangePool[]
  /** Of each reserved subnet: they give only the address that is asked for. */
  readonly named: readonly RangePool[]
  readonly excluded: RangeSet
}

export function poolsOf(fields: SubnetTexts): SubnetPools {
  const subnets = fields.subnets.map((text) => Prefix.parse(text))
  const reserved = fields.reservedSubnets.map((text) => Prefix.parse(text))
  const excluded = RangeSet.parse(fields.excludeSubnets)
  const notNext = RangeSet.union(excluded, RangeSet.fromPrefixes(reserved))
  const notNamed = RangeSet.union(excluded, edgesOf(subnets))
  return {
    ranges: subnets.map(
      (subnet) =>
        new RangePool(subnet, { exclude: notNext, reserved: edgesOf([subnet]), strategy: { kind: 'next-fit' } }),
    ),
    named: reserved.map((subnet) => new RangePool(subnet, { exclude: notNamed })),
    excluded,
  }
}

/** The first subnet to keep back that lies in none of the subnets. */
export function strangerOf({ subnets, reservedSubnets, excludeSubnets }: SubnetTexts): string | undefined {
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
export function nextIps({ ranges }: SubnetPools, uid: string, name: string): SubnetResult {
  const ips: string[] = []
  const undos: (() => boolean)[] = []
  for (const range of ranges) {
    const outcome = range.next(uid)
    if (outcome.kind !== 'allocated') {
      for (const undo of undos) undo()
      const error = errorOf(outcome)
      return { ips: [], error: { ...error, text: `failed to allocate new IPs for ${name}: ${error.text}` } }
    }
    undos.push(() => range.pool.undo(outcome.delta))
    ips.push(`${Address.format(outcome.address)}/${range.subnet.length}`)
  }
  return { ips }
}

/** All of the addresses, at most one from each pool, or none. */
export function allocateIps(ips: readonly Address[], pools: SubnetPools, uid: string, name: string): SubnetResult {
  const undos: (() => boolean)[] = []
  for (const address of ips) {
    const holds = (range: RangePool) => Prefix.contains(range.subnet, address)
    const range = pools.named.find(holds) ?? pools.ranges.find(holds)
    const outcome = range?.allocate(address, uid)
    if (range !== undefined && outcome?.kind === 'allocated') {
      undos.push(() => range.pool.undo(outcome.delta))
      continue
    }
    for (const undo of undos) undo()
    const words = `failed to allocate IP ${Address.format(address)} for ${name}`
    if (range === undefined || outcome === undefined) {
      return { ips: [], error: { text: `${words}: not contained in any known subnet` } }
    }
    // to upstream what is excluded is allocated
    if (RangeSet.contains(pools.excluded, address)) return { ips: [], error: ERR_ALLOCATED }
    // the owner is that of this call: it has been given another address of the pool, or the same
    const hasOne = outcome.kind === 'refused' || outcome.kind === 'already'
    if (!hasOne) return { ips: [], error: errorOf(outcome) }
    const kind = pools.named.includes(range) ? 'static' : 'continuous'
    const text = `${words}: attempted to reserve multiple IPs in the same ${kind} IPAM instance`
    return { ips: [], error: { text } }
  }
  return { ips: [] }
}

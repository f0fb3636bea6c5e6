import { Address, Prefix } from 'ipam-kit/cidr'
import { isRecord } from './answer.js'

/** A deliberate difference from what the cases expect. Each is explained in docs/reference/deviations.md, under its id. */
export interface Deviation {
  readonly id: string
  /** The case file, without `.json`. */
  readonly file: string
  readonly reason: string
  /** Whether the rule is about such an input. */
  applies(input: unknown): boolean
  /** What the library answers instead of what the case expects. The same value, where the rule makes no difference to it. */
  expect(input: unknown, expected: unknown): unknown
}

export const deviations: readonly Deviation[] = [
  {
    id: 'free-never-negative',
    file: 'capi-pool-status',
    reason:
      'free is how many addresses can still be handed out; upstream subtracts addresses that are out of range from the total as well',
    applies: (input) => isRecord(input) && isAddressPool(input.kind) && input.updatedSpec !== undefined,
    expect: (_, expected) => withFreeAddresses(expected),
  },
  {
    id: 'never-wraps',
    file: 'whereabouts-iphelpers',
    reason:
      'behind the last address of a family comes none, and none before the first; upstream goes on at the other end',
    applies: hasNoNeighbour,
    expect: () => ({ error: true }),
  },
  {
    id: 'metallb-selectors',
    file: 'whereabouts-metallb-pools',
    reason: 'out of scope: selectors of namespaces are the configuration of MetalLB, which judges it itself',
    applies: (input) => isRecord(input) && Array.isArray(input.namespaces) && Object.keys(input).length === 1,
    expect: () => ({ notModelled: ['namespaces'] }),
  },
  {
    id: 'any-number-of-children',
    file: 'nodeipam-cidrset',
    reason:
      'an IPv6 prefix may have any number of children: none of them costs anything before it is given; upstream stops at 2^16',
    applies: (input) => isRecord(input) && childBitsOf(input) > MOST_CHILD_BITS,
    expect: (input, expected) =>
      isRecord(input) && isRecord(expected) && expected.error === 'subnetTooBig' ? withChildren(input) : expected,
  },
]

/** The ends of the address spaces, where upstream wraps around. */
const ends: { readonly [fn: string]: readonly string[] } = {
  increment: ['255.255.255.255', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  decrement: ['0.0.0.0', '::'],
}

/** Whether upstream is asked for the address after the last one, or before the first one. It takes IPv4-mapped IPv6 for IPv4. */
function hasNoNeighbour(input: unknown): boolean {
  if (!isRecord(input) || typeof input.ip !== 'string' || typeof input.fn !== 'string') return false
  const address = Address.safeParse(input.ip)
  if (!address.ok || !Object.hasOwn(ends, input.fn)) return false
  return ends[input.fn]?.includes(Address.format(Address.unmap(address.value))) === true
}

/** Upstream's limit, for IPv6 alone. */
const MOST_CHILD_BITS = 16

/** How many bits longer a child is than the IPv6 prefix that it is carved from; 0 for other inputs. */
function childBitsOf(input: { readonly [key: string]: unknown }): number {
  const { clusterCIDR, subnetPrefix, perNodeHostBits } = input
  const cluster = typeof clusterCIDR === 'string' ? Prefix.safeParse(clusterCIDR) : undefined
  if (cluster?.ok !== true || cluster.value.address.family !== 6) return 0
  const length = typeof perNodeHostBits === 'number' ? 128 - perNodeHostBits : subnetPrefix
  return typeof length === 'number' && length <= 128 ? length - cluster.value.length : 0
}

/** The first two children where nothing else is asked; else no more than that there is no error. */
function withChildren(input: { readonly [key: string]: unknown }): unknown {
  if (Object.keys(input).length > 2) return { error: false }
  const cluster = Prefix.masked(Prefix.parse(String(input.clusterCIDR)))
  const length = cluster.length + childBitsOf(input)
  return { allocations: [0, 1].map((index) => Prefix.format(Prefix.subnetAt(cluster, length, index))) }
}

function isAddressPool(kind: unknown): boolean {
  return kind === 'InClusterIPPool' || kind === 'GlobalInClusterIPPool'
}

/** The counts, at every level, with those out of range not taken off `free`. */
function withFreeAddresses(expected: unknown): unknown {
  if (!isRecord(expected)) return expected
  const deeper = Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, withFreeAddresses(value)]))
  const { free, outOfRange } = deeper
  return typeof free === 'number' && typeof outOfRange === 'number' ? { ...deeper, free: free + outOfRange } : deeper
}

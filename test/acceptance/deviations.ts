import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { vmClaimName } from 'ipam-kit/crd/ipamclaims'
import { isRecord } from './answer.js'

/**
 * A deliberate difference from what the cases expect. Each is explained in
 * docs/reference/deviations.md, under its id.
 */
export interface Deviation {
  readonly id: string
  /** The case file, without `.json`. */
  readonly file: string
  readonly reason: string
  /** Whether the rule is about such an input. */
  applies(input: unknown): boolean
  /**
   * What the library answers instead of what the case expects. The same value, where the rule makes
   * no difference to it.
   */
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
      'behind the last address of a family comes none, and none before the first; upstream continues at the other end',
    applies: hasNoNeighbour,
    expect: () => ({ error: true }),
  },
  {
    id: 'metallb-selectors',
    file: 'whereabouts-metallb-pools',
    reason: 'out of scope: what selectors may say is the configuration of MetalLB, which judges it itself',
    applies: isMetallbSelectors,
    expect: (input) => ({ notModelled: Object.keys(input as object) }),
  },
  {
    id: 'metal3-size-as-given',
    file: 'capi-metal3',
    reason:
      'the size of an entry is how many addresses it gives; upstream counts those below the address that is written in a subnet as well',
    applies: (input) => behindWritten(input) !== undefined,
    expect: (input, expected) =>
      isRecord(expected) && typeof expected.size === 'number'
        ? { ...expected, size: Number(behindWritten(input)) }
        : expected,
  },
  {
    id: 'pool-space-is-exact',
    file: 'whereabouts-calico-blocks',
    reason: 'counts are exact, however large they are; upstream stops at 2^63 - 1',
    applies: (input) => spaceOf(input).capacity !== undefined,
    expect: (input, expected) => withExactSpace(spaceOf(input), expected),
  },
  {
    id: 'reservation-takes-its-container',
    file: 'whereabouts-cni',
    reason:
      'an ADD writes its container into a reservation of its Pod that is there, so that the deletion of the earlier one, decided before, is refused; upstream leaves it as it is, and the deletion can take it away',
    applies: hasReservationOfPod,
    expect: (_, expected) =>
      isRecord(expected) && expected.reservationWritten === false
        ? { ...expected, reservationWritten: true }
        : expected,
  },
  {
    id: 'words-for-json',
    file: 'persistent-network-config',
    reason:
      'a text of JSON that cannot be read is refused in the words of ipam-kit, with the member; upstream names types of Go',
    applies: isNoConfiguration,
    expect: (_, expected) =>
      isRecord(expected) && typeof expected.error === 'string' ? { ...expected, error: true } : expected,
  },
  {
    id: 'claim-of-another-network',
    file: 'persistent-claim-controllers',
    reason:
      'a claim of the machine whose network is another one than that of the interface is reported; upstream does not compare them',
    applies: hasClaimOfAnotherNetwork,
    expect: (_, expected) => (isRecord(expected) && expected.error === null ? { ...expected, error: true } : expected),
  },
  {
    id: 'nothing-to-give-back',
    file: 'persistent-pod-allocation',
    reason:
      'an address is taken when the Pod can have all that it asks for, and one of a claim stays with the claim; upstream takes it before, and gives it back',
    applies: (input) =>
      isRecord(input) && (hasWrongMAC(input.request) || (isClaimHeld(input) && isRecord(input.request))),
    expect: (input, expected) =>
      isRecord(expected) && isRecord(input)
        ? { ...expected, releasedOnError: [], ...(isClaimHeld(input) && { releasedOnRollback: [] }) }
        : expected,
  },
  {
    id: 'no-tunnel-ids',
    file: 'persistent-pod-allocation',
    reason: 'out of scope: the ids of tunnels are those of the network plugin, which gives and releases them',
    applies: (input) => isRecord(input) && isRecord(input.pod),
    expect: (_, expected) => (isRecord(expected) ? { ...expected, releasesID: false } : expected),
  },
  {
    id: 'sweep-keeps-what-is-unreported',
    file: 'whereabouts-reconciler',
    reason:
      'a Pod whose network status is not there yet or cannot be read keeps its addresses while it exists; upstream frees them',
    applies: (input) => unreportedPods(input).size > 0,
    expect: withUnreported,
  },
  {
    id: 'sweep-needs-the-pod-alone',
    file: 'whereabouts-reconciler',
    reason:
      'a row is freed when its Pod does not exist, whether its network can be found or not; upstream needs the network, and frees it while a Pod of the name is being deleted',
    applies: (input) =>
      isRecord(input) &&
      input.event === 'podDeleted' &&
      (isLostNetwork(input.nad) || isChange(input.newPodDeletionTimestamp)),
    expect: (input, expected) => withPodAlone(isRecord(input) && input.samePodNameExists === true, expected),
  },
  {
    id: 'child-length-may-change',
    file: 'whereabouts-other-allocators',
    reason: 'prefixes of several lengths lie side by side, so their length may change; upstream refuses that',
    applies: (input) => isRecord(input) && (isChange(input.v4Mask) || isChange(input.v6Mask)),
    expect: (_, expected) =>
      isRecord(expected) && expected.error !== undefined ? { ...expected, error: false } : expected,
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
  {
    id: 'any-number-of-node-subnets',
    file: 'nodeipam-observed-quirks',
    reason:
      'an IPv6 range of a ClusterCIDR may have any number of subnets, as upstream validates it; its allocator stops at 2^16',
    applies: (input) => isRecord(input) && childBitsOf(input) > MOST_CHILD_BITS,
    expect: (_, expected) => (isRecord(expected) && expected.error === 'subnetTooBig' ? { error: false } : expected),
  },
]

/** Whether the machine of a case runs, and a claim of it is of none of the networks. */
function hasWrongMAC(request: unknown): boolean {
  return isRecord(request) && typeof request.mac === 'string' && !/^([\da-f]{2}:){5}[\da-f]{2}$/i.test(request.mac)
}

/** Whether a claim holds the addresses of the Pod. */
function isClaimHeld({ network, request, claim }: { readonly [field: string]: unknown }): boolean {
  return (
    isRecord(network) &&
    network.allowPersistentIPs === true &&
    isRecord(request) &&
    typeof request.claim === 'string' &&
    isRecord(claim)
  )
}

function hasClaimOfAnotherNetwork(input: unknown): boolean {
  if (!isRecord(input) || !isRecord(input.vmi) || !Array.isArray(input.claims) || !Array.isArray(input.nads))
    return false
  const owner = isRecord(input.vm) ? input.vm : input.vmi
  if (owner.deletionTimestamp !== undefined) return false
  const { networks } = input.vmi
  const names = (Array.isArray(networks) ? networks : []).map(({ name }) =>
    vmClaimName({ vm: String(owner.name), network: name }),
  )
  const known = input.nads.map(({ config }) => (isRecord(config) ? config.name : undefined))
  return input.claims.some((claim) => {
    if (!isRecord(claim) || !isRecord(claim.spec) || claim.deletionTimestamp !== undefined) return false
    const [reference, another] = Array.isArray(claim.ownerReferences) ? claim.ownerReferences : []
    const isOwn = another === undefined && isRecord(reference) && reference.uid === owner.uid
    return isOwn && names.some((name) => name.ok && name.value === claim.name) && !known.includes(claim.spec.network)
  })
}

/** The ends of the address spaces, where upstream wraps around. */
const ends: { readonly [fn: string]: readonly string[] } = {
  increment: ['255.255.255.255', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  decrement: ['0.0.0.0', '::'],
}

/**
 * Whether upstream is asked for the address after the last one, or before the first one. It takes
 * IPv4-mapped IPv6 for IPv4.
 */
function hasNoNeighbour(input: unknown): boolean {
  if (!isRecord(input) || typeof input.ip !== 'string' || typeof input.fn !== 'string') return false
  const address = Address.safeParse(input.ip)
  if (!address.ok || !Object.hasOwn(ends, input.fn)) return false
  return ends[input.fn]?.includes(Address.format(Address.unmap(address.value))) === true
}

/** Whether an input is one of the lists of selectors of a MetalLB pool, and nothing else. */
function isMetallbSelectors(input: unknown): boolean {
  if (!isRecord(input)) return false
  const [key, another] = Object.keys(input)
  const isSelector = key === 'namespaces' || key === 'namespaceSelectors' || key === 'serviceSelectors'
  return isSelector && another === undefined && Array.isArray(input[key])
}

/**
 * How many addresses lie behind the one that is written in a subnet with host bits, where the size
 * of a metal3 entry of no more than that is asked for.
 */
function behindWritten(input: unknown): bigint | undefined {
  if (!isRecord(input) || input.function !== 'poolSize' || !isRecord(input.pool)) return undefined
  const { start, end, subnet } = input.pool
  const prefix = typeof subnet === 'string' ? Prefix.safeParse(subnet) : undefined
  if (typeof start === 'string' || typeof end === 'string' || prefix?.ok !== true) return undefined
  const written = prefix.value.address
  if (Address.equals(written, Prefix.first(prefix.value))) return undefined
  return Address.distance(written, Prefix.last(prefix.value))
}

/** Whether the length of the prefixes of a pool is more than one, one after the other. */
function isChange(lengths: unknown): boolean {
  return Array.isArray(lengths) && new Set(lengths).size > 1
}

const LARGEST_INT = 2n ** 63n - 1n

/**
 * The counts of a pool of Calico that has more addresses than upstream counts, by their names in
 * the cases; none for other inputs.
 */
function spaceOf(input: unknown): { readonly [key: string]: bigint } {
  if (!isRecord(input) || typeof input.pool !== 'string' || input.blockSize !== undefined) return {}
  const pool = Prefix.safeParse(input.pool)
  if (!pool.ok || Prefix.size(pool.value) <= LARGEST_INT) return {}
  const capacity = Prefix.size(pool.value)
  const [reserved, blocks] = [setOf(input.reservations), setOf(input.blocks)]
  const unreserved = RangeSet.complement(reserved, pool.value)
  const outside = RangeSet.subtract(unreserved, blocks)
  return { capacity, reserved: capacity - RangeSet.size(unreserved), availableOutsideBlocks: RangeSet.size(outside) }
}

function isLostNetwork(nad: unknown): boolean {
  return nad === 'missing' || nad === 'absent' || nad === 'gone' || nad === 'deleted'
}

/** Whether the row is freed, and its event, by whether a Pod of the name exists. */
function withPodAlone(exists: boolean, expected: unknown): unknown {
  if (!isRecord(expected)) return expected
  const event = exists ? null : 'IPAddressGarbageCollected'
  return { ...expected, released: !exists, ...(Object.hasOwn(expected, 'event') && { event }) }
}

/** The Pods of a case without a network status that can be read. */
function unreportedPods(input: unknown): ReadonlySet<string> {
  const pods = isRecord(input) && Array.isArray(input.pods) ? input.pods.filter(isRecord) : []
  const unreported = pods.filter(({ ips, phase, networkStatus }) => {
    if (phase === 'Pending') return true
    return !Array.isArray(ips) && !(Array.isArray(networkStatus) || isJson(networkStatus))
  })
  return new Set(unreported.map(({ ref }) => String(ref)))
}

function isJson(text: unknown): boolean {
  try {
    return typeof text === 'string' && Array.isArray(JSON.parse(text))
  } catch {
    return false
  }
}

/** The expectation with the rows of Pods that report nothing among those that are left. */
function withUnreported(input: unknown, expected: unknown): unknown {
  if (!isRecord(input) || !isRecord(expected)) return expected
  const pods = unreportedPods(input)
  const pool = isRecord(input.pool) ? Prefix.safeParse(String(input.pool.range)) : undefined
  const rows = isRecord(input.allocations) ? Object.entries(input.allocations) : []
  const kept = rows.filter(([, podref]) => pods.has(String(podref)))
  const addresses = new Set(
    kept.flatMap(([key]) => (pool?.ok ? [Address.format(Address.add(pool.value.address, BigInt(key)))] : [])),
  )
  const result: { [key: string]: unknown } = { ...expected }
  if (Array.isArray(expected.orphans)) result.orphans = expected.orphans.filter((each) => !addresses.has(String(each)))
  if (isRecord(expected.left)) result.left = { ...expected.left, ...Object.fromEntries(kept) }
  if (Array.isArray(expected.reservationsLeft) && isRecord(input.reservations)) {
    const own = Object.entries(input.reservations).filter(([, podref]) => pods.has(String(podref)))
    result.reservationsLeft = [...new Set([...expected.reservationsLeft, ...own.map(([name]) => name)])]
  }
  return result
}

/** Whether the Pod of the request has a reservation from before. */
function hasReservationOfPod(input: unknown): boolean {
  if (!isRecord(input) || !isRecord(input.reservation) || !isRecord(input.request)) return false
  return Object.values(input.reservation).includes(input.request.podRef)
}

/** The addresses of a list of texts, without those that are none. */
function setOf(list: unknown): RangeSet {
  const entries = (Array.isArray(list) ? list : []).map((entry) => RangeSet.safeParseEntry(String(entry).trim()))
  return RangeSet.fromRanges(entries.flatMap((entry) => (entry.ok ? [entry.value] : [])))
}

/** The counts that upstream has no number for, as text. */
function withExactSpace(space: { readonly [key: string]: bigint }, expected: unknown): unknown {
  if (!isRecord(expected)) return expected
  const exact = Object.entries(space).filter(([key, count]) => Object.hasOwn(expected, key) && count > LARGEST_INT)
  return { ...expected, ...Object.fromEntries(exact.map(([key, count]) => [key, String(count)])) }
}

/** Upstream's limit, for IPv6 alone. */
const MOST_CHILD_BITS = 16

/**
 * How many bits longer a child is than the IPv6 prefix that it is carved from; 0 for other inputs.
 */
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

/** The types of members of a network configuration that upstream reads, other than texts. */
const OTHER_MEMBERS: { readonly [member: string]: string } = {
  ipam: 'object',
  allowPersistentIPs: 'boolean',
  mtu: 'number',
  vlanID: 'number',
}
const TEXT_MEMBERS = [
  'name',
  'type',
  'netAttachDefName',
  'topology',
  'role',
  'subnets',
  'excludeSubnets',
  'reservedSubnets',
]

/**
 * Whether a configuration has a member of another type, or an annotation of the default network is
 * not JSON.
 */
function isNoConfiguration(input: unknown): boolean {
  if (!isRecord(input)) return false
  const { op, config, annotations } = input
  if (op === 'parseNetConf' && isRecord(config)) {
    return [...TEXT_MEMBERS, ...Object.keys(OTHER_MEMBERS)].some((member) => {
      const value = config[member] ?? undefined
      return value !== undefined && typeof value !== (OTHER_MEMBERS[member] ?? 'string')
    })
  }
  const text = op === 'podNetworkMapping' && isRecord(annotations) && annotations['v1.multus-cni.io/default-network']
  if (typeof text !== 'string' || !/[[{"]/.test(text)) return false
  try {
    JSON.parse(text)
    return false
  } catch {
    return true
  }
}

import { Address, type Family, Prefix } from '../../cidr/index.js'
import { whyNotPrefix } from '../../cidr/internal.js'
import type { ClusterCIDRSpec } from '../../crd/node-ipam/cluster-cidr.js'
import { MAX_IPV6_SUBNET_BITS, MIN_PER_NODE_HOST_BITS } from '../../crd/node-ipam/names.js'
import { check } from '../../errors/check.js'
import { quote } from '../../errors/quote.js'
import { type NodeRange, rangeOf, readRange, subnetSpace } from './range.js'

/** The name of the ClusterCIDR that is made from flags. The same as upstream's. */
export const DEFAULT_CLUSTER_CIDR = 'default-cluster-cidr'

/** The default lengths of subnets in kube-controller-manager. */
const DEFAULT_LENGTH = { 4: 24, 6: 64 } as const

/** Flags of kube-controller-manager about the subnets of Nodes, as texts from its command line. */
export interface NodeIPAMFlags {
  /** `--allocate-node-cidrs`. */
  readonly allocateNodeCIDRs?: boolean | undefined
  /** `--cluster-cidr`: one CIDR, or one of each family with a comma between. */
  readonly clusterCIDR?: string | undefined
  /** `--node-cidr-mask-size`: of a cluster with one family. */
  readonly nodeCIDRMaskSize?: number | undefined
  /** `--node-cidr-mask-size-ipv4`. Default 24. */
  readonly nodeCIDRMaskSizeIPv4?: number | undefined
  /** `--node-cidr-mask-size-ipv6`. Default 64. */
  readonly nodeCIDRMaskSizeIPv6?: number | undefined
  /** `--service-cluster-ip-range`: one CIDR, or one of each family with a comma between. */
  readonly serviceCIDR?: string | undefined
  /** A second service range, of the other family. */
  readonly secondaryServiceCIDR?: string | undefined
}

/** The meaning of flags. */
export interface FlagRanges {
  /** In the order of the flag. */
  readonly clusterCIDRs: readonly Prefix[]
  /** The length of a subnet of each. */
  readonly nodeMaskSizes: readonly number[]
  readonly serviceCIDRs: readonly Prefix[]
  /** Flags that are ignored, one sentence each. */
  readonly warnings: readonly string[]
}

/** A value, or one sentence for each problem. */
export type FlagResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] }

/**
 * Reads flags by the rules of kube-controller-manager 1.36.
 *
 * @see https://github.com/kubernetes/kubernetes/tree/master/cmd/kube-controller-manager
 */
export function readFlags(flags: NodeIPAMFlags): FlagResult<FlagRanges> {
  check('readFlags', 'flags', flags, [
    'open',
    { clusterCIDR: 'text?', serviceCIDR: 'text?', secondaryServiceCIDR: 'text?' },
  ])

  const problems: string[] = []
  const warnings: string[] = []
  if (flags.allocateNodeCIDRs === false) problems.push('--allocate-node-cidrs is false')
  const clusterCIDRs = prefixesOf(flags.clusterCIDR, '--cluster-cidr', problems)
  if (clusterCIDRs.length === 0 && problems.length === 0) problems.push('--cluster-cidr names no range')
  problems.push(...familyProblems(clusterCIDRs, '--cluster-cidr'))
  const services = [flags.serviceCIDR, flags.secondaryServiceCIDR].filter((text) => text !== undefined && text !== '')
  const serviceCIDRs = prefixesOf(services.join(','), '--service-cluster-ip-range', warnings)
  problems.push(...familyProblems(serviceCIDRs, '--service-cluster-ip-range'))
  const nodeMaskSizes = clusterCIDRs.map(({ address: { family } }) => {
    const own = family === 4 ? flags.nodeCIDRMaskSizeIPv4 : flags.nodeCIDRMaskSizeIPv6
    return own || (clusterCIDRs.length === 1 && flags.nodeCIDRMaskSize) || DEFAULT_LENGTH[family]
  })
  problems.push(...maskProblems(flags, clusterCIDRs, warnings))
  if (problems.length > 0) return { ok: false, problems }
  const range = flagRange(clusterCIDRs, nodeMaskSizes)
  return range.ok ? { ok: true, value: { clusterCIDRs, nodeMaskSizes, serviceCIDRs, warnings } } : range
}

/**
 * The range that kube-controller-manager makes of its flags: a Node gets one subnet of each cluster
 * CIDR, in their order. IPv6 ranges have at most 65,536 subnets.
 *
 * @param nodeMaskSizes the length of a subnet of each
 */
export function flagRange(clusterCIDRs: readonly Prefix[], nodeMaskSizes: readonly number[]): FlagResult<NodeRange> {
  check('flagRange', 'clusterCIDRs', clusterCIDRs, ['list', whyNotPrefix])
  check('flagRange', 'nodeMaskSizes', nodeMaskSizes, 'list')

  const problems = clusterCIDRs.flatMap((prefix, index) => {
    const { length, address } = prefix
    const mask = nodeMaskSizes[index]
    const text = Prefix.format(Prefix.masked(prefix))
    if (mask === undefined || !Number.isInteger(mask) || mask < length || mask > Address.bitsOf(address.family)) {
      return [`subnets of ${text} cannot have the length ${mask}`]
    }
    const isTooBig = address.family === 6 && mask - length > MAX_IPV6_SUBNET_BITS
    return isTooBig ? [`${text} has more than 65,536 subnets of the length ${mask}`] : []
  })
  if (clusterCIDRs.length === 0) problems.push('there is no range')
  const overlapping = clusterCIDRs.some((prefix, index) =>
    clusterCIDRs.slice(0, index).some((one) => Prefix.overlaps(one, prefix)),
  )
  if (overlapping) problems.push('two ranges overlap')
  if (problems.length > 0) return { ok: false, problems }
  return {
    ok: true,
    value: rangeOf(
      'flags',
      clusterCIDRs.map((prefix, index) => subnetSpace(prefix, nodeMaskSizes[index]!)),
    ),
  }
}

/**
 * The spec of the ClusterCIDR `default-cluster-cidr` that node-ipam-controller makes of flags. Both
 * families share the number of host bits: that of IPv4 if it is from 4 to that of IPv6, else that
 * of IPv6 if it is from 4 to 32.
 */
export function defaultClusterCIDR(
  input: Pick<FlagRanges, 'clusterCIDRs' | 'nodeMaskSizes'>,
): FlagResult<ClusterCIDRSpec> {
  check('defaultClusterCIDR', 'input', input, ['open', { clusterCIDRs: ['list', whyNotPrefix], nodeMaskSizes: 'list' }])
  const { clusterCIDRs, nodeMaskSizes } = input

  const problems = familyProblems(clusterCIDRs, '--cluster-cidr')
  const of = (family: Family) => clusterCIDRs.findIndex(({ address }) => address.family === family)
  const bitsOf = (family: Family) => Address.bitsOf(family) - (nodeMaskSizes[of(family)] ?? Number.NaN)
  const [v4, v6] = [of(4), of(6)].map(
    (index) => clusterCIDRs[index] && Prefix.format(Prefix.masked(clusterCIDRs[index])),
  )
  const bits = hostBits(v4 === undefined ? undefined : bitsOf(4), v6 === undefined ? undefined : bitsOf(6))
  if (bits === undefined)
    problems.push(`no number of host bits is right for subnets of the lengths ${nodeMaskSizes.join(' and ')}`)
  if (problems.length > 0 || bits === undefined) return { ok: false, problems }
  const spec: ClusterCIDRSpec = { perNodeHostBits: bits, ...(v4 && { ipv4: v4 }), ...(v6 && { ipv6: v6 }) }
  const read = readRange({ metadata: { name: DEFAULT_CLUSTER_CIDR }, spec })
  return read.ok ? { ok: true, value: spec } : { ok: false, problems: [read.problem] }
}

function hostBits(bits4: number | undefined, bits6: number | undefined): number | undefined {
  const least = MIN_PER_NODE_HOST_BITS
  if (bits4 === undefined || bits6 === undefined) {
    const bits = bits4 ?? bits6
    return bits === undefined || !Number.isInteger(bits) ? undefined : Math.max(least, bits)
  }
  if (bits4 >= least && bits4 <= bits6) return bits4
  return bits6 >= least && bits6 <= 32 ? bits6 : undefined
}

/** The prefixes of a comma-separated list; unreadable ones are added to `unread`. */
function prefixesOf(text: string | undefined, flag: string, unread: string[]): readonly Prefix[] {
  const texts = (text ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
  return texts.flatMap((each) => {
    const read = Prefix.safeParse(each, { profile: 'k8s-legacy-read' })
    if (read.ok) return [Prefix.masked(read.value)]
    unread.push(`${flag}: ${quote(each)} is not a CIDR`)
    return []
  })
}

function familyProblems(prefixes: readonly Prefix[], flag: string): string[] {
  if (prefixes.length > 2) return [`${flag} names ${prefixes.length} ranges, and may name 2`]
  const isSame = prefixes.length === 2 && prefixes[0]!.address.family === prefixes[1]!.address.family
  return isSame
    ? [`${flag} names two ranges of IPv${prefixes[0]!.address.family}, and may name one of each family`]
    : []
}

function maskProblems(
  { nodeCIDRMaskSize, nodeCIDRMaskSizeIPv4, nodeCIDRMaskSizeIPv6 }: NodeIPAMFlags,
  clusterCIDRs: readonly Prefix[],
  warnings: string[],
): readonly string[] {
  const isDual = clusterCIDRs.length > 1
  const ofFamily = [nodeCIDRMaskSizeIPv4, nodeCIDRMaskSizeIPv6]
  if (isDual) return nodeCIDRMaskSize ? ['--node-cidr-mask-size is for one family: name the length of each family'] : []
  if (nodeCIDRMaskSize && ofFamily.some(Boolean)) {
    return ['--node-cidr-mask-size and the flag of a family exclude each other']
  }
  const family = clusterCIDRs[0]?.address.family
  if (family === 6 && nodeCIDRMaskSizeIPv4) warnings.push('--node-cidr-mask-size-ipv4 is ignored: no range is IPv4')
  if (family === 4 && nodeCIDRMaskSizeIPv6) warnings.push('--node-cidr-mask-size-ipv6 is ignored: no range is IPv6')
  return []
}

import { Prefix } from '../../cidr/index.js'
import { check } from '../../errors/check.js'
import { quote } from '../../errors/quote.js'
import type { KubeObject } from '../meta/object.js'
import type { Node } from './node.js'

/** The subnets of the Pods of a Node, and their problems. */
export interface NodeSubnets {
  /**
   * In the order of `spec.podCIDRs`, each once, host bits cleared; without those that cannot be
   * read.
   */
  readonly subnets: readonly Prefix[]
  /** One for each rule of the Node API that `spec` breaks. */
  readonly problems: readonly NodeSubnetProblem[]
}

export interface NodeSubnetProblem {
  readonly reason: NodeSubnetReason
  /** One sentence, without a final full stop. */
  readonly message: string
}

/** Which rule `spec` breaks. `MalformedCIDR` is not read; all other subnets count as in use. */
export type NodeSubnetReason =
  /** The text is no CIDR. */
  | 'MalformedCIDR'
  /** The CIDR has host bits. Its network counts. */
  | 'HostBits'
  /** There are more than two `podCIDRs`. */
  | 'TooManyPodCIDRs'
  /** There are two of one family. */
  | 'SameFamily'
  /**
   * `podCIDR` is not the first of `podCIDRs`. A store that is no API server may have one of the two
   * fields alone.
   */
  | 'PodCIDRMismatch'

/** The most subnets that a Node may have: one of each family. */
const MOST = 2

/**
 * Reads `spec.podCIDRs` and `spec.podCIDR` of a Node. Every subnet that can be read counts as in
 * use, also where an API server of today would not admit it: too many of them, two of one family,
 * host bits, another `podCIDR` than the first of `podCIDRs`. Never throws, whatever `spec` is.
 * O(length of the list).
 *
 * @example
 * nodeSubnets({ spec: { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24', 'fd00::/64'] } }).subnets.length // 2
 */
export function nodeSubnets(node: { readonly spec?: unknown }): NodeSubnets {
  check('nodeSubnets', 'node', node, 'object')
  const { spec } = node

  const { podCIDR, podCIDRs } = (spec ?? {}) as { readonly [key: string]: unknown }
  const listed: readonly unknown[] = Array.isArray(podCIDRs) ? podCIDRs : [podCIDRs ?? []].flat()
  const own = typeof podCIDR === 'string' && podCIDR !== '' ? podCIDR : undefined
  const problems: NodeSubnetProblem[] = []
  const subnets = new Map<string, Prefix>()
  const counts = { 4: 0, 6: 0 }
  for (const text of own === undefined || listed.includes(own) ? listed : [...listed, own]) {
    // what was stored before an API server became strict may have leading zeros
    const read = typeof text === 'string' ? Prefix.safeParse(text, { profile: 'k8s-legacy-read' }) : undefined
    if (read?.ok !== true) {
      const what = typeof text === 'string' ? quote(text) : `a ${typeof text}`
      problems.push({ reason: 'MalformedCIDR', message: `${what} in podCIDRs is not a CIDR` })
      continue
    }
    const subnet = Prefix.masked(read.value)
    if (!Prefix.equals(subnet, read.value)) {
      problems.push({ reason: 'HostBits', message: `${quote(String(text))} in podCIDRs has host bits` })
    }
    counts[subnet.address.family]++
    subnets.set(Prefix.format(subnet), subnet)
  }
  if (listed.length > MOST) {
    const message = `podCIDRs has ${listed.length} entries, and may have ${MOST}`
    problems.push({ reason: 'TooManyPodCIDRs', message })
  }
  for (const family of [4, 6] as const) {
    if (counts[family] < 2) continue
    problems.push({ reason: 'SameFamily', message: `podCIDRs has two entries of one family, IPv${family}` })
  }
  if (own !== undefined && listed.length > 0 && listed[0] !== own) {
    const message = `podCIDR is ${quote(own)}, and the first of podCIDRs is ${quote(String(listed[0]))}`
    problems.push({ reason: 'PodCIDRMismatch', message })
  }
  return { subnets: [...subnets.values()], problems }
}

/**
 * The part of a Node that IPAM reads, for `keep` of a watch: planners that share it share one
 * watch. Without status but the addresses, without annotations and managed fields, so that what is
 * remembered of a Node is a hundredth of it, and a heartbeat changes nothing.
 */
export function keepNode({ apiVersion, kind, metadata, spec, status }: KubeObject): KubeObject {
  const { name, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp } = metadata
  const { podCIDR, podCIDRs } = (spec ?? {}) as Partial<Node['spec']>
  const { addresses } = (status ?? {}) as { readonly addresses?: unknown }
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp },
    spec: { ...(podCIDR !== undefined && { podCIDR }), ...(podCIDRs !== undefined && { podCIDRs }) },
    ...(addresses !== undefined && { status: { addresses } }),
  } as KubeObject
}

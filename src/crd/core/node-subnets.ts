import { Prefix } from '../../cidr/index.js'
import { quote } from '../../errors/quote.js'
import type { Node } from './node.js'

/** The subnets of the Pods of a Node, and what is wrong with them. */
export interface NodeSubnets {
  /** In the order of `spec.podCIDRs`, host bits cleared; without those that cannot be read. */
  readonly subnets: readonly Prefix[]
  /** One sentence for each rule of the Node API that `spec` breaks, without a final full stop. */
  readonly problems: readonly string[]
}

/** The most subnets that a Node may have: one of each family. */
const MOST = 2

/**
 * Reads `spec.podCIDRs` and `spec.podCIDR` of a Node. Every subnet that can be read counts as in use, also where an API server of today would not admit it: too many of
 * them, two of one family, host bits, another `podCIDR` than the first of `podCIDRs`. O(length of the list).
 *
 * @example
 * nodeSubnets({ spec: { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24', 'fd00::/64'] } }).subnets.length // 2
 */
export function nodeSubnets({ spec }: Pick<Node, 'spec'>): NodeSubnets {
  const { podCIDR = '', podCIDRs = [] } = spec
  const problems: string[] = []
  const isListed = podCIDR === '' || podCIDRs.includes(podCIDR)
  const subnets = (isListed ? podCIDRs : [...podCIDRs, podCIDR]).flatMap((text) => {
    // what was stored before an API server became strict may have leading zeros
    const read = Prefix.safeParse(text, { profile: 'k8s-legacy-read' })
    if (!read.ok) {
      problems.push(`${quote(text)} in podCIDRs is not a CIDR`)
      return []
    }
    const subnet = Prefix.masked(read.value)
    if (!Prefix.equals(subnet, read.value)) problems.push(`${quote(text)} in podCIDRs has host bits`)
    return [subnet]
  })
  if (podCIDRs.length > MOST) problems.push(`podCIDRs has ${podCIDRs.length} entries, and may have ${MOST}`)
  else if (new Set(subnets.map(({ address }) => address.family)).size < subnets.length && isListed) {
    problems.push('podCIDRs has two entries of one family')
  }
  if (podCIDR !== (podCIDRs[0] ?? '')) {
    problems.push(`podCIDR is ${quote(podCIDR)}, and the first of podCIDRs is ${quote(podCIDRs[0] ?? '')}`)
  }
  return { subnets, problems }
}

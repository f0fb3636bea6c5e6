import type { Family } from '../../cidr/index.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { nodeSubnets } from '../../crd/core/node-subnets.js'
import type { ClusterCIDR } from '../../crd/node-ipam/cluster-cidr.js'
import { quote } from '../../errors/quote.js'
import type { Holding } from '../../plan/index.js'
import type { NamedRanges, NetworkNode, ViewProblem } from './view.js'

type Prefix = Prefix.Prefix

/** The readable part of an object, and the problems of the rest. */
export interface Reading {
  /** Host bits cleared, each once. */
  readonly prefixes: readonly Prefix[]
  readonly problems: readonly ViewProblem[]
}

/** What ranges are for. */
export type RangeRole = 'pods' | 'services' | 'pools'

/** The ledger of the subnets of Nodes. */
export const NODES = 'nodes'

/** The ledger of deleted ranges of Pods. */
export const DELETED = 'deleted'

/** The most prefixes of one object that configures ranges. */
const MAX_PREFIXES = 64

/**
 * Reads prefixes as older fields of stored objects may contain them. Two texts of one prefix count
 * once.
 */
function readPrefixes(about: string, field: string, texts: readonly string[], family?: 4 | 6): Reading {
  const found = new Map<string, Prefix>()
  const problems: ViewProblem[] = []
  for (const text of texts.slice(0, MAX_PREFIXES)) {
    const read = typeof text === 'string' ? Prefix.safeParse(text, { profile: 'k8s-legacy-read' }) : undefined
    if (read?.ok !== true) {
      const why = read === undefined ? `a ${typeof text} is no CIDR` : read.failure.message
      problems.push({ about, reason: 'MalformedCIDR', message: `${field}: ${why}` })
      continue
    }
    const given = read.value
    if (family !== undefined && given.address.family !== family) {
      problems.push({ about, reason: 'MalformedCIDR', message: `${field}: ${quote(text)} is not of IPv${family}` })
      continue
    }
    const prefix = Prefix.masked(given)
    if (prefix !== given) {
      const message = `${field}: ${quote(text)} has host bits, it counts as ${Prefix.format(prefix)}`
      problems.push({ about, reason: 'HostBits', message })
    }
    found.set(Prefix.format(prefix), prefix)
  }
  if (texts.length > MAX_PREFIXES) {
    const message = `${field}: only the first ${MAX_PREFIXES} of ${texts.length} CIDRs are read`
    problems.push({ about, reason: 'TooManyCIDRs', message })
  }
  return { prefixes: [...found.values()], problems }
}

/**
 * Reads the subnets of a Node. Every readable prefix counts as in use, whatever is wrong with the
 * others.
 */
export function readNode(node: NetworkNode): Reading {
  const { subnets, problems } = nodeSubnets(node)
  const about = `Node ${node.metadata.name}`
  return { prefixes: subnets, problems: problems.map((problem) => ({ about, ...problem })) }
}

/** The families of the prefixes, each once. */
export function familiesOf({ prefixes }: Reading): readonly Family[] {
  return ([4, 6] as const).filter((family) => prefixes.some(({ address }) => address.family === family))
}

/** Reads the ranges of a ClusterCIDR. */
export function readClusterCIDR({ metadata: { name }, spec }: ClusterCIDR): Reading {
  const readings = ([4, 6] as const).flatMap((family) => {
    const text = family === 4 ? spec.ipv4 : spec.ipv6
    return text === undefined || text === ''
      ? []
      : [readPrefixes(`ClusterCIDR ${name}`, `spec.ipv${family}`, [text], family)]
  })
  return {
    prefixes: readings.flatMap(({ prefixes }) => prefixes),
    problems: readings.flatMap(({ problems }) => problems),
  }
}

/** Reads the ranges that another object, or an option, configures. */
export function readRanges(role: RangeRole, { name, cidrs }: NamedRanges): Reading {
  return readPrefixes(role === 'services' ? `serviceCIDR ${name}` : name, 'cidr', cidrs)
}

/** What an object holds in a ledger of a view. */
export function holdingsIn(
  pool: typeof NODES | RangeRole | typeof DELETED,
  key: string,
  { prefixes }: Reading,
): readonly Holding[] {
  const field = pool === NODES ? 'spec.podCIDRs' : 'spec'
  return prefixes.map((prefix) => ({ pool, prefix, key, field }))
}

import * as Prefix from '../../cidr/nouns/prefix.js'
import { describe, quote } from '../../errors/index.js'
import type { NetworkNode, ViewProblem, ViewProblemReason } from './view.js'

type Prefix = Prefix.Prefix

/** What of an object can be read, and what is wrong with the rest. */
export interface Reading {
  /** Host bits cleared, each once. */
  readonly prefixes: readonly Prefix[]
  readonly problems: readonly ViewProblem[]
}

/** The most prefixes of one object that are read. The API server admits two `podCIDRs`; a store without schemas admits any number. */
const MAX_PREFIXES = 64

/** Reads prefixes as older fields of stored objects may hold them. Two texts of one prefix are one. */
export function readPrefixes(about: string, field: string, texts: readonly string[], family?: 4 | 6): Reading {
  const found = new Map<string, Prefix>()
  const problems: ViewProblem[] = []
  for (const text of texts.slice(0, MAX_PREFIXES)) {
    const read = typeof text === 'string' ? Prefix.safeParse(text, { profile: 'k8s-legacy-read' }) : undefined
    if (read?.ok !== true) {
      const why = read === undefined ? `a ${typeof text} is no CIDR` : describe(read.failure)
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
    problems.push({ about, reason: 'TooManyPodCIDRs', message })
  }
  return { prefixes: [...found.values()], problems }
}

/** Reads what a Node uses. What can be read counts as in use, however wrong the rest is. */
export function readNode(node: NetworkNode): Reading {
  const about = `Node ${node.metadata.name}`
  const { podCIDR, podCIDRs } = podCIDRsOf(node)
  const texts = podCIDR === undefined ? podCIDRs : [podCIDR, ...podCIDRs]
  const { prefixes, problems } = readPrefixes(about, 'spec.podCIDRs', [...new Set(texts)])
  const add = (reason: ViewProblemReason, message: string) => problems_.push({ about, reason, message })
  const problems_ = [...problems]
  if (podCIDRs.length > 2) add('TooManyPodCIDRs', `spec.podCIDRs: ${podCIDRs.length} CIDRs, at most 2`)
  for (const family of [4, 6] as const) {
    const own = prefixes.filter(({ address }) => address.family === family)
    if (own.length > 1) add('SameFamily', `spec.podCIDRs: ${own.length} CIDRs of IPv${family}, at most 1`)
  }
  const [first] = podCIDRs
  if (podCIDR !== undefined && first !== undefined && podCIDR !== first) {
    add('PodCIDRMismatch', `spec.podCIDR: ${quote(podCIDR)} is not the first of spec.podCIDRs, ${quote(String(first))}`)
  }
  return { prefixes, problems: problems_ }
}

/** Whether two versions of a Node say the same about its subnets: then a heartbeat or a label has changed. */
export function hasSameSubnets(left: NetworkNode, right: NetworkNode): boolean {
  const [before, now] = [podCIDRsOf(left), podCIDRsOf(right)]
  return (
    before.podCIDR === now.podCIDR &&
    before.podCIDRs.length === now.podCIDRs.length &&
    before.podCIDRs.every((text, index) => text === now.podCIDRs[index])
  )
}

/** An API server fills either field in from the other one; another store may have one of them alone, or something else. */
function podCIDRsOf(node: NetworkNode): { readonly podCIDR: string | undefined; readonly podCIDRs: readonly string[] } {
  const { podCIDR, podCIDRs } = node.spec ?? {}
  return { podCIDR: podCIDR || undefined, podCIDRs: Array.isArray(podCIDRs) ? podCIDRs : [] }
}

import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import {
  type FamilyView,
  type NetworkConflict,
  type NetworkRange,
  type NetworkView,
  networkView,
} from 'ipam-kit/provider/network-view'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, type GivenCase, isRecord, unsupported } from '../answer.js'
import { exactCount } from '../exact-count.js'
import { readInput } from '../read-input.js'

const texts = z.array(z.string())
/** A time, or whether there is one. */
const deletion = z.union([z.boolean(), z.string()]).optional()

const inputSchema = z.strictObject({
  nodes: z.array(
    z.strictObject({
      name: z.string(),
      podCIDR: z.string().optional(),
      podCIDRs: texts.optional(),
      deletionTimestamp: deletion,
    }),
  ),
  clusterCIDRs: z.array(
    z.strictObject({
      name: z.string(),
      /** One range, of either family. */
      cidr: z.string().optional(),
      ipv4: z.string().optional(),
      ipv6: z.string().optional(),
      deletionTimestamp: deletion,
    }),
  ),
  extraCIDRs: z.array(z.union([z.string(), z.strictObject({ name: z.string(), cidr: z.string() })])).optional(),
  serviceCIDRs: texts.optional(),
  summaryMax: z.int().optional(),
  isInternal: texts.optional(),
})

type Input = z.output<typeof inputSchema>

/** What a consumer that takes everything is given. */
const ALL = 1_000_000

/** The view of the Pod network. */
export function nodeipamNetworkView({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const given = known.data
  const view = networkView({
    nodes: given.nodes.map(nodeOf),
    clusterCIDRs: given.clusterCIDRs.map(clusterCIDROf),
    extraCIDRs: (given.extraCIDRs ?? []).map((each) =>
      typeof each === 'string' ? { name: each, cidrs: [each] } : { name: each.name, cidrs: [each.cidr] },
    ),
    serviceCIDRs: given.serviceCIDRs,
  })
  return answerKeys(expect, {
    ...listAnswers(view),
    ...summaryAnswers(view, given.summaryMax ?? ALL),
    ...internalAnswers(view, given.isInternal ?? []),
    error: () => false,
  })
}

function nodeOf({ name, podCIDR, podCIDRs, deletionTimestamp }: Input['nodes'][number]) {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, ...timeOf(deletionTimestamp) },
    spec: { podCIDR, podCIDRs },
  }
}

function clusterCIDROf({ name, cidr = '', ipv4, ipv6, deletionTimestamp }: Input['clusterCIDRs'][number]): ClusterCIDR {
  const { apiVersion, kind } = ClusterCIDR.info
  const is6 = cidr.includes(':')
  const spec = { perNodeHostBits: 8, ipv4: ipv4 ?? (is6 ? '' : cidr), ipv6: ipv6 ?? (is6 ? cidr : '') }
  return { apiVersion, kind, metadata: { name, ...timeOf(deletionTimestamp) }, spec }
}

function timeOf(given: boolean | string | undefined) {
  return given === undefined || given === false
    ? {}
    : { deletionTimestamp: given === true ? '2026-01-01T00:00:00Z' : given }
}

/**
 * The lists of a view, of both families one behind the other or each on its own, as it is asked
 * for.
 */
export function listAnswers(view: NetworkView): Answers {
  const ranges = (list: readonly NetworkRange[]) => list.map(({ prefix }) => Prefix.format(prefix))
  return {
    active: byFamily(view, ({ active }) => ranges(active)),
    proposed: byFamily(view, ({ proposed }) => ranges(proposed)),
    terminating: byFamily(view, ({ terminating }) => ranges(terminating)),
    orphans: (asked) => byFamily(view, ({ orphans }) => subnetsAs(firstOf(asked), orphans))(asked),
    inUse: (asked) => {
      if (typeof asked === 'number') return view.ipv4.inUse.length + view.ipv6.inUse.length
      return byFamily(view, ({ inUse }) => subnetsAs(firstOf(asked), inUse))(asked)
    },
    conflicts: byFamily(view, ({ conflicts }) => conflicts.map(namesOf)),
    known: byFamily(view, ({ known }) => RangeSet.prefixes(known).map(Prefix.format)),
    problems: () => view.problems.map(({ about }) => about),
  }
}

function byFamily(view: NetworkView, read: (family: FamilyView) => readonly unknown[]): (asked: unknown) => unknown {
  return (asked) =>
    isRecord(asked) ? { ipv4: read(view.ipv4), ipv6: read(view.ipv6) } : [...read(view.ipv4), ...read(view.ipv6)]
}

function firstOf(asked: unknown): unknown {
  if (Array.isArray(asked)) return asked[0]
  return isRecord(asked) ? Object.values(asked).flat()[0] : undefined
}

/** Subnets as CIDRs, or with those of their parts that an entry of the question has. */
function subnetsAs(entry: unknown, subnets: FamilyView['inUse']): readonly unknown[] {
  return subnets.map(({ node, prefix, owners }) => {
    const cidr = Prefix.format(prefix)
    if (!isRecord(entry)) return cidr
    const parts: { readonly [key: string]: unknown } = { node, cidr, owner: owners[0] ?? null, owners }
    return Object.fromEntries(Object.keys(entry).map((key) => [key, parts[key]]))
  })
}

function namesOf({ between }: NetworkConflict): readonly string[] {
  return between.map(({ kind, name }) => (kind === 'service' ? `serviceCIDR ${name}` : name))
}

function summaryAnswers({ ipv4, ipv6 }: NetworkView, max: number): Answers {
  const covers = [ipv4, ipv6].map((family) => family.summary(max))
  const prefixes = covers.flatMap((cover) => cover.prefixes).map(Prefix.format)
  return {
    summary: () => prefixes,
    summaryCount: () => prefixes.length,
    addedAddresses: () => exactCount(covers.reduce((sum, { added }) => sum + added, 0n)),
  }
}

/** Traffic between addresses of Pods keeps its source address. */
function internalAnswers({ known }: NetworkView, addresses: readonly string[]): Answers {
  const isInternal = addresses.every((text) => {
    const address = Address.safeParse(text)
    return address.ok && RangeSet.contains(known, address.value)
  })
  return { bothInKnown: () => isInternal, masquerade: () => !isInternal }
}

import { Node, nodeSubnets } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { CLUSTER_CIDR_FINALIZER, ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import * as z from 'zod'
import { isRecord } from './answer.js'

const texts = z.array(z.string())
const labels = z.record(z.string(), z.string())
/** When an object was deleted, or that it was. */
const deletion = z.union([z.boolean(), z.string()])
const metadata = z.looseObject({
  name: z.string().optional(),
  labels: labels.optional(),
  finalizers: texts.optional(),
  deletionTimestamp: deletion.optional(),
})

/**
 * A ClusterCIDR as an object, or with the fields of its metadata and its spec side by side. What
 * its spec says is read by the library alone.
 */
export const rangeSchema = z.looseObject({
  ...metadata.shape,
  metadata: metadata.optional(),
  spec: z.unknown().optional(),
})
export type RangeInput = z.output<typeof rangeSchema>

/** A Node by its name, or as a ClusterCIDR is written. */
export const nodeSchema = z.union([
  z.string(),
  z.looseObject({
    ...metadata.shape,
    metadata: metadata.optional(),
    podCIDR: z.string().optional(),
    podCIDRs: texts.optional(),
    spec: z.looseObject({ podCIDR: z.string().optional(), podCIDRs: texts.optional() }).optional(),
  }),
])
export type NodeInput = z.output<typeof nodeSchema>

export function rangeOf(input: RangeInput, defaultName = 'range'): KubeObject {
  const { perNodeHostBits, nodeSelector, ipv4, ipv6, spec = { perNodeHostBits, nodeSelector, ipv4, ipv6 } } = input
  const given = metadataOf(input, defaultName)
  const finalizers = given.deletionTimestamp === undefined ? [] : [CLUSTER_CIDR_FINALIZER]
  const { apiVersion, kind } = ClusterCIDR.info
  return { apiVersion, kind, metadata: { finalizers, ...given }, spec: withoutNothing(spec) }
}

export function nodeOf(input: NodeInput, defaultName = 'node'): KubeObject {
  const given = typeof input === 'string' ? { name: input } : input
  const { podCIDR, podCIDRs = podCIDR === undefined ? [] : [podCIDR] } = { ...given, ...given.spec }
  const { apiVersion, kind } = Node.info
  const first = podCIDR ?? podCIDRs[0]
  const spec = first === undefined ? {} : { podCIDR: first, podCIDRs }
  return { apiVersion, kind, metadata: metadataOf(given, defaultName), spec }
}

/** Nodes that have these subnets, one each. */
export function holdersOf(cidrs: readonly string[]): KubeObject[] {
  return cidrs.map((cidr, index) => nodeOf({ name: `holder-${index}`, podCIDRs: [cidr] }))
}

/** Whether all subnets of a Node can be read. */
export function isReadable(node: KubeObject): boolean {
  const { podCIDRs = [] } = Node.parse(node).spec
  return nodeSubnets(Node.parse(node)).subnets.length >= podCIDRs.length
}

/** The labels that a ClusterCIDR asks for in its first term. */
export function labelsFor({ spec }: KubeObject): { readonly [key: string]: string } {
  const read = z
    .looseObject({ nodeSelector: z.looseObject({ nodeSelectorTerms: z.array(z.unknown()) }) })
    .safeParse(spec)
  const term = termSchema.safeParse(read.data?.nodeSelector.nodeSelectorTerms[0])
  return Object.fromEntries((term.data?.matchExpressions ?? []).map(({ key, values }) => [key, values[0] ?? '']))
}

const termSchema = z.looseObject({
  matchExpressions: z.array(z.looseObject({ key: z.string(), values: texts.default([]) })).default([]),
})

function metadataOf(input: z.output<typeof rangeSchema>, defaultName: string): KubeObject['metadata'] {
  const { name, labels, finalizers, deletionTimestamp } = { ...input, ...input.metadata }
  const isDeleting = deletionTimestamp !== undefined && deletionTimestamp !== false
  return {
    name: name === undefined || name === '' ? defaultName : name,
    ...(labels !== undefined && { labels }),
    ...(finalizers !== undefined && { finalizers }),
    ...(isDeleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  }
}

/** Without the members that are not there. */
function withoutNothing(spec: unknown): unknown {
  if (!isRecord(spec)) return spec ?? undefined
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined && value !== null))
}

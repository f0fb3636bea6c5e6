import * as Prefix from '../../../cidr/nouns/prefix.js'
import { Node } from '../../../crd/core/index.js'
import { asObject } from '../../../crd/meta/json.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import { kindKey } from '../../../crd/meta/object.js'
import { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { IPPool, type NodeSliceAllocation, NodeSlicePool, poolNamePrefix } from '../../../crd/whereabouts/index.js'
import type { TrimmedWatch, Watch } from '../../../plan/index.js'
import type { RowFacts, SliceNode, SlicePoolFacts } from './context.js'

/** Marks a NodeSlicePool as one that is deleted with its last definition. */
export const MANAGED_ANNOTATION = 'ipam-kit.dev/node-slices'
export const MANAGED = 'managed'

/** The Nodes, by their names alone: a heartbeat leads to no plan. */
export const nodeWatch: TrimmedWatch<SliceNode> = {
  ...Node.info,
  keep: ({ apiVersion, kind, metadata: { name, uid, resourceVersion, creationTimestamp } }) => ({
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, creationTimestamp },
  }),
  parse: ({ metadata: { name } }, before) => ({ ok: true, value: before ?? { name } }),
}

/** The NodeSlicePools of a namespace. */
export function slicePoolWatch(namespace: string): Watch<SlicePoolFacts> {
  return {
    ...NodeSlicePool.info,
    namespace,
    parse(object, before) {
      const read = NodeSlicePool.safeParse(object)
      if (!read.ok) return { ok: false, problem: read.failure.message }
      const { metadata, spec, status } = read.value
      const range = Prefix.safeParse(spec.range)
      const isMarked = metadata.annotations?.[MANAGED_ANNOTATION] === MANAGED
      return {
        ok: true,
        value: {
          object,
          name: metadata.name,
          range: range.ok ? Prefix.masked(range.value) : undefined,
          sliceSize: spec.sliceSize,
          allocations: (status?.allocations ?? []).map((each, at) => canonical(each, before?.allocations[at])),
          isManaged: isMarked || (metadata.ownerReferences ?? []).some(isDefinition),
          isMarked,
        },
      }
    },
  }
}

/** An entry in the text that upstream and this planner write. Only a person writes another one. */
function canonical(entry: NodeSliceAllocation, before: NodeSliceAllocation | undefined): NodeSliceAllocation {
  const { sliceRange } = entry
  if (sliceRange === before?.sliceRange) return entry
  const read = Prefix.safeParse(sliceRange)
  const text = read.ok ? Prefix.format(Prefix.masked(read.value)) : sliceRange
  return text === sliceRange ? entry : { ...entry, sliceRange: text }
}

/** Whether a reference is to a definition, of any version. */
export function isDefinition(owner: { readonly apiVersion: string; readonly kind: string }): boolean {
  return kindKey(owner) === kindKey(NetworkAttachmentDefinition.info)
}

/**
 * The IPPools of a namespace, without their rows but for the first. `rows`: those with rows, by
 * their range.
 */
export function rowWatch(namespace: string): TrimmedWatch<RowFacts> {
  return {
    ...IPPool.info,
    namespace,
    keep: keepFirstRow,
    parse({ metadata: { name }, spec }, before) {
      const { range: text, allocations } = asObject(spec) ?? {}
      const parsed = Prefix.safeParse(typeof text === 'string' ? text : '')
      if (!parsed.ok) return { ok: false, problem: `spec.range: ${parsed.failure.message}` }
      const hasRows = Object.keys(asObject(allocations) ?? {}).length > 0
      const range = Prefix.masked(parsed.value)
      if (before?.hasRows === hasRows && Prefix.equals(before.range, range)) return { ok: true, value: before }
      const masked = Prefix.format(range)
      return { ok: true, value: { name, range, text: masked, prefix: poolNamePrefix(name, masked) ?? '', hasRows } }
    },
    indexes: {
      rows: ({ text, hasRows }) => (hasRows ? [text] : []),
      any: ({ hasRows }) => (hasRows ? ['yes'] : []),
    },
  }
}

/** A pool has up to 10,000 rows; one tells that it has some. */
function keepFirstRow({ apiVersion, kind, metadata, spec }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata
  const { range, allocations } = asObject(spec) ?? {}
  const rows = asObject(allocations) ?? {}
  const [first] = Object.keys(rows)
  const kept = first === undefined ? {} : { [first]: rows[first] }
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { range, allocations: kept },
  } as KubeObject
}

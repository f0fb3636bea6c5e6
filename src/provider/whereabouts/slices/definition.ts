import type { RangeSet } from '../../../cidr/index.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { asObject } from '../../../crd/meta/json.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { nodeSliceName } from '../../../crd/whereabouts/index.js'
import type { Watch } from '../../../plan/index.js'
import { rangeSpace } from '../choose/space.js'
import { readWhereaboutsConfig } from '../config/config.js'
import { type Division, divide, readSliceSize, slicesOf } from './divide.js'

/** A NetworkAttachmentDefinition, as far as node slices are concerned. */
export type DefinitionFacts = IgnoredDefinition | InvalidDefinition | SlicedDefinition

/** A definition without node slices: of another IPAM type, or without `node_slice_size`. */
export interface IgnoredDefinition {
  readonly kind: 'ignored'
  readonly object: KubeObject
}

/** A definition with node slices that cannot be made. */
export interface InvalidDefinition {
  readonly kind: 'invalid'
  readonly object: KubeObject
  readonly problem: string
  /** The name of its NodeSlicePool, if that can be read. */
  readonly slicePool?: string | undefined
}

/** A definition with node slices. */
export interface SlicedDefinition {
  readonly kind: 'sliced'
  readonly object: KubeObject
  /** The name of the NodeSlicePool: `network_name`, or else the name of the configuration. */
  readonly slicePool: string
  /** `network_name`, or empty. */
  readonly networkName: string
  /** With its host bits cleared. */
  readonly range: Prefix.Prefix
  /** As written: `/26` or `26`. */
  readonly sliceSize: string
  readonly division: Division
  /** The addresses of the range that may be given. */
  readonly usable: RangeSet
}

/**
 * All definitions. Indexes: `slicePool`, those with slices, by the name of their NodeSlicePool;
 * `networkName`, those with slices and a `network_name`; `invalidFor`, those that are invalid, by
 * the name of their NodeSlicePool, or by an empty name.
 */
export const definitionWatch: Watch<DefinitionFacts> = {
  ...NetworkAttachmentDefinition.info,
  parse: (object) => ({ ok: true, value: readDefinition(object) }),
  indexes: {
    slicePool: (facts) => (facts.kind === 'sliced' ? [facts.slicePool] : []),
    sliced: ({ kind }) => (kind === 'sliced' ? ['yes'] : []),
    networkName: (facts) => (facts.kind === 'sliced' && facts.networkName !== '' ? [facts.networkName] : []),
    invalidFor: (facts) => (facts.kind === 'invalid' ? [facts.slicePool ?? ''] : []),
  },
}

/** The name of the NodeSlicePool of a definition, if it has slices. */
export function slicePoolOf(facts: DefinitionFacts | undefined): string | undefined {
  return facts === undefined || facts.kind === 'ignored' ? undefined : facts.slicePool
}

/** Whether two definitions divide one range into slices of one size. */
export function isSameDivision(left: SlicedDefinition, right: SlicedDefinition): boolean {
  return Prefix.equals(left.range, right.range) && lengthOf(left) === lengthOf(right)
}

/** Whether a NodeSlicePool has the division of a definition. */
export function isDivision(
  definition: SlicedDefinition,
  pool: { readonly range: Prefix.Prefix | undefined; readonly sliceSize: string },
): boolean {
  const { range, sliceSize } = pool
  return (
    range !== undefined &&
    Prefix.equals(range, definition.range) &&
    lengthOf({ range, sliceSize }) === lengthOf(definition)
  )
}

function lengthOf({ range, sliceSize }: Pick<SlicedDefinition, 'range' | 'sliceSize'>): number | undefined {
  const read = readSliceSize(range, sliceSize)
  return read.ok ? read.value : undefined
}

/** Never fails: one definition that cannot be read stops no other. O(slices x log excludes). */
function readDefinition(object: KubeObject): DefinitionFacts {
  const text = asObject(object.spec)?.config
  // without a configuration, a node has it in a file
  if (text === undefined || text === '') return { kind: 'ignored', object }
  const invalid = (problem: string, slicePool?: string) => ({ kind: 'invalid', object, problem, slicePool }) as const
  if (typeof text !== 'string') return invalid('spec.config is not a text')
  // what has no effect on slices is reported by the plugin
  const read = readWhereaboutsConfig(text, { use: 'release' })
  if (!read.ok) {
    const { issues } = read.failure.context
    const isOther = issues.some(({ path }) => path === 'ipam' || path === 'ipam.type' || path === 'plugins')
    const isConcerned = !isOther && (issues.some(({ path }) => path === 'input') || text.includes('"node_slice_size"'))
    return isConcerned ? invalid(read.failure.message) : { kind: 'ignored', object }
  }
  const { nodeSliceSize: sliceSize, networkName = '', name = '', ranges } = read.value
  if (sliceSize === undefined) return { kind: 'ignored', object }
  const slicePool = nodeSliceName({ name, networkName })
  if (!slicePool.ok) return invalid(slicePool.failure.message)
  const [first, ...others] = ranges
  if (first === undefined) return invalid('it has no range', slicePool.value)
  if (others.length > 0)
    return invalid(`a NodeSlicePool divides one range, and it has ${ranges.length}`, slicePool.value)
  const { prefix: range } = first
  const slices = slicesOf(range, sliceSize)
  if (!slices.ok) return invalid(slices.failure.message, slicePool.value)
  const space = rangeSpace(first, read.value.gateway === undefined ? [] : [read.value.gateway])
  if (space.kind === 'badExclude') return invalid(`exclude ${space.exclude} cannot be read`, slicePool.value)
  if (space.kind === 'tooSmall' || space.isEmpty) return invalid('no address of the range is usable', slicePool.value)
  const division = divide(slices.value, [space.addresses])
  return {
    kind: 'sliced',
    object,
    slicePool: slicePool.value,
    networkName,
    range,
    sliceSize,
    division,
    usable: space.addresses,
  }
}

import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { Delta, Parsed } from '../../../plan/index.js'
import type { TrimmedObject } from '../../../plan/selection.js'
import { KEYS, type NodeSliceContext, type RowFacts, type SliceNode, type SlicePoolFacts, slicedBy } from './context.js'
import { type DefinitionFacts, isDivision, type SlicedDefinition, slicePoolOf } from './definition.js'

/**
 * Wakes the definition, its NodeSlicePool, and the other definitions of it. O(definitions of the
 * network).
 */
export function wakesOfDefinition(
  { ref, before, now }: Delta<DefinitionFacts>,
  context: NodeSliceContext,
): readonly string[] {
  const { cache, sent } = context
  const key = KEYS.format('NetworkAttachmentDefinition', ref)
  if (now === undefined) sent.forget(key)
  const names = [before, now].flatMap((entry) => slicePoolOf(factsOf(entry)) ?? [])
  return [
    key,
    ...[...new Set(names)].flatMap((name) => [
      keyOf(name, context),
      ...cache.definitions
        .by('slicePool', name)
        .map(({ object }) => KEYS.format('NetworkAttachmentDefinition', object.metadata)),
    ]),
    // a NodeSlicePool may be kept for a definition that could not be read
    ...(factsOf(before)?.kind === 'invalid' ? allKeys(context) : []),
  ]
}

/** Wakes all NodeSlicePools if a Node has come or gone. O(NodeSlicePools). */
export function wakesOfNode({ before, now }: Delta<SliceNode, TrimmedObject>, context: NodeSliceContext) {
  return (before === undefined) === (now === undefined) ? [] : allKeys(context)
}

export function wakesOfSlicePool({ ref, now }: Delta<SlicePoolFacts>, { sent }: NodeSliceContext): readonly string[] {
  const key = KEYS.format('NodeSlicePool', ref)
  if (now === undefined) sent.forget(key)
  return [key]
}

/**
 * Wakes NodeSlicePools when an IPPool gets its first row, or has lost its last one. The pool of a
 * node with this slice wakes nothing. O(NodeSlicePools + slices of those that contain its range).
 */
export function wakesOfRows(
  { before, now }: Delta<RowFacts, TrimmedObject>,
  context: NodeSliceContext,
): readonly string[] {
  const [had, has] = [factsOf(before), factsOf(now)]
  if (before?.ok === false || now?.ok === false) return allKeys(context)
  const facts = has ?? had
  if (facts === undefined || (had?.hasRows ?? false) === (has?.hasRows ?? false)) return []
  const concerned = [...context.cache.slicePools].filter((pool) => concerns(facts, pool, context))
  return [...concerned.map(({ name }) => keyOf(name, context)), ...missingKeys(context)]
}

/** The NodeSlicePools that do not exist: rows of another division may keep them from being made. */
function missingKeys(context: NodeSliceContext): readonly string[] {
  const { cache, state } = context
  const sliced = cache.definitions.by('sliced', 'yes') as readonly SlicedDefinition[]
  const missing = sliced.filter(({ slicePool: name }) => !cache.slicePools.entry({ namespace: state.namespace, name }))
  return missing.map(({ slicePool }) => keyOf(slicePool, context))
}

function keyOf(name: string, { state: { namespace } }: NodeSliceContext): string {
  return KEYS.format('NodeSlicePool', { namespace, name })
}

/** Whether rows in an IPPool matter to a NodeSlicePool. */
function concerns(rows: RowFacts, pool: SlicePoolFacts, context: NodeSliceContext): boolean {
  const [winner] = slicedBy(pool.name, context)
  // it waits for the last row
  if (winner === undefined || !isDivision(winner, pool)) return true
  if (pool.range === undefined || !Prefix.overlaps(pool.range, rows.range)) return false
  const { nodeName = '' } = pool.allocations.find(({ sliceRange }) => sliceRange === rows.text) ?? {}
  const isOwn = rows.prefix === nodeName || rows.prefix.endsWith(`-${nodeName}`)
  return nodeName === '' || !isOwn || context.cache.nodes.get(nodeName) === undefined
}

function allKeys({ cache }: NodeSliceContext): readonly string[] {
  return [...cache.slicePools.names()].map((name) => KEYS.format('NodeSlicePool', name))
}

function factsOf<T>(entry: Parsed<T> | Parsed<T, TrimmedObject> | undefined): T | undefined {
  return entry?.ok === true ? entry.value : undefined
}

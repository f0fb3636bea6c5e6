import type { Prefix } from '../../../cidr/index.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import type { NodeSliceAllocation } from '../../../crd/whereabouts/index.js'
import type { PlannerContext, TrimmedWatch, Watch } from '../../../plan/index.js'
import { plannerKeys } from '../../../plan/planner-keys.js'
import type { DefinitionFacts, SlicedDefinition } from './definition.js'

export const KEYS = plannerKeys('NodeSlicePool', 'NetworkAttachmentDefinition')

/** A Node that exists. */
export interface SliceNode {
  readonly name: string
}

/** A NodeSlicePool, as far as it can be used. */
export interface SlicePoolFacts {
  readonly object: KubeObject
  readonly name: string
  /** `spec.range` with its host bits cleared. `undefined`: not a CIDR. */
  readonly range: Prefix | undefined
  readonly sliceSize: string
  /** With slices in the text of RFC 5952. */
  readonly allocations: readonly NodeSliceAllocation[]
  /** Whether the planner, or upstream, has made it for a definition. */
  readonly isManaged: boolean
  /** Whether it has the annotation that says so. */
  readonly isMarked: boolean
}

/** Whether an IPPool has rows, and of which range and which node it may be. */
export interface RowFacts {
  readonly name: string
  /** `spec.range` with its host bits cleared, and its text. */
  readonly range: Prefix
  readonly text: string
  /**
   * The part of the name before the range: `[network-]node` for the pool of a slice. Empty: none.
   */
  readonly prefix: string
  readonly hasRows: boolean
}

/** What {@link whereaboutsNodeSlices} watches. */
export type NodeSliceWatches = {
  readonly definitions: Watch<DefinitionFacts>
  readonly nodes: TrimmedWatch<SliceNode>
  readonly slicePools: Watch<SlicePoolFacts>
  readonly pools: TrimmedWatch<RowFacts>
}

export interface NodeSliceState {
  /** The namespace of NodeSlicePools and IPPools. */
  readonly namespace: string
}

export type NodeSliceContext = PlannerContext<NodeSliceWatches, NodeSliceState>

/** The definitions with slices of a NodeSlicePool, the oldest first. */
export function slicedBy(slicePool: string, { cache }: NodeSliceContext): readonly SlicedDefinition[] {
  return cache.definitions.by('slicePool', slicePool) as readonly SlicedDefinition[]
}

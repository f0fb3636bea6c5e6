import type { NodeSliceAllocation } from '../../../crd/whereabouts/index.js'

/** The outcome of a plan. */
export type NodeSliceOutcome = SlicePoolOutcome | DefinitionOutcome

/**
 * The outcome of a plan for a NodeSlicePool.
 *
 * - `assigned`: nodes get slices, or slices are freed
 * - `ready`: each node has a slice
 * - `waiting`: more nodes than slices (`NoFreeSlice`)
 * - `blocked`: the range or the slice size was changed, and slices that would end have rows
 *   (`SliceChangeRefused`). Nodes get slices of the old division
 * - `conflict`: a slice of one node has rows of another node (`SliceConflict`)
 * - `kept`: no definition uses it any more, and it has rows, or a definition cannot be read
 * - `deleted`: no definition uses it any more
 * - `unused`: it was made by hand, and no definition uses it yet
 * - `deleting`: it is being deleted, and is created again when it is gone
 * - `unreadable`: it cannot be parsed, and is not changed (`UnreadableSlicePool`)
 * - `failed`: the store has refused a write (`WriteRefused`)
 *
 * The kind has no conditions: an API server drops `status.conditions`, as the schema of upstream
 * has no such field. `blocked` is what a condition `Ready=False` would say, and the Event is about
 * the definition.
 */
export interface SlicePoolOutcome {
  readonly kind:
    | 'assigned'
    | 'ready'
    | 'waiting'
    | 'blocked'
    | 'conflict'
    | 'kept'
    | 'deleted'
    | 'unused'
    | 'deleting'
    | 'unreadable'
    | 'failed'
  readonly message: string
  /** The nodes without a slice. */
  readonly nodes?: readonly string[] | undefined
  /** The slices of nodes that do not exist any more, which have rows. */
  readonly rows?: readonly NodeSliceAllocation[] | undefined
}

/**
 * The outcome of a plan for a NetworkAttachmentDefinition.
 *
 * - `served`: its nodes get slices
 * - `ignored`: it has no node slices: another IPAM type, or no `node_slice_size`
 * - `invalid`: its configuration cannot be read, or has no valid slices (`InvalidNodeSlices`)
 * - `mismatch`: an older definition of its network has another range or slice size, and that one is
 *   served (`NodeSliceMismatch`)
 */
export interface DefinitionOutcome {
  readonly kind: 'served' | 'ignored' | 'invalid' | 'mismatch'
  readonly message: string
  /** The name of the NodeSlicePool. */
  readonly slicePool?: string | undefined
}

/** Reasons of the Events, all of type Warning and about the definition. */
export type NodeSliceEventReason =
  | 'InvalidNodeSlices'
  | 'NodeSliceMismatch'
  | 'NoFreeSlice'
  | 'SliceChangeRefused'
  | 'SliceConflict'
  | 'UnreadableSlicePool'
  | 'WriteRefused'

import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { API_VERSION } from './names.js'
import { nodeSlicePool, versionsOf } from './versions.js'

/**
 * The division of a range into slices, one for each node (whereabouts.cni.cncf.io/v1alpha1). The
 * status has no subresource: spec and status are written together.
 */
export interface NodeSlicePool extends KubeObject {
  readonly spec: NodeSlicePoolSpec
  readonly status?: NodeSlicePoolStatus | undefined
}

export interface NodeSlicePoolSpec {
  /** The whole range as CIDR. */
  readonly range: string
  /** The prefix length of a slice: `/26` or `26`. */
  readonly sliceSize: string
}

export interface NodeSlicePoolStatus {
  /** All slices of the range, the free ones included. */
  readonly allocations: readonly NodeSliceAllocation[]
}

/** One slice of a {@link NodeSlicePool}. */
export interface NodeSliceAllocation {
  /** The name of the node. Empty: the slice is free. */
  readonly nodeName: string
  /** The slice as CIDR. */
  readonly sliceRange: string
}

export const NodeSlicePool: CrdModel<NodeSlicePool> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'NodeSlicePool',
    plural: 'nodeslicepools',
    namespaced: true,
    statusSubresource: false,
  },
  schema: readerOf(nodeSlicePool),
  categories: [],
  versions: versionsOf(nodeSlicePool),
})

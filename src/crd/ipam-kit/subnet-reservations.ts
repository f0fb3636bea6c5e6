import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { reservationVersions } from './versions.js'

/**
 * Subnets that are being given to Nodes, where several controllers give them at the same time
 * (ipam-kit.dev/v1alpha1). A controller adds an entry, in a write that depends on the version of
 * the object, before it patches the Node. An entry is removed when the Node has its subnets, or
 * does not exist any more.
 */
export interface SubnetReservations extends KubeObject {
  readonly spec: SubnetReservationsSpec
}

export interface SubnetReservationsSpec {
  /** At most 256, one for each Node. */
  readonly entries: readonly SubnetReservation[]
  /**
   * The newest resourceVersion of the Nodes that entries are of, or were of. A controller whose
   * watch of Nodes has not reached it changes nothing: it would not know which subnets the entries
   * that were removed have become.
   */
  readonly nodesVersion?: string | undefined
  /**
   * The uids of ClusterCIDRs that are being deleted, or were deleted, up to 128. No entry of a
   * later version of this object has subnets of them. A ClusterCIDR loses its finalizer only when
   * it is among them.
   */
  readonly ended?: readonly string[] | undefined
}

export interface SubnetReservation {
  readonly node: string
  /** Of the Node: the patch is for this one alone. */
  readonly uid: string
  /** What it gets. */
  readonly podCIDRs: readonly string[]
  /**
   * The identity of the controller that patches the Node. Other controllers do it after a while.
   */
  readonly by: string
}

const schema: z.ZodType<SubnetReservations> = objectSchema({
  spec: z.looseObject({
    entries: z
      .array(z.looseObject({ node: z.string(), uid: z.string(), podCIDRs: z.array(z.string()), by: z.string() }))
      .default([]),
    nodesVersion: z.string().optional(),
    ended: z.array(z.string()).optional(),
  }),
})

export const SubnetReservations: CrdModel<SubnetReservations> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'SubnetReservations',
    plural: 'subnetreservations',
    namespaced: false,
    statusSubresource: false,
  },
  schema,
  categories: ['ipam'],
  versions: reservationVersions(),
})

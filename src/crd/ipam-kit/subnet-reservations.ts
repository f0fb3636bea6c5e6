import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { reservationVersions } from './versions.js'

/**
 * Subnets that several controllers are allocating to Nodes at the same time
 * (ipam-kit.dev/v1alpha1). A controller adds an entry before it patches the Node. The write depends
 * on the version of the object. A controller removes the entry when the Node has its subnets or
 * does not exist.
 */
export interface SubnetReservations extends KubeObject {
  readonly spec: SubnetReservationsSpec
}

export interface SubnetReservationsSpec {
  /** At most 256, one for each Node. */
  readonly entries: readonly SubnetReservation[]
  /**
   * The newest resourceVersion of the Nodes of current and former entries. A controller whose watch
   * of Nodes has not reached it changes nothing: it does not have the subnets of former entries
   * yet.
   */
  readonly nodesVersion?: string | undefined
  /**
   * The uids of ClusterCIDRs that are being deleted or were deleted, up to 128. No later entry has
   * subnets from them. A controller removes the finalizer of a ClusterCIDR only when its uid is in
   * this list.
   */
  readonly ended?: readonly string[] | undefined
}

export interface SubnetReservation {
  readonly node: string
  /** The uid of the Node. The patch fails for another Node of the same name. */
  readonly uid: string
  /** The subnets of the Node. */
  readonly podCIDRs: readonly string[]
  /**
   * The identity of the controller that patches the Node. If it does not, other controllers do so
   * later.
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

import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { API_VERSION } from './names.js'
import { reservation, versionsOf } from './versions.js'

/**
 * An address that one Pod has, in all ranges of a network (whereabouts.cni.cncf.io/v1alpha1). The
 * address is in the name of the object alone: see `reservationName`.
 */
export interface OverlappingRangeIPReservation extends KubeObject {
  readonly spec: OverlappingRangeIPReservationSpec
}

export interface OverlappingRangeIPReservationSpec {
  /** The id of the container. Upstream leaves it out. */
  readonly containerid?: string | undefined
  /** The namespace and the name of the Pod: `default/web-0`. */
  readonly podref: string
  /** The name of the interface in the Pod. */
  readonly ifname?: string | undefined
}

export const OverlappingRangeIPReservation: CrdModel<OverlappingRangeIPReservation> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'OverlappingRangeIPReservation',
    plural: 'overlappingrangeipreservations',
    namespaced: true,
    statusSubresource: false,
  },
  schema: readerOf(reservation),
  categories: [],
  versions: versionsOf(reservation),
})

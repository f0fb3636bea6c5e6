import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { API_VERSION } from './names.js'
import { ipPool, versionsOf } from './versions.js'

/**
 * The allocated addresses of one range (whereabouts.cni.cncf.io/v1alpha1). Upstream creates one
 * IPPool for each range of a network, and with node slices one for each slice.
 *
 * The model reads every pool with a range, whatever its rows are: `readRows` reads those.
 */
export interface IPPool extends KubeObject {
  readonly spec: IPPoolSpec
}

export interface IPPoolSpec {
  /** The range as CIDR. Keys count from the address that is written here, host bits included. */
  readonly range: string
  /** Rows by key, as they are stored: `readRows` reads them. Left out: none. */
  readonly allocations: { readonly [key: string]: unknown }
}

/** A row of an {@link IPPool}: the holder of one address. */
export interface IPAllocation {
  /** The id of the container. */
  readonly id: string
  /** The namespace and the name of the Pod: `default/web-0`. */
  readonly podref: string
  /** The name of the interface in the Pod. Old rows have none. */
  readonly ifname?: string | undefined
}

export const IPPool: CrdModel<IPPool> = /* @__PURE__ */ defineCrdModel({
  info: { apiVersion: API_VERSION, kind: 'IPPool', plural: 'ippools', namespaced: true, statusSubresource: false },
  schema: readerOf(ipPool),
  categories: [],
  versions: versionsOf(ipPool),
})

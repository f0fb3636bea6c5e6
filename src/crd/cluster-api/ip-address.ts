import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { addressVersions, v1beta2 } from './address-versions.js'
import { API_VERSION } from './names.js'
import type { IPPoolReference, LocalReference } from './references.js'

/**
 * An address, or a prefix, that fulfils a claim (ipam.cluster.x-k8s.io/v1beta2). Its spec never
 * changes; it has no status. `IPAddress` is the name of the kind in this API group: metal3 and
 * networking.k8s.io have a kind of the same name.
 */
export interface IPAddress extends KubeObject {
  readonly spec: IPAddressSpec
}

export interface IPAddressSpec {
  readonly claimRef: LocalReference
  readonly poolRef: IPPoolReference
  /** Text as it was written: not necessarily an address. For a prefix: its base address. */
  readonly address: string
  /**
   * Length of the subnet of the address, or of the prefix itself. 0 to 128. Absent only on objects
   * written by hand.
   */
  readonly prefix?: number | undefined
  readonly gateway?: string | undefined
}

/** In v1beta2, which is stored, v1beta1 and v1alpha1. */
export const IPAddress: CrdModel<IPAddress> = defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'IPAddress',
    plural: 'ipaddresses',
    namespaced: true,
    statusSubresource: false,
  },
  schema: readerOf(v1beta2),
  categories: ['cluster-api'],
  versions: addressVersions(),
})

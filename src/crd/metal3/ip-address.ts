import { age, type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { API_VERSION, shortNames } from './names.js'
import type { ObjectReference } from './references.js'
import { ipAddress } from './versions.js'

/**
 * An address that fulfils a claim (ipam.metal3.io/v1alpha1). It has no status. `IPAddress` is the
 * name of the kind in this API group: Cluster API and networking.k8s.io have a kind of the same
 * name.
 */
export interface IPAddress extends KubeObject {
  readonly spec: IPAddressSpec
}

export interface IPAddressSpec {
  readonly claim: ObjectReference
  readonly pool: ObjectReference
  /** Text as it was written: not necessarily an address. */
  readonly address: string
  /** Length of the subnet. */
  readonly prefix?: number | undefined
  readonly gateway?: string | undefined
  readonly dnsServers?: readonly string[] | undefined
}

export const IPAddress: CrdModel<IPAddress> = defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'IPAddress',
    plural: 'ipaddresses',
    namespaced: true,
    statusSubresource: false,
  },
  schema: readerOf(ipAddress),
  categories: ['metal3'],
  shortNames: shortNames('ipa', 'ipaddress', 'ipaddresses'),
  versions: [{ apiVersion: API_VERSION, columns: [age('address')], schema: ipAddress }],
})

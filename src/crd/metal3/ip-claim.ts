import { age, type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { API_VERSION, shortNames } from './names.js'
import type { ObjectReference } from './references.js'
import { claim } from './versions.js'

/** A request for one address of one pool (ipam.metal3.io/v1alpha1). Its spec never changes. */
export interface IPClaim extends KubeObject {
  readonly spec: { readonly pool: ObjectReference }
  readonly status?: IPClaimStatus | undefined
}

export interface IPClaimStatus {
  /** The IPAddress that fulfils the claim. */
  readonly address?: ObjectReference | undefined
  /** Why there is none. */
  readonly errorMessage?: string | undefined
}

export const IPClaim: CrdModel<IPClaim> = defineCrdModel({
  info: { apiVersion: API_VERSION, kind: 'IPClaim', plural: 'ipclaims', namespaced: true, statusSubresource: true },
  schema: readerOf(claim),
  categories: ['cluster-api'],
  shortNames: shortNames('ipc', 'ipclaim', 'ipclaims'),
  versions: [{ apiVersion: API_VERSION, columns: [age('claim')], schema: claim }],
})

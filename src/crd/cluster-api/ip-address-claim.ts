import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import type { Condition, LegacyCondition } from '../meta/schema.js'
import { claimVersions, v1beta2 } from './claim-versions.js'
import { API_VERSION } from './names.js'
import type { IPPoolReference, LocalReference } from './references.js'

/**
 * A request for one address from one pool (ipam.cluster.x-k8s.io/v1beta2). Its spec never changes.
 */
export interface IPAddressClaim extends KubeObject {
  readonly spec: IPAddressClaimSpec
  readonly status?: IPAddressClaimStatus | undefined
}

export interface IPAddressClaimSpec {
  /**
   * The Cluster that the claim belongs to. Supersedes the label `cluster.x-k8s.io/cluster-name`.
   */
  readonly clusterName?: string | undefined
  readonly poolRef: IPPoolReference
}

export interface IPAddressClaimStatus {
  /** The IPAddress in the same namespace that fulfils the claim. */
  readonly addressRef?: LocalReference | undefined
  readonly conditions?: readonly Condition[] | undefined
  readonly deprecated?:
    | { readonly v1beta1?: { readonly conditions?: readonly LegacyCondition[] | undefined } | undefined }
    | undefined
}

/** In v1beta2, which is stored, v1beta1 and v1alpha1. */
export const IPAddressClaim: CrdModel<IPAddressClaim> = defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'IPAddressClaim',
    plural: 'ipaddressclaims',
    namespaced: true,
    statusSubresource: true,
  },
  schema: readerOf(v1beta2),
  categories: ['cluster-api'],
  versions: claimVersions(),
})

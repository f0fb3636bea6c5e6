import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import {
  type Condition,
  conditionSchema,
  type LegacyCondition,
  legacyConditionSchema,
  objectSchema,
} from '../meta/schema.js'
import { claimVersions } from './claim-versions.js'
import { API_VERSION } from './names.js'
import { type IPPoolReference, type LocalReference, localReferenceSchema, poolReferenceSchema } from './references.js'

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

const schema: z.ZodType<IPAddressClaim> = objectSchema({
  spec: z.looseObject({
    clusterName: z.string().optional(),
    poolRef: poolReferenceSchema,
  }),
  status: z
    .looseObject({
      addressRef: localReferenceSchema.optional(),
      conditions: z.array(conditionSchema).optional(),
      deprecated: z
        .looseObject({ v1beta1: z.looseObject({ conditions: z.array(legacyConditionSchema).optional() }).optional() })
        .optional(),
    })
    .optional(),
})

/** In v1beta2, which is stored, v1beta1 and v1alpha1. */
export const IPAddressClaim: CrdModel<IPAddressClaim> = defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'IPAddressClaim',
    plural: 'ipaddressclaims',
    namespaced: true,
    statusSubresource: true,
  },
  schema,
  categories: ['cluster-api'],
  versions: claimVersions(),
})

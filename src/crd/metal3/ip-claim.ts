import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { kubeSchema } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { type ObjectReference, objectReferenceSchema } from './references.js'
import { claimVersions } from './versions.js'

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

const schema: z.ZodType<IPClaim> = kubeSchema({
  spec: z.looseObject({ pool: objectReferenceSchema }),
  status: z.looseObject({ address: objectReferenceSchema.optional(), errorMessage: z.string().optional() }).optional(),
})

export const IPClaim: CrdModel<IPClaim> = defineCrdModel({
  info: { apiVersion: API_VERSION, kind: 'IPClaim', plural: 'ipclaims', namespaced: true, statusSubresource: true },
  schema,
  categories: ['cluster-api'],
  shortNames: ['ipc', 'ipclaim', 'm3ipc', 'm3ipclaim', 'm3ipclaims', 'metal3ipc', 'metal3ipclaim', 'metal3ipclaims'],
  versions: claimVersions(),
})

import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectMetaSchema } from '../meta/schema.js'
import { API_VERSION, API_VERSION_V1BETA1 } from './names.js'
import { type IPPoolReference, type LocalReference, localReferenceSchema, poolReferenceSchema } from './references.js'
import { addressToV1beta2 } from './v1beta1.js'

/** An address, or a prefix, that fulfils a claim (ipam.cluster.x-k8s.io/v1beta2). Its spec never changes; it has no status. */
export interface IPAddress extends KubeObject {
  readonly spec: IPAddressSpec
}

export interface IPAddressSpec {
  readonly claimRef: LocalReference
  readonly poolRef: IPPoolReference
  /** Text as it was written: not necessarily an address. For a prefix: its base address. */
  readonly address: string
  /** Length of the subnet of the address, or of the prefix itself. 0 to 128. Absent only on objects written by hand. */
  readonly prefix?: number | undefined
  readonly gateway?: string | undefined
}

// Addresses that others wrote wrongly must still be read: they are counted, and they must not stop a pool.
const schema: z.ZodType<IPAddress> = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    claimRef: localReferenceSchema,
    poolRef: poolReferenceSchema,
    address: z.string(),
    prefix: z.number().optional(),
    gateway: z.string().optional(),
  }),
})

/** Reads v1beta2 and v1beta1. */
export const IPAddress: Model<IPAddress> = defineModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'IPAddress',
    plural: 'ipaddresses',
    namespaced: true,
    statusSubresource: false,
  },
  schema,
  converts: { [API_VERSION_V1BETA1]: addressToV1beta2 },
})

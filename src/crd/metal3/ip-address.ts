import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { kubeSchema } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { type ObjectReference, objectReferenceSchema } from './references.js'
import { addressVersions } from './versions.js'

/** An address that fulfils a claim (ipam.metal3.io/v1alpha1). It has no status. */
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

const schema: z.ZodType<IPAddress> = kubeSchema({
  spec: z.looseObject({
    claim: objectReferenceSchema,
    pool: objectReferenceSchema,
    address: z.string(),
    prefix: z.number().optional(),
    gateway: z.string().optional(),
    dnsServers: z.array(z.string()).optional(),
  }),
})

export const IPAddress: CrdModel<IPAddress> = defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'IPAddress',
    plural: 'ipaddresses',
    namespaced: true,
    statusSubresource: false,
  },
  schema,
  categories: ['metal3'],
  shortNames: [
    'ipa',
    'ipaddress',
    'm3ipa',
    'm3ipaddress',
    'm3ipaddresses',
    'metal3ipa',
    'metal3ipaddress',
    'metal3ipaddresses',
  ],
  versions: addressVersions(),
})

import * as z from 'zod'
import { age, type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'
import { API_VERSION, shortNames } from './names.js'
import { type ObjectReference, objectReferenceSchema } from './references.js'
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

const schema: z.ZodType<IPAddress> = objectSchema({
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
  shortNames: shortNames('ipa', 'ipaddress', 'ipaddresses'),
  versions: [{ apiVersion: API_VERSION, columns: [age('address')], schema: ipAddress }],
})

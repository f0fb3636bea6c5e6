import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'
import { API_VERSION, V1BETA1 } from './names.js'

/**
 * An address that is in use (networking.k8s.io/v1). The name of the object is the address, so the
 * API server refuses to give one address twice. Reads v1beta1, which has the same fields.
 * `IPAddress` is the name of the kind in this API group: Cluster API and metal3 have a kind of the
 * same name.
 */
export interface IPAddress extends KubeObject {
  readonly spec: IPAddressSpec
}

export interface IPAddressSpec {
  /** The object that has the address. Never changes. */
  readonly parentRef: ParentReference
}

/**
 * Names an object by its resource. Without a uid: another object with this name is the same parent.
 */
export interface ParentReference {
  /** API group; left out or `''` for the core group. */
  readonly group?: string | undefined
  /** Plural resource name: `services`. */
  readonly resource: string
  /** Left out for cluster-scoped objects. */
  readonly namespace?: string | undefined
  readonly name: string
}

const schema: z.ZodType<IPAddress> = objectSchema({
  spec: z.looseObject({
    parentRef: z.looseObject({
      group: z.string().optional(),
      resource: z.string(),
      namespace: z.string().optional(),
      name: z.string(),
    }),
  }),
})

export const IPAddress: Model<IPAddress> = defineModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'IPAddress',
    plural: 'ipaddresses',
    namespaced: false,
    statusSubresource: false,
    selectableFields: [
      'spec.parentRef.group',
      'spec.parentRef.resource',
      'spec.parentRef.namespace',
      'spec.parentRef.name',
    ],
  },
  schema,
  converts: { [V1BETA1]: (json) => ({ ok: true, value: json }) },
})

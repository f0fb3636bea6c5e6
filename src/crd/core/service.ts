import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'

/** A Service (core/v1), as far as IPAM reads and writes it: its cluster addresses. */
export interface Service extends KubeObject {
  readonly spec: ServiceSpec
}

export interface ServiceSpec {
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`; left out: `ClusterIP`. */
  readonly type?: string | undefined
  /** The first of `clusterIPs`; `None`: the Service has no address. Set once. */
  readonly clusterIP?: string | undefined
  /** Up to one address of each family, in the order of `ipFamilies`, or `None` alone. */
  readonly clusterIPs?: readonly string[] | undefined
  /** `IPv4` and `IPv6`, in the order that is asked for. */
  readonly ipFamilies?: readonly string[] | undefined
  /** `SingleStack`, `PreferDualStack` or `RequireDualStack`; left out: `SingleStack`. */
  readonly ipFamilyPolicy?: string | undefined
}

const schema: z.ZodType<Service> = objectSchema({
  spec: z
    .looseObject({
      type: z.string().optional(),
      clusterIP: z.string().optional(),
      clusterIPs: z.array(z.string()).optional(),
      ipFamilies: z.array(z.string()).optional(),
      ipFamilyPolicy: z.string().optional(),
    })
    .default({}),
})

export const Service: Model<Service> = defineModel({
  info: {
    apiVersion: 'v1',
    kind: 'Service',
    plural: 'services',
    namespaced: true,
    statusSubresource: true,
    selectableFields: ['spec.clusterIP', 'spec.type'],
  },
  schema,
})

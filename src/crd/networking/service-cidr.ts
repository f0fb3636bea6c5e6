import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { type Condition, conditionSchema, objectSchema } from '../meta/schema.js'
import { API_VERSION, V1BETA1 } from './names.js'

/**
 * Ranges that Services get addresses of (networking.k8s.io/v1). Ranges of several objects may
 * overlap. Reads v1beta1, which has the same fields.
 */
export interface ServiceCIDR extends KubeObject {
  readonly spec: ServiceCIDRSpec
  readonly status?: ServiceCIDRStatus | undefined
}

export interface ServiceCIDRSpec {
  /**
   * One or two CIDRs, at most one of each family. Text as it was written: not necessarily a CIDR.
   */
  readonly cidrs: readonly string[]
}

export interface ServiceCIDRStatus {
  /** `Ready`. Without it the object counts as ready, as it does for a kube-apiserver. */
  readonly conditions?: readonly Condition[] | undefined
}

const schema: z.ZodType<ServiceCIDR> = objectSchema({
  spec: z.looseObject({ cidrs: z.array(z.string()).default([]) }).default({ cidrs: [] }),
  status: z.looseObject({ conditions: z.array(conditionSchema).optional() }).optional(),
})

export const ServiceCIDR: Model<ServiceCIDR> = defineModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'ServiceCIDR',
    plural: 'servicecidrs',
    namespaced: false,
    statusSubresource: true,
  },
  schema,
  converts: { [V1BETA1]: (json) => ({ ok: true, value: json }) },
})

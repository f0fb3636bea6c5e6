import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'

/** A StatefulSet (apps/v1), as far as IPAM reads it: the Pods that it has. */
export interface StatefulSet extends KubeObject {
  readonly spec: StatefulSetSpec
}

export interface StatefulSetSpec {
  /** How many Pods it has; left out: 1. Each has the name of the set, a dash and its ordinal. */
  readonly replicas?: number | undefined
  /** The ordinal of the first Pod; left out: 0. */
  readonly ordinals?: { readonly start?: number | undefined } | undefined
}

const schema: z.ZodType<StatefulSet> = objectSchema({
  spec: z
    .looseObject({
      replicas: z.number().optional(),
      ordinals: z.looseObject({ start: z.number().optional() }).optional(),
    })
    .default({}),
})

export const StatefulSet: Model<StatefulSet> = defineModel({
  info: {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    plural: 'statefulsets',
    namespaced: true,
    statusSubresource: true,
  },
  schema,
})

import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'
import { PAUSED_ANNOTATION } from './names.js'

/** A Cluster, as far as IPAM needs it: whether it is paused (cluster.x-k8s.io/v1beta2). */
export interface Cluster extends KubeObject {
  readonly spec?: { readonly paused?: boolean | undefined } | undefined
}

const schema: z.ZodType<Cluster> = objectSchema({
  spec: z.looseObject({ paused: z.boolean().optional() }).optional(),
})

/** Reads v1beta2 and v1beta1: `spec.paused` is the same in both. */
export const Cluster: Model<Cluster> = defineModel({
  info: {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    plural: 'clusters',
    namespaced: true,
    statusSubresource: true,
  },
  schema,
  converts: { 'cluster.x-k8s.io/v1beta1': (json) => ({ ok: true, value: json }) },
})

/** Whether an object carries the annotation that pauses it, with any value. */
export function hasPausedAnnotation(object: KubeObject): boolean {
  return object.metadata.annotations !== undefined && Object.hasOwn(object.metadata.annotations, PAUSED_ANNOTATION)
}

/** Whether a Cluster is paused: by `spec.paused`, or by the annotation. */
export function isClusterPaused(cluster: Cluster): boolean {
  return cluster.spec?.paused === true || hasPausedAnnotation(cluster)
}

import * as z from 'zod'
import type { ObjectMeta, OwnerReference } from './object.js'

/** `metav1.Condition`: what a controller says about one aspect of an object. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly lastTransitionTime: string
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number | undefined
}

/** A condition of the older Cluster API kind: with a severity, and most fields optional. */
export interface LegacyCondition {
  readonly type: string
  readonly status: string
  readonly severity?: string | undefined
  readonly lastTransitionTime?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

// Schemas are loose: fields that this library does not know are kept, so that an object survives
// being read by an older version.

const ownerReferenceSchema: z.ZodType<OwnerReference> = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
})

export const objectMetaSchema: z.ZodType<ObjectMeta> = z.looseObject({
  name: z.string().min(1),
  namespace: z.string().min(1).optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: timestamp().optional(),
  deletionTimestamp: timestamp().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(ownerReferenceSchema).optional(),
})

/** What every object has, and these fields. */
// @__NO_SIDE_EFFECTS__
export function objectSchema<S extends z.ZodRawShape>(shape: S) {
  return z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: objectMetaSchema, ...shape })
}

export const conditionSchema: z.ZodType<Condition> = z.looseObject({
  type: z.string().min(1),
  status: z.enum(['True', 'False', 'Unknown']),
  lastTransitionTime: timestamp(),
  reason: z.string(),
  message: z.string(),
  observedGeneration: z.number().optional(),
})

export const legacyConditionSchema: z.ZodType<LegacyCondition> = z.looseObject({
  type: z.string().min(1),
  status: z.string(),
  severity: z.string().optional(),
  lastTransitionTime: timestamp().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
})

/** RFC 3339 text. Clients that hand out `Date` objects are read too. */
export function timestamp() {
  return z.preprocess(
    (value) => (value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : value),
    z.iso.datetime({ offset: true }),
  )
}

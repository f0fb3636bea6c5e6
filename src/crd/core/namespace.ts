import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'

/** A Namespace (core/v1), as far as IPAM reads it: its labels, and whether it is being deleted. */
export interface Namespace extends KubeObject {
  /** `Active`, or `Terminating`: nothing can be created in it. */
  readonly status?: { readonly phase?: string | undefined } | undefined
}

const schema: z.ZodType<Namespace> = objectSchema({
  status: z.looseObject({ phase: z.string().optional() }).optional(),
})

export const Namespace: Model<Namespace> = defineModel({
  info: {
    apiVersion: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    namespaced: false,
    statusSubresource: true,
    selectableFields: ['status.phase'],
  },
  schema,
})

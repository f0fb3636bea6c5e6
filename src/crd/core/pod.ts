import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'

/** A Pod (core/v1), as far as IPAM reads it: where it runs, and which addresses it has. */
export interface Pod extends KubeObject {
  readonly spec: PodSpec
  readonly status?: PodStatus | undefined
}

export interface PodSpec {
  /** The Node that the Pod runs on; left out until it is scheduled. */
  readonly nodeName?: string | undefined
  /** Whether the Pod has the addresses of its Node, and none of its own. */
  readonly hostNetwork?: boolean | undefined
}

export interface PodStatus {
  /** `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`. */
  readonly phase?: string | undefined
  /** The first of `podIPs`. */
  readonly podIP?: string | undefined
  /** The addresses of the Pod: up to one of each family. */
  readonly podIPs?: readonly { readonly ip: string }[] | undefined
}

const schema: z.ZodType<Pod> = objectSchema({
  spec: z.looseObject({ nodeName: z.string().optional(), hostNetwork: z.boolean().optional() }).default({}),
  status: z
    .looseObject({
      phase: z.string().optional(),
      podIP: z.string().optional(),
      podIPs: z.array(z.looseObject({ ip: z.string() })).optional(),
    })
    .optional(),
})

export const Pod: Model<Pod> = defineModel({
  info: {
    apiVersion: 'v1',
    kind: 'Pod',
    plural: 'pods',
    namespaced: true,
    statusSubresource: true,
    selectableFields: ['spec.nodeName', 'status.phase', 'status.podIP'],
  },
  schema,
})

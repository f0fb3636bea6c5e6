// Kinds of pools: which network of the external system their claims are served from.
import { defineModel, type KubeObject, type Model, objectMetaSchema } from 'ipam-kit/crd/meta'
import * as z from 'zod'

export interface InfobloxPool extends KubeObject {
  readonly spec: {
    /** The network as the external system names it: a CIDR. */
    readonly network: string
    readonly prefix: number
    readonly gateway?: string | undefined
  }
}

/** What both kinds of pools say of their network. */
const network = { network: z.string(), prefix: z.int().min(0).max(128), gateway: z.string().optional() }

export const InfobloxPool: Model<InfobloxPool> = defineModel<InfobloxPool>({
  info: {
    apiVersion: 'ipam.example.com/v1alpha1',
    kind: 'InfobloxPool',
    plural: 'infobloxpools',
    namespaced: true,
    statusSubresource: true,
  },
  schema: z.looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: objectMetaSchema,
    spec: z.looseObject(network),
  }),
})

/**
 * A pool with addresses of its own in the external system: they are there before a claim comes, and
 * stay when it goes.
 */
export interface FloatingPool extends KubeObject {
  readonly spec: InfobloxPool['spec'] & {
    /** Addresses that are there already, and that the pool may use. They are never deleted. */
    readonly existing?: readonly string[] | undefined
    /** How many addresses the pool has the external system create. */
    readonly create?: number | undefined
  }
  /** What the pool may have in the external system: written before it is asked for. */
  readonly status?:
    | { readonly adopted?: readonly string[] | undefined; readonly created?: number | undefined }
    | undefined
}

export const FloatingPool: Model<FloatingPool> = defineModel<FloatingPool>({
  info: { ...InfobloxPool.info, kind: 'FloatingPool', plural: 'floatingpools' },
  schema: z.looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: objectMetaSchema,
    spec: z.looseObject({
      ...network,
      existing: z.array(z.string()).optional(),
      create: z.int().min(0).max(1000).optional(),
    }),
    status: z.looseObject({ adopted: z.array(z.string()).optional(), created: z.int().min(0).optional() }).optional(),
  }),
})

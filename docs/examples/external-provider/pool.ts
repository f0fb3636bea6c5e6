// Kinds of pools: which network of the external system their claims are served from.
import { defineModel, type Json, type KubeObject, type Model, objectMetaSchema } from 'ipam-kit/crd/meta'
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
    /** How many free addresses are created in advance. Default 0. */
    readonly spare?: number | undefined
    /** How many addresses the pool may have. Left out: no limit. */
    readonly max?: number | undefined
    /** What becomes of an address that the pool has created, after its claim. Default `Delete`. */
    readonly reclaim?: 'Delete' | 'Retain' | undefined
  }
  readonly status?: { readonly [field: string]: Json } | undefined
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
      spare: z.int().min(0).max(1000).optional(),
      max: z.int().min(0).optional(),
      reclaim: z.enum(['Delete', 'Retain']).optional(),
    }),
    status: z.record(z.string(), z.json()).optional(),
  }),
})

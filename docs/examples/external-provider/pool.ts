// A kind of pool: which network of the external system its claims are served from.
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
    spec: z.looseObject({
      network: z.string(),
      prefix: z.int().min(0).max(128),
      gateway: z.string().optional(),
    }),
  }),
})

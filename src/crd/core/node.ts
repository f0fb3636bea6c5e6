import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'

/** A Node (core/v1), as far as IPAM reads and writes it. */
export interface Node extends KubeObject {
  readonly spec: NodeSpec
  readonly status?: NodeStatus | undefined
}

export interface NodeSpec {
  /** The first of `podCIDRs`. Both are set together, and once. */
  readonly podCIDR?: string | undefined
  /** The prefixes of the Pods of the Node: up to one of each family. */
  readonly podCIDRs?: readonly string[] | undefined
  readonly providerID?: string | undefined
  readonly unschedulable?: boolean | undefined
  readonly taints?: readonly NodeTaint[] | undefined
}

export interface NodeTaint {
  readonly key: string
  readonly value?: string | undefined
  /** `NoSchedule`, `PreferNoSchedule` or `NoExecute`. */
  readonly effect: string
}

export interface NodeStatus {
  readonly addresses?: readonly NodeAddress[] | undefined
  readonly conditions?: readonly NodeCondition[] | undefined
}

export interface NodeAddress {
  /** `Hostname`, `InternalIP`, `ExternalIP`, `InternalDNS` or `ExternalDNS`. */
  readonly type: string
  readonly address: string
}

export interface NodeCondition {
  /** `Ready`, `NetworkUnavailable`. */
  readonly type: string
  readonly status: string
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

const schema: z.ZodType<Node> = objectSchema({
  spec: z
    .looseObject({
      podCIDR: z.string().optional(),
      podCIDRs: z.array(z.string()).optional(),
      providerID: z.string().optional(),
      unschedulable: z.boolean().optional(),
      taints: z.array(z.looseObject({ key: z.string(), value: z.string().optional(), effect: z.string() })).optional(),
    })
    .default({}),
  status: z
    .looseObject({
      addresses: z.array(z.looseObject({ type: z.string(), address: z.string() })).optional(),
      conditions: z
        .array(
          z.looseObject({
            type: z.string(),
            status: z.string(),
            reason: z.string().optional(),
            message: z.string().optional(),
          }),
        )
        .optional(),
    })
    .optional(),
})

export const Node: Model<Node> = defineModel({
  info: { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false, statusSubresource: true },
  schema,
})

import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { type Condition, conditionSchema, objectSchema, timestamp } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { networkVersions } from './versions.js'

/**
 * The ranges that pods of a cluster have addresses in, as one object that every component can read
 * (ipam-kit.dev/v1alpha1). Its status is a summary with a hash: its size does not depend on the
 * number of nodes. It also carries the acceptance of ranges: a new range is `Proposed` until the
 * named consumers accept it.
 */
export interface ClusterNetwork extends KubeObject {
  readonly spec: ClusterNetworkSpec
  readonly status?: ClusterNetworkStatus | undefined
}

export interface ClusterNetworkSpec {
  /**
   * The components that must accept a range before nodes get subnets from it. At most 8, each once.
   * Left out: ranges are active at once.
   */
  readonly consumers?: readonly { readonly name: string }[] | undefined
  /**
   * A consumer that has not answered this many seconds after `proposedAt` counts as having
   * accepted. An explicit rejection never does. 1 to 31,622,400. Left out: no time limit.
   */
  readonly acceptanceSeconds?: number | undefined
}

export interface ClusterNetworkStatus {
  readonly observedGeneration?: number | undefined
  /**
   * How pods get their addresses. `NodeCIDRs`: ranges are divided among nodes, in `podCIDRs`.
   * `ClusterCIDR`: ranges are for pods only, and not divided. `Shared`: nodes have addresses of the
   * ranges, too. `Unknown`: nodes and ranges do not show it.
   */
  readonly assigner?: 'NodeCIDRs' | 'ClusterCIDR' | 'Shared' | 'Unknown' | undefined
  /** At most one entry for each family. */
  readonly families?: readonly ClusterNetworkFamily[] | undefined
  /** At most 128. */
  readonly ranges?: readonly ClusterNetworkRange[] | undefined
  /**
   * At most 1,024. Each consumer applies its own entries, with its own field manager, and removes
   * those of deleted ranges. The controller never writes them.
   */
  readonly answers?: readonly ClusterNetworkAnswer[] | undefined
  /** A hash of the whole view, also of what the status does not list. In hexadecimal digits. */
  readonly hash?: string | undefined
  /**
   * `Ready`: all ranges are listed. `Consistent`: nothing overlaps that may not, subnets of nodes
   * are in ranges, and all objects can be read.
   */
  readonly conditions?: readonly Condition[] | undefined
}

/** The addresses of pods of one family. */
export interface ClusterNetworkFamily {
  readonly family: 'IPv4' | 'IPv6'
  /** At most 64 CIDRs that contain every address that a pod can have. */
  readonly known: readonly string[]
  /** Whether `known` contains no other addresses. */
  readonly exact: boolean
  /** How many other addresses it contains, as decimal text: `'0'` if it is exact. */
  readonly foreignAddresses: string
  /** How many ranges nodes can get subnets from. */
  readonly active: number
  /** How many ranges nodes get no more subnets from, and still have some. */
  readonly terminating: number
  /** How many ranges wait for acceptance. */
  readonly proposed: number
  /** How many nodes have a subnet. */
  readonly nodes: number
}

export interface ClusterNetworkRange {
  /** Canonical, without host bits. */
  readonly cidr: string
  readonly state: 'Proposed' | 'Active' | 'Terminating'
  /**
   * Of a `Terminating` range: whether it was accepted. If it is configured again, it is `Active` at
   * once.
   */
  readonly accepted?: boolean | undefined
  /**
   * What configures the range: the kind and the name of an object, or `Flag` and the name of the
   * flag.
   */
  readonly source: { readonly kind: string; readonly name: string }
  /**
   * When the range was proposed: added to the view, or configured again without acceptance. The
   * time limit of acceptance begins then.
   */
  readonly proposedAt: string
}

/** The answer of one consumer about one range. */
export interface ClusterNetworkAnswer {
  /** As in `ranges`, character for character. */
  readonly cidr: string
  /** As in `spec.consumers`. */
  readonly consumer: string
  readonly accepted: boolean
  /** Why, in a sentence of at most 128 characters. */
  readonly reason?: string | undefined
  readonly at?: string | undefined
}

const count = z.int()
const schema: z.ZodType<ClusterNetwork> = objectSchema({
  spec: z
    .looseObject({
      consumers: z.array(z.looseObject({ name: z.string() })).optional(),
      acceptanceSeconds: z.int().optional(),
    })
    .default({}),
  status: z
    .looseObject({
      observedGeneration: z.int().optional(),
      assigner: z.enum(['NodeCIDRs', 'ClusterCIDR', 'Shared', 'Unknown']).optional(),
      families: z
        .array(
          z.looseObject({
            family: z.enum(['IPv4', 'IPv6']),
            known: z.array(z.string()),
            exact: z.boolean(),
            foreignAddresses: z.string(),
            active: count,
            terminating: count,
            proposed: count,
            nodes: count,
          }),
        )
        .optional(),
      ranges: z
        .array(
          z.looseObject({
            cidr: z.string(),
            state: z.enum(['Proposed', 'Active', 'Terminating']),
            accepted: z.boolean().optional(),
            source: z.looseObject({ kind: z.string(), name: z.string() }),
            proposedAt: timestamp(),
          }),
        )
        .optional(),
      answers: z
        .array(
          z.looseObject({
            cidr: z.string(),
            consumer: z.string(),
            accepted: z.boolean(),
            reason: z.string().optional(),
            at: timestamp().optional(),
          }),
        )
        .optional(),
      hash: z.string().optional(),
      conditions: z.array(conditionSchema).optional(),
    })
    .optional(),
})

export const ClusterNetwork: CrdModel<ClusterNetwork> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'ClusterNetwork',
    plural: 'clusternetworks',
    namespaced: false,
    statusSubresource: true,
  },
  schema,
  categories: ['ipam'],
  versions: networkVersions(),
})

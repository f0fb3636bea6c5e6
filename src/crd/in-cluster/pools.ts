import * as z from 'zod'
import { defineModel, type Model } from '../meta/model.js'
import type { KubeObject } from '../meta/object.js'
import { objectMetaSchema } from '../meta/schema.js'
import { API_VERSION } from './names.js'

/** A pool of single addresses in one namespace (ipam.cluster.x-k8s.io/v1alpha2). */
export interface InClusterIPPool extends KubeObject {
  readonly spec: InClusterIPPoolSpec
  readonly status?: InClusterPoolStatus | undefined
}

/** A pool of single addresses for claims of every namespace. */
export interface GlobalInClusterIPPool extends InClusterIPPool {}

/** A pool of prefixes of one length in one namespace. */
export interface InClusterPrefixPool extends KubeObject {
  readonly spec: InClusterPrefixPoolSpec
  readonly status?: InClusterPoolStatus | undefined
}

/** A pool of prefixes for claims of every namespace. */
export interface GlobalInClusterPrefixPool extends InClusterPrefixPool {}

/** Any pool that hands out single addresses. */
export type AddressPoolObject = InClusterIPPool | GlobalInClusterIPPool
/** Any pool that hands out prefixes. */
export type PrefixPoolObject = InClusterPrefixPool | GlobalInClusterPrefixPool
/** Any pool of the in-cluster provider. */
export type InClusterPool = AddressPoolObject | PrefixPoolObject

export interface InClusterIPPoolSpec {
  /** Addresses, ranges `first-last` and CIDRs, in any order. */
  readonly addresses: readonly string[]
  /** Length of the subnet that every address is in: 0 to 32 or 0 to 128. */
  readonly prefix: number
  /** Put on every address, and never handed out itself. Need not be in the pool. */
  readonly gateway?: string | undefined
  /** Hand out the first address of the subnet, and for IPv4 the last, as well. Default false. */
  readonly allocateReservedIPAddresses?: boolean | undefined
  /** Addresses, ranges and CIDRs never to hand out. */
  readonly excludedAddresses?: readonly string[] | undefined
  /** How long an address stays in use after its claim was deleted, in seconds: 0 to 2^31 - 1. Default 0. */
  readonly addressReuseGracePeriodSeconds?: number | undefined
}

export interface InClusterPrefixPoolSpec {
  /** IPv6 CIDRs to carve prefixes from, without host bits. */
  readonly prefixes: readonly string[]
  /** Length of every prefix that is handed out: 1 to 128. 0 and absent mean 64. Never changes. */
  readonly allocationPrefixLength?: number | undefined
  /** Put on every address. Not reserved. */
  readonly gateway?: string | undefined
  /** Addresses, ranges and CIDRs that no prefix may overlap. */
  readonly excludedPrefixes?: readonly string[] | undefined
  /** How long a prefix stays in use after its claim was deleted, in seconds: 0 to 2^31 - 1. Default 0. */
  readonly addressReuseGracePeriodSeconds?: number | undefined
}

export interface InClusterPoolStatus {
  readonly ipAddresses?: InClusterPoolCounts | undefined
}

/** Addresses or prefixes, by what they are. Each at most the largest 64-bit integer that JSON numbers can carry. */
export interface InClusterPoolCounts {
  /** What the pool may hand out, in use or not. */
  readonly total: number
  readonly free: number
  /** IPAddress objects of this pool, whatever is in them. */
  readonly used: number
  /** In use, but not or no longer in the pool. */
  readonly outOfRange: number
}

const statusSchema = z
  .looseObject({
    ipAddresses: z
      .looseObject({ total: z.number(), free: z.number(), used: z.number(), outOfRange: z.number() })
      .optional(),
  })
  .optional()

const gracePeriodSchema = z.int32().optional()

const addressPoolSchema: z.ZodType<InClusterIPPool> = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    addresses: z.array(z.string()),
    prefix: z.int(),
    gateway: z.string().optional(),
    allocateReservedIPAddresses: z.boolean().optional(),
    excludedAddresses: z.array(z.string()).optional(),
    addressReuseGracePeriodSeconds: gracePeriodSchema,
  }),
  status: statusSchema,
})

const prefixPoolSchema: z.ZodType<InClusterPrefixPool> = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    prefixes: z.array(z.string()),
    allocationPrefixLength: z.int().optional(),
    gateway: z.string().optional(),
    excludedPrefixes: z.array(z.string()).optional(),
    addressReuseGracePeriodSeconds: gracePeriodSchema,
  }),
  status: statusSchema,
})

export const InClusterIPPool: Model<InClusterIPPool> = defineModel({
  info: info('InClusterIPPool', 'inclusterippools', 'Namespaced'),
  schema: addressPoolSchema,
})

export const GlobalInClusterIPPool: Model<GlobalInClusterIPPool> = defineModel({
  info: info('GlobalInClusterIPPool', 'globalinclusterippools', 'Cluster'),
  schema: addressPoolSchema,
})

export const InClusterPrefixPool: Model<InClusterPrefixPool> = defineModel({
  info: info('InClusterPrefixPool', 'inclusterprefixpools', 'Namespaced'),
  schema: prefixPoolSchema,
})

export const GlobalInClusterPrefixPool: Model<GlobalInClusterPrefixPool> = defineModel({
  info: info('GlobalInClusterPrefixPool', 'globalinclusterprefixpools', 'Cluster'),
  schema: prefixPoolSchema,
})

/** The models of the four pool kinds. */
export const poolModels: readonly Model<InClusterPool>[] = [
  InClusterIPPool,
  GlobalInClusterIPPool,
  InClusterPrefixPool,
  GlobalInClusterPrefixPool,
]

/** Whether a pool hands out prefixes rather than single addresses. */
export function isPrefixPool(pool: InClusterPool): pool is PrefixPoolObject {
  return pool.kind === InClusterPrefixPool.info.kind || pool.kind === GlobalInClusterPrefixPool.info.kind
}

function info(kind: string, plural: string, scope: 'Namespaced' | 'Cluster') {
  return { apiVersion: API_VERSION, kind, plural, namespaced: scope === 'Namespaced', statusSubresource: true }
}

import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import { type LabelSelector, labelSelectorSchema } from '../meta/label-selector.js'
import type { KubeObject } from '../meta/object.js'
import { type Condition, conditionSchema, objectSchema } from '../meta/schema.js'
import { type FamilyGrid, type FamilyGridPreferences, gridPreferencesSchema } from './grid.js'
import { API_VERSION, DEFAULT_DOMAIN } from './names.js'
import { poolVersions } from './versions.js'

/**
 * A pool of addresses, or of prefixes, of one family or both (ipam-kit.dev/v1alpha1). What is given
 * of it is in the rows of {@link IPBlock} objects: the pool itself is a mask over the blocks of its
 * domain, and may change at any time. `IPPool` is the name of the kind in this API group: metal3
 * has a kind of the same name.
 */
export interface IPPool extends KubeObject {
  readonly spec: IPPoolSpec
  readonly status?: IPPoolStatus | undefined
}

export interface IPPoolSpec {
  /** The {@link IPDomain} within which nothing is given twice. Never changes. Default `default`. */
  readonly domain: string
  /** Where addresses come from. What they have in common is the pool's once. */
  readonly subnets: readonly IPPoolSubnet[]
  /**
   * How the space is cut, where this is the first pool of its domain; those that come later ask for
   * the same, or for nothing. Never changes.
   */
  readonly ipv4?: FamilyGridPreferences | undefined
  readonly ipv6?: FamilyGridPreferences | undefined
  /**
   * Whether the first and the last address of a subnet are given: `auto`: not of subnets of four
   * addresses and more; `always`: never; `never`: they are. Of prefixes all are given. Default
   * `auto`.
   */
  readonly skipEdges: 'auto' | 'always' | 'never'
  /**
   * Which of the free addresses is next. `lowest`; `next`: the one behind the last that was given;
   * `leastRecentlyReleased`: one that was never given, else the one that was given back first. The
   * last two hold within a block, and nearly so between blocks. Default `lowest`.
   */
  readonly order: 'lowest' | 'next' | 'leastRecentlyReleased'
  /**
   * For so many seconds after it was given back nobody gets an address. 0 to 31,622,400. Default 0.
   */
  readonly reuseAfterSeconds: number
  /** Keeps what was given back for who comes again. */
  readonly sticky?: IPPoolSticky | undefined
  /** Gives the blocks of the pool to nodes. Left out: all nodes share them. */
  readonly affinity?: IPPoolAffinity | undefined
  /** The namespaces that the pool is for, by their labels. Left out: all. */
  readonly namespaceSelector?: LabelSelector | undefined
  /** The nodes that the pool is for, by their labels. Left out: all. */
  readonly nodeSelector?: LabelSelector | undefined
  /**
   * Of several pools that would do, the one with the highest priority is asked first. Default 0.
   */
  readonly priority: number
  /** Nothing more is given; what was given stays. Default false. */
  readonly disabled: boolean
}

/** One network, and what of it belongs to the pool. */
export interface IPPoolSubnet {
  /** The network, without host bits. Its length goes with each of its addresses. */
  readonly cidr: string
  /** What of it is given: addresses, `first-last`, CIDRs. Default: all of it. */
  readonly ranges?: readonly string[] | undefined
  /** What is never given. */
  readonly exclude?: readonly string[] | undefined
  /** What is given only to who asks for that very address. */
  readonly reserved?: readonly string[] | undefined
  /** The router. It goes with each address, and is itself never given. */
  readonly gateway?: string | undefined
}

export interface IPPoolSticky {
  /**
   * Who comes again: who has the same `mac`, or the same `owner`: kind, namespace, name and
   * interface, but perhaps another uid.
   */
  readonly by: 'mac' | 'owner'
  /** For how long. 1 to 31,622,400. */
  readonly forSeconds: number
}

export interface IPPoolAffinity {
  readonly by: 'node'
  /** How many blocks of the pool and family a node has at most. Left out: any number. */
  readonly maxBlocksPerNode?: number | undefined
  /**
   * Whether a node that gets no block any more takes addresses of the blocks of others. Default
   * true.
   */
  readonly borrow: boolean
}

export interface IPPoolStatus {
  readonly observedGeneration?: number | undefined
  /** The domain that the pool was taken into, by its uid. Nothing is given before. */
  readonly domainUID?: string | undefined
  readonly ipv4?: IPPoolFamilyStatus | undefined
  readonly ipv6?: IPPoolFamilyStatus | undefined
  readonly conditions?: readonly Condition[] | undefined
}

/**
 * The grid of the domain, counts, and where to look. Counts are of units, as decimal text: they can
 * be larger than any number of JSON.
 */
export interface IPPoolFamilyStatus extends FamilyGrid {
  /** What the pool gives, and what it keeps for who asks for it. */
  readonly total?: string | undefined
  /** What is given, also of what the pool no longer has. */
  readonly allocated?: string | undefined
  /** What the next one could get. */
  readonly free?: string | undefined
  /** What is kept for who asks for it, given or not. */
  readonly reserved?: string | undefined
  /** What was given back and waits. */
  readonly cooling?: string | undefined
  /** What is given and not of the pool any more. */
  readonly outOfRange?: string | undefined
  /**
   * The blocks that have nothing to give, as ranges of addresses. A hint, a second or so old: who
   * goes by it looks at one block too many, or misses for that long what was given back.
   */
  readonly full?: readonly string[] | undefined
  /** The blocks of nodes that have something to give. A hint as well. */
  readonly bound?: readonly string[] | undefined
  /** What was given last. A hint as well. */
  readonly last?: string | undefined
}

const texts = z.array(z.string()).optional()
const count = z.string().optional()
const familyStatus: z.ZodType<IPPoolFamilyStatus> = z.looseObject({
  blockPrefixLength: z.int(),
  allocationPrefixLength: z.int(),
  total: count,
  allocated: count,
  free: count,
  reserved: count,
  cooling: count,
  outOfRange: count,
  full: texts,
  bound: texts,
  last: count,
})

const schema: z.ZodType<IPPool> = objectSchema({
  spec: z.looseObject({
    domain: z.string().default(DEFAULT_DOMAIN),
    subnets: z.array(
      z.looseObject({
        cidr: z.string(),
        ranges: texts,
        exclude: texts,
        reserved: texts,
        gateway: z.string().optional(),
      }),
    ),
    ipv4: gridPreferencesSchema.optional(),
    ipv6: gridPreferencesSchema.optional(),
    skipEdges: z.enum(['auto', 'always', 'never']).default('auto'),
    order: z.enum(['lowest', 'next', 'leastRecentlyReleased']).default('lowest'),
    reuseAfterSeconds: z.int().default(0),
    sticky: z.looseObject({ by: z.enum(['mac', 'owner']), forSeconds: z.int() }).optional(),
    affinity: z
      .looseObject({ by: z.literal('node'), maxBlocksPerNode: z.int().optional(), borrow: z.boolean().default(true) })
      .optional(),
    namespaceSelector: labelSelectorSchema.optional(),
    nodeSelector: labelSelectorSchema.optional(),
    priority: z.int().default(0),
    disabled: z.boolean().default(false),
  }),
  status: z
    .looseObject({
      observedGeneration: z.int().optional(),
      domainUID: z.string().optional(),
      ipv4: familyStatus.optional(),
      ipv6: familyStatus.optional(),
      conditions: z.array(conditionSchema).optional(),
    })
    .optional(),
})

export const IPPool: CrdModel<IPPool> = /* @__PURE__ */ defineCrdModel({
  info: { apiVersion: API_VERSION, kind: 'IPPool', plural: 'ippools', namespaced: false, statusSubresource: true },
  schema,
  categories: ['ipam'],
  versions: poolVersions(),
})

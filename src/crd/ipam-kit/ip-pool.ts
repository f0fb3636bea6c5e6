import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import { type LabelSelector, labelSelectorSchema } from '../meta/label-selector.js'
import type { KubeObject } from '../meta/object.js'
import { type Condition, conditionSchema, objectSchema } from '../meta/schema.js'
import { type FamilyGrid, type FamilyGridPreferences, gridPreferencesSchema } from './grid.js'
import { API_VERSION, DEFAULT_DOMAIN } from './names.js'
import { poolVersions } from './versions.js'

/**
 * A pool of addresses, or of prefixes, of one family or both (ipam-kit.dev/v1alpha1). The rows of
 * {@link IPBlock} objects say what is allocated. The pool itself is a mask over the blocks of its
 * domain, and may change at any time. `IPPool` is the name of the kind in this API group: metal3
 * has a kind of the same name.
 */
export interface IPPool extends KubeObject {
  readonly spec: IPPoolSpec
  readonly status?: IPPoolStatus | undefined
}

export interface IPPoolSpec {
  /**
   * The {@link IPDomain}, in which each address is allocated at most once. Immutable. Default
   * `default`.
   */
  readonly domain: string
  /** The networks of the pool. They may overlap: an address counts once. */
  readonly subnets: readonly IPPoolSubnet[]
  /**
   * The lengths of blocks and units. The first pool of a domain decides them; later pools name the
   * same lengths or none. Immutable.
   */
  readonly ipv4?: FamilyGridPreferences | undefined
  readonly ipv6?: FamilyGridPreferences | undefined
  /**
   * Whether the pool skips the first and the last address of a subnet. `auto`: in subnets of four
   * addresses or more. A pool of prefixes skips none. Default `auto`.
   */
  readonly skipEdges: 'auto' | 'always' | 'never'
  /**
   * Which free address is allocated next. `lowest`: the lowest one. `next`: the one after the last
   * allocated one. `leastRecentlyReleased`: one that was never allocated, or else the one that was
   * released first. The last two are exact within a block, and approximate between blocks. Default
   * `lowest`.
   */
  readonly order: 'lowest' | 'next' | 'leastRecentlyReleased'
  /**
   * How long a released address is not allocated again, in seconds: 0 to 31,622,400. Default 0.
   */
  readonly reuseAfterSeconds: number
  /** Keeps a released address for its owner, which may return. Default: it is not kept. */
  readonly sticky?: IPPoolSticky | undefined
  /** Binds the blocks of the pool to nodes. Default: all nodes share the blocks. */
  readonly affinity?: IPPoolAffinity | undefined
  /** Labels of the namespaces that may use the pool. Default: all namespaces. */
  readonly namespaceSelector?: LabelSelector | undefined
  /** Labels of the nodes that may use the pool. Default: all nodes. */
  readonly nodeSelector?: LabelSelector | undefined
  /**
   * Of several pools that a claim may use, the one with the highest priority is tried first.
   * Default 0.
   */
  readonly priority: number
  /** Whether the pool allocates no more. Allocated addresses stay allocated. Default false. */
  readonly disabled: boolean
}

/** One network, and the part of it that belongs to the pool. */
export interface IPPoolSubnet {
  /** The network, without host bits. Its prefix length is returned with each address. */
  readonly cidr: string
  /** The part that the pool allocates: addresses, `first-last`, CIDRs. Default: all of it. */
  readonly ranges?: readonly string[] | undefined
  /** The part that the pool never allocates. */
  readonly exclude?: readonly string[] | undefined
  /** Addresses that the pool allocates only to a claim that requests exactly this address. */
  readonly reserved?: readonly string[] | undefined
  /** The router. It is returned with each address, and the pool never allocates it. */
  readonly gateway?: string | undefined
}

export interface IPPoolSticky {
  /**
   * How a returning owner is recognised. `mac`: by its MAC address. `owner`: by its kind,
   * namespace, name and interface; its uid may be another one.
   */
  readonly by: 'mac' | 'owner'
  /** How long the address is kept, in seconds: 1 to 31,622,400. */
  readonly forSeconds: number
}

export interface IPPoolAffinity {
  readonly by: 'node'
  /** Maximum number of blocks of the pool and family on a node. Default: no limit. */
  readonly maxBlocksPerNode?: number | undefined
  /**
   * Whether a node that cannot get another block takes addresses from blocks of other nodes.
   * Default true.
   */
  readonly borrow: boolean
}

export interface IPPoolStatus {
  readonly observedGeneration?: number | undefined
  /**
   * The uid of the {@link IPDomain} that accepted the pool. Absent: the pool allocates nothing yet.
   */
  readonly domainUID?: string | undefined
  readonly ipv4?: IPPoolFamilyStatus | undefined
  readonly ipv6?: IPPoolFamilyStatus | undefined
  readonly conditions?: readonly Condition[] | undefined
}

/**
 * The grid of the domain, counts of units, and hints for the search. Counts are decimal texts,
 * because they can be larger than a JSON number.
 */
export interface IPPoolFamilyStatus extends FamilyGrid {
  /** Units that the pool can allocate, reserved ones included. */
  readonly total?: string | undefined
  /** Allocated units, also those that the pool no longer contains. */
  readonly allocated?: string | undefined
  /** Free units. */
  readonly free?: string | undefined
  /** Units that are allocated only on request, allocated or not. */
  readonly reserved?: string | undefined
  /** Released units that are not allocated again yet. */
  readonly cooldown?: string | undefined
  /** Allocated units that the pool no longer contains. */
  readonly outOfRange?: string | undefined
  /**
   * Blocks without a free unit, as ranges of addresses. A hint that is about a second old. A writer
   * that follows it may try a full block, or miss an address that was just released.
   */
  readonly full?: readonly string[] | undefined
  /** Blocks of nodes that have free units. A hint as well. */
  readonly bound?: readonly string[] | undefined
  /** The last allocated address or CIDR. A hint as well. */
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
  cooldown: count,
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

import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema, timestamp } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { blockVersions } from './versions.js'

/**
 * A range of addresses of a domain, and their owners. It is the only record of what is allocated. A
 * writer allocates an address by adding a row. The API server refuses the write if another writer
 * has changed the block since, so any number of writers can allocate at the same time.
 *
 * The grid of the domain, not the pool, determines the borders of a block: overlapping pools share
 * blocks.
 */
export interface IPBlock extends KubeObject {
  readonly spec: IPBlockSpec
}

export interface IPBlockSpec {
  /** Part of the name. Immutable. */
  readonly cidr: string
  /** Name of the {@link IPDomain}. Immutable. */
  readonly domain: string
  /** Prefix length of a unit. Immutable. */
  readonly allocationPrefixLength: number
  /** The pool that the block was created for. Rows without a pool belong to it. Immutable. */
  readonly pool: string
  /** The node that the block is bound to. */
  readonly node?: string | undefined
  /**
   * The sequence of the last row that was added, in this block or in a former block of the same
   * addresses. It never decreases.
   */
  readonly sequence: number
  /** The last allocated unit. The order `next` continues after it. */
  readonly last?: number | undefined
  /**
   * Rows by the number of the unit within the block, from 0. A free unit has no row, unless a
   * released row is kept for its former owner.
   */
  readonly rows: { readonly [unit: string]: IPBlockRow }
}

/** The owner of a unit, or of adjacent units. */
export interface IPBlockRow {
  /** `namespace/name`, or `name`. */
  readonly owner: string
  /** The uid of the owner. */
  readonly uid: string
  /** Kind of the owner, as `Kind.group`. Default: a Pod. */
  readonly kind?: string | undefined
  /** The interface of the owner. Default: the owner has one interface. */
  readonly interface?: string | undefined
  /** Id of the container, if a container runtime made the request. */
  readonly container?: string | undefined
  readonly mac?: string | undefined
  /** Default: the pool of the block. */
  readonly pool?: string | undefined
  /** The number of units, from this one upwards. Default: 1. */
  readonly count?: number | undefined
  /** No other row of the address ever has the same number. */
  readonly sequence: number
  /**
   * Absent: allocated to the owner. `held`: released, and kept for the owner if it returns.
   * `cooldown`: released, and not allocated to any owner until `until`.
   */
  readonly state?: 'held' | 'cooldown' | undefined
  /** When the address was released. */
  readonly released?: string | undefined
  /** When the state `held` or `cooldown` ends. */
  readonly until?: string | undefined
}

const optional = z.string().optional()
const row: z.ZodType<IPBlockRow> = z.looseObject({
  owner: z.string(),
  uid: z.string(),
  kind: optional,
  interface: optional,
  container: optional,
  mac: optional,
  pool: optional,
  count: z.int().min(1).optional(),
  sequence: z.int(),
  state: z.enum(['held', 'cooldown']).optional(),
  released: timestamp().optional(),
  until: timestamp().optional(),
})

const schema: z.ZodType<IPBlock> = objectSchema({
  spec: z.looseObject({
    cidr: z.string(),
    domain: z.string(),
    allocationPrefixLength: z.int(),
    pool: z.string(),
    node: z.string().optional(),
    sequence: z.int(),
    last: z.int().optional(),
    rows: z.record(z.string(), row).default({}),
  }),
})

export const IPBlock: CrdModel<IPBlock> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'IPBlock',
    plural: 'ipblocks',
    namespaced: false,
    statusSubresource: false,
    selectableFields: ['spec.domain', 'spec.node', 'spec.pool'],
  },
  schema,
  categories: ['ipam'],
  versions: blockVersions(),
})

import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema, timestamp } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { blockVersions } from './versions.js'

/**
 * Some neighbouring addresses of a domain, and who has them: the one place where that is written.
 * Whoever gives an address adds a row, on the condition that nobody else has written since; so any
 * number of writers may do it at once.
 *
 * Its borders lie on the grid of its domain and not on those of a pool: overlapping pools have
 * their blocks in common.
 */
export interface IPBlock extends KubeObject {
  readonly spec: IPBlockSpec
}

export interface IPBlockSpec {
  /** Never changes, as the name says it too. */
  readonly cidr: string
  /** Name of the {@link IPDomain}. Never changes. */
  readonly domain: string
  /** The length of what is given. Never changes. */
  readonly allocationPrefixLength: number
  /** The pool of the rows that name none: the one for which the block was made. Never changes. */
  readonly pool: string
  /** The node that it is bound to. */
  readonly node?: string | undefined
  /**
   * The number of the last row that was added, of this block or of the one before it at its place.
   * It only grows.
   */
  readonly sequence: number
  /** The unit that was given last, or the last of those: the order `next` continues behind it. */
  readonly last?: number | undefined
  /**
   * By the number of the unit within the block, from 0. Removed is what is free, but for what is
   * remembered of who had it.
   */
  readonly rows: { readonly [unit: string]: IPBlockRow }
}

/** Who has a unit, or some of them in a row. */
export interface IPBlockRow {
  /** `namespace/name`, or `name`. */
  readonly owner: string
  /** The uid of the owner. */
  readonly uid: string
  /** What the owner is, as `Kind.group`. Left out: a Pod. */
  readonly kind?: string | undefined
  /** Which of the owner's interfaces it is for. Left out: it has one. */
  readonly interface?: string | undefined
  /** The id of the container, where a container runtime asked. */
  readonly container?: string | undefined
  readonly mac?: string | undefined
  /** Left out: the pool of the block. */
  readonly pool?: string | undefined
  /** For so many units, from this one. Left out: 1. */
  readonly count?: number | undefined
  /** The number of this row: no other row of the address ever had it. */
  readonly sequence: number
  /**
   * Left out: the owner has it. `held`: given back, and kept for who comes again. `cooling`: given
   * back, and for nobody.
   */
  readonly state?: 'held' | 'cooling' | undefined
  /** When it was given back. */
  readonly released?: string | undefined
  /** Until when it is held, or cools. */
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
  state: z.enum(['held', 'cooling']).optional(),
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

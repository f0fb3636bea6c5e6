import { age, type CrdModel, column } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import {
  type Field,
  type FieldsOf,
  fixed,
  flag,
  integer,
  list,
  NEVER_CHANGES,
  object,
  text,
  withRules,
} from '../meta/strict.js'
import { conditions, GENERATION } from '../meta/strict-conditions.js'
import { labelSelector } from '../meta/strict-label-selector.js'
import { CIDR, COUNT, NAME, named, ownKind, ready } from './fields.js'
import { type FamilyGrid, type FamilyGridPreferences, gridFields } from './grid.js'
import { DEFAULT_DOMAIN, MAX_SECONDS, MAX_STATUS_RANGES, MAX_SUBNET_TEXTS, MAX_SUBNETS } from './names.js'

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

export interface IPPoolSpec extends FieldsOf<typeof spaceFields>, FieldsOf<typeof policyFields> {}

/** One network, and the part of it that belongs to the pool. */
export interface IPPoolSubnet extends FieldsOf<typeof subnetFields> {}

export interface IPPoolSticky extends FieldsOf<typeof stickyFields> {}

export interface IPPoolAffinity extends FieldsOf<typeof affinityFields> {}

export interface IPPoolStatus extends FieldsOf<typeof statusFields> {}

/**
 * The grid of the domain, counts of units, and hints for the search. Counts are decimal texts,
 * because they can be larger than a JSON number.
 */
export interface IPPoolFamilyStatus extends FamilyGrid, FieldsOf<typeof countFields> {}

/** An address, two of them with a hyphen, or a CIDR. */
const ENTRY = { minLength: 2, maxLength: 91 } as const

/** The part of the spec that says what the pool can allocate. */
function spaceFields() {
  const subnet: Field<IPPoolSubnet> = object(
    'One network, and the part of it that belongs to the pool.',
    subnetFields(),
  )
  const preferences = (family: 4 | 6): Field<FamilyGridPreferences> => {
    const { blockPrefixLength, allocationPrefixLength } = gridFields(family)
    return object(
      `Lengths of blocks and units of IPv${family}. The first pool of a domain decides them; later pools name the same lengths or none. Immutable.`,
      { blockPrefixLength: blockPrefixLength.optional(), allocationPrefixLength: allocationPrefixLength.optional() },
    )
  }
  return {
    /**
     * The {@link IPDomain}, in which each address is allocated at most once. Immutable. Default
     * `default`.
     */
    domain: fixed(
      text('Name of the IPDomain, in which each address is allocated at most once. Immutable.', NAME),
    ).default(DEFAULT_DOMAIN),
    /** The networks of the pool. They may overlap: an address counts once. */
    subnets: list('The networks of the pool.', subnet, { minItems: 1, maxItems: MAX_SUBNETS, mapKeys: ['cidr'] }),
    /**
     * The lengths of blocks and units. The first pool of a domain decides them; later pools name
     * the same lengths or none. Immutable.
     */
    ipv4: preferences(4).optional(),
    ipv6: preferences(6).optional(),
    /**
     * Whether the pool skips the first and the last address of a subnet. `auto`: in subnets of four
     * addresses or more. A pool of prefixes skips none. Default `auto`.
     */
    skipEdges: text(
      'Whether the pool skips the first and the last address of a subnet. auto: in subnets of four addresses or more. always. never. A pool of prefixes skips none.',
      { enum: ['auto', 'always', 'never'] },
    ).default('auto'),
  }
}

function subnetFields() {
  const entries = (description: string, minItems?: number) =>
    list(description, text('An address, a range first-last or a CIDR.', ENTRY), {
      ...(minItems === undefined ? {} : { minItems }),
      maxItems: MAX_SUBNET_TEXTS,
    }).optional()
  return {
    /** The network, without host bits. Its prefix length is returned with each address. */
    cidr: text('The network, without host bits. Its prefix length is returned with each address.', CIDR),
    /** The part that the pool allocates: addresses, `first-last`, CIDRs. Default: all of it. */
    ranges: entries('The part of the network that the pool allocates. Default: all of it.', 1),
    /** The part that the pool never allocates. */
    exclude: entries('The part of the network that the pool never allocates.'),
    /** Addresses that the pool allocates only to a claim that requests exactly this address. */
    reserved: entries('Addresses that the pool allocates only to a claim that requests exactly this address.'),
    /** The router. It is returned with each address, and the pool never allocates it. */
    gateway: text('The router. It is returned with each address, and the pool never allocates it.', {
      minLength: 2,
      maxLength: 45,
    }).optional(),
  }
}

const seconds = (description: string, minimum: number) =>
  integer(description, { format: 'int32', minimum, maximum: MAX_SECONDS })

/** The part of the spec that says which claim gets which address, and when. */
function policyFields() {
  const sticky: Field<IPPoolSticky> = object(
    'Keeps a released address for its owner, which may return.',
    stickyFields(),
  )
  const affinity: Field<IPPoolAffinity> = object(
    'Binds the blocks of the pool to nodes. Default: all nodes share the blocks.',
    affinityFields(),
  )
  return {
    /**
     * Which free address is allocated next. `lowest`: the lowest one. `next`: the one after the
     * last allocated one. `leastRecentlyReleased`: one that was never allocated, or else the one
     * that was released first. The last two are exact within a block, and approximate between
     * blocks. Default `lowest`.
     */
    order: text(
      'Which free address is allocated next. lowest: the lowest one. next: the one after the last allocated one. leastRecentlyReleased: one that was never allocated, or else the one that was released first.',
      { enum: ['lowest', 'next', 'leastRecentlyReleased'] },
    ).default('lowest'),
    /**
     * How long a released address is not allocated again, in seconds: 0 to 31,622,400. Default 0.
     */
    reuseAfterSeconds: seconds('How long a released address is not allocated again, in seconds.', 0).default(0),
    /** Keeps a released address for its owner, which may return. Default: it is not kept. */
    sticky: sticky.optional(),
    /** Binds the blocks of the pool to nodes. Default: all nodes share the blocks. */
    affinity: affinity.optional(),
    /** Labels of the namespaces that may use the pool. Default: all namespaces. */
    namespaceSelector: labelSelector(
      'Labels of the namespaces that may use the pool. Default: all namespaces.',
    ).optional(),
    /** Labels of the nodes that may use the pool. Default: all nodes. */
    nodeSelector: labelSelector('Labels of the nodes that may use the pool. Default: all nodes.').optional(),
    /**
     * Of several pools that a claim may use, the one with the highest priority is tried first.
     * Default 0.
     */
    priority: integer('Of several pools that a claim may use, the one with the highest priority is tried first.', {
      format: 'int32',
    }).default(0),
    /** Whether the pool allocates no more. Allocated addresses stay allocated. Default false. */
    disabled: flag('Whether the pool allocates no more. Allocated addresses stay allocated.').default(false),
  }
}

function stickyFields() {
  return {
    /**
     * How a returning owner is recognised. `mac`: by its MAC address. `owner`: by its kind,
     * namespace, name and interface; its uid may be another one.
     */
    by: text(
      'How a returning owner is recognised: by its MAC address, or by its kind, namespace, name and interface.',
      { enum: ['mac', 'owner'] },
    ),
    /** How long the address is kept, in seconds: 1 to 31,622,400. */
    forSeconds: seconds('How long the address is kept, in seconds.', 1),
  }
}

function affinityFields() {
  return {
    by: text('What blocks are bound to.', { enum: ['node'] }),
    /** Maximum number of blocks of the pool and family on a node. Default: no limit. */
    maxBlocksPerNode: integer('Maximum number of blocks of a family on a node. Default: no limit.', {
      format: 'int32',
      minimum: 1,
    }).optional(),
    /**
     * Whether a node that cannot get another block takes addresses from blocks of other nodes.
     * Default true.
     */
    borrow: flag('Whether a node that cannot get another block takes addresses from blocks of other nodes.').default(
      true,
    ),
  }
}

function statusFields() {
  const family = (of: 4 | 6): Field<IPPoolFamilyStatus> =>
    object(`The grid of IPv${of} in the domain, counts of units, and hints for the search.`, {
      ...gridFields(of),
      ...countFields(),
    })
  return {
    observedGeneration: integer('The generation of the pool that this status describes.', GENERATION).optional(),
    /**
     * The uid of the {@link IPDomain} that accepted the pool. Absent: the pool allocates nothing
     * yet.
     */
    domainUID: text('The uid of the IPDomain that accepted the pool.', { maxLength: 128 }).optional(),
    ipv4: family(4).optional(),
    ipv6: family(6).optional(),
    conditions: conditions('Conditions of the pool. Known types: Ready, Exhausted, Overlaps.').optional(),
  }
}

function countFields() {
  const count = (description: string) => text(`${description} A number as text.`, COUNT).optional()
  const ranges = (description: string) =>
    list(description, text('Addresses, as first-last or CIDR.', ENTRY), { maxItems: MAX_STATUS_RANGES }).optional()
  return {
    /** Units that the pool can allocate, reserved ones included. */
    total: count('Units that the pool can allocate, reserved ones included.'),
    /** Allocated units, also those that the pool no longer contains. */
    allocated: count('Allocated units, also those that the pool no longer contains.'),
    /** Free units. */
    free: count('Free units.'),
    /** Units that are allocated only on request, allocated or not. */
    reserved: count('Units that are allocated only on request, allocated or not.'),
    /** Released units that are not allocated again yet. */
    cooldown: count('Released units that are not allocated again yet.'),
    /** Allocated units that the pool no longer contains. */
    outOfRange: count('Allocated units that the pool no longer contains.'),
    /**
     * Blocks without a free unit, as ranges of addresses. A hint that is about a second old. A
     * writer that follows it may try a full block, or miss an address that was just released.
     */
    full: ranges('Blocks without a free unit. A hint.'),
    /** Blocks of nodes that have free units. A hint as well. */
    bound: ranges('Blocks of nodes that have free units. A hint.'),
    /** The last allocated address or CIDR. A hint as well. */
    last: text('The last allocated address or CIDR. A hint.', ENTRY).optional(),
  }
}

/** A grid that is set once. */
const setOnce = (field: string) => ({
  rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} == oldSelf.${field})`,
  message: `${NEVER_CHANGES} once it is set`,
  fieldPath: `.${field}`,
})

const free = (family: 4 | 6) => column(`Free v${family}`, 'Units that are free', `.status.ipv${family}.free`)

export const IPPool: CrdModel<IPPool> = /* @__PURE__ */ ownKind({
  kind: 'IPPool',
  statusSubresource: true,
  columns: [
    column('Domain', 'IPDomain in which each address is allocated once', '.spec.domain'),
    // an API server shows only the first item of a list
    column('Subnet', 'First network of the pool', '.spec.subnets[0].cidr'),
    free(4),
    free(6),
    ready('pool'),
    age('pool'),
  ],
  schema: () => {
    const spec = object('What the pool allocates, to which claims, and in which order.', {
      ...spaceFields(),
      ...policyFields(),
    })
    return named('A pool of addresses, or of prefixes. The rows of IPBlocks say what is allocated.', {
      spec: withRules(spec, [setOnce('ipv4'), setOnce('ipv6')]),
      status: object('Observed state of the pool.', statusFields()).optional(),
    })
  },
})

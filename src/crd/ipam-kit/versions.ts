import * as z from 'zod'
import { age, column, type PrinterColumn, type VersionSpec } from '../meta/crd-model.js'
import { KIND_PATTERN, SUBDOMAIN_PATTERN } from '../meta/dns-names.js'
import {
  fixed,
  flag,
  integer,
  kubeObject,
  list,
  mapOf,
  NEVER_CHANGES,
  object,
  text,
  withRules,
} from '../meta/strict.js'
import { conditions, GENERATION } from '../meta/strict-conditions.js'
import { labelSelector } from '../meta/strict-label-selector.js'
import {
  API_VERSION,
  DEFAULT_DOMAIN,
  MAX_ANSWERS,
  MAX_BLOCK_SIZE,
  MAX_CONSUMERS,
  MAX_ENDED,
  MAX_HANDLE_BLOCKS,
  MAX_HANDLE_INTERFACES,
  MAX_KNOWN_PREFIXES,
  MAX_NAME_LENGTH,
  MAX_RANGES,
  MAX_RESERVATIONS,
  MAX_ROW_TEXTS,
  MAX_SECONDS,
  MAX_STATUS_RANGES,
  MAX_SUBNET_TEXTS,
  MAX_SUBNETS,
  PLAIN_PATTERN,
} from './names.js'

export function domainVersions(): readonly VersionSpec[] {
  const path = (family: 4 | 6) => `.spec.ipv${family}.blockPrefixLength`
  const length = (family: 4 | 6) =>
    column(`IPv${family} block`, `Length of the blocks of IPv${family}`, path(family), 'integer')
  return [{ apiVersion: API_VERSION, columns: [length(4), length(6), ready('domain'), age('domain')], schema: domain }]
}

export function poolVersions(): readonly VersionSpec[] {
  const free = (family: 4 | 6) => column(`Free v${family}`, 'Units that are free', `.status.ipv${family}.free`)
  const columns = [
    column('Domain', 'IPDomain in which each address is allocated once', '.spec.domain'),
    // an API server shows only the first item of a list
    column('Subnet', 'First network of the pool', '.spec.subnets[0].cidr'),
    free(4),
    free(6),
    ready('pool'),
    age('pool'),
  ]
  return [{ apiVersion: API_VERSION, columns, schema: pool }]
}

export function blockVersions(): readonly VersionSpec[] {
  const columns = [
    column('CIDR', 'Addresses of the block', '.spec.cidr'),
    column('Domain', 'IPDomain in which each address is allocated once', '.spec.domain'),
    column('Pool', 'Pool that the block was created for', '.spec.pool'),
    column('Node', 'Node that the block is bound to', '.spec.node'),
    age('block'),
  ]
  return [{ apiVersion: API_VERSION, columns, schema: block }]
}

export function handleVersions(): readonly VersionSpec[] {
  const columns = [column('Owner', 'Owner of the rows', '.spec.owner'), age('handle')]
  return [{ apiVersion: API_VERSION, columns, schema: handle }]
}

export function networkVersions(): readonly VersionSpec[] {
  const known = (family: 4 | 6) =>
    column(
      `Known v${family}`,
      `First of the CIDRs that IPv${family} addresses of pods are in`,
      `.status.families[?(@.family=="IPv${family}")].known[0]`,
    )
  const columns = [
    column('Assigner', 'How pods get their addresses', '.status.assigner'),
    known(4),
    known(6),
    ready('view'),
    age('view'),
  ]
  return [{ apiVersion: API_VERSION, columns, schema: network }]
}

export function reservationVersions(): readonly VersionSpec[] {
  return [{ apiVersion: API_VERSION, columns: [age('object')], schema: reservations }]
}

function ready(what: string): PrinterColumn {
  return column('Ready', `Whether the ${what} can be used`, '.status.conditions[?(@.type=="Ready")].status')
}

const NAME = { minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: SUBDOMAIN_PATTERN } as const
const ADDRESS = { minLength: 2, maxLength: 45 } as const
const CIDR = { minLength: 4, maxLength: 49 } as const
/** An address, two of them with a hyphen, or a CIDR. */
const ENTRY = { minLength: 2, maxLength: 91 } as const
const COUNT = { maxLength: 39, pattern: '^(0|[1-9][0-9]*)$' } as const

const plain = (field: keyof typeof MAX_ROW_TEXTS) => ({
  minLength: 1,
  maxLength: MAX_ROW_TEXTS[field],
  pattern: PLAIN_PATTERN,
})
const POSITIVE = { format: 'int32', minimum: 1 } as const
const UNIT = { minimum: 0, maximum: MAX_BLOCK_SIZE - 1 } as const
const UNITS = { minimum: 1, maximum: MAX_BLOCK_SIZE } as const
const MAC = { maxLength: 17, pattern: '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$' } as const
const TIME = { format: 'date-time', maxLength: 27 } as const

/**
 * A kind whose names become parts of other names. An API server checks names with its own pattern
 * only.
 */
function named(description: string, shape: Parameters<typeof kubeObject>[1]) {
  const message = `metadata.name has more than ${MAX_NAME_LENGTH} characters`
  return withRules(kubeObject(description, shape), [
    { rule: `size(self.metadata.name) <= ${MAX_NAME_LENGTH}`, message },
  ])
}

function grid(family: 4 | 6) {
  const length = { minimum: 1, maximum: family === 4 ? 32 : 128 }
  const unit = `Prefix length of a unit, which is what the pool allocates: ${length.maximum} for addresses, less for prefixes.`
  return {
    blockPrefixLength: integer(`Prefix length of a block. A block has up to ${MAX_BLOCK_SIZE} units.`, length),
    allocationPrefixLength: integer(unit, length),
  }
}

function domain() {
  const spec = object('The grid of the blocks of all pools in the domain. Immutable.', {
    ipv4: object('Lengths of blocks and units of IPv4.', grid(4)),
    ipv6: object('Lengths of blocks and units of IPv6.', grid(6)),
  })
  const status = object('Observed state of the domain.', {
    conditions: conditions('Conditions of the domain. Known types: Ready.').optional(),
  })
  const shape = { spec: fixed(spec), status: status.optional() }
  return named('An address space in which each address is allocated at most once, by all of its pools together.', shape)
}

function pool() {
  const spec = object('What the pool allocates, to which claims, and in which order.', {
    ...poolSpace(),
    ...poolPolicy(),
  })
  const preferences = (field: string) => ({
    rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} == oldSelf.${field})`,
    message: `${NEVER_CHANGES} once it is set`,
    fieldPath: `.${field}`,
  })
  const shape = { spec: withRules(spec, [preferences('ipv4'), preferences('ipv6')]), status: poolStatus().optional() }
  return named('A pool of addresses, or of prefixes. The rows of IPBlocks say what is allocated.', shape)
}

/** The part of the spec of a pool that says what it can allocate. */
function poolSpace() {
  const entries = (description: string, minItems?: number) =>
    list(description, text('An address, a range first-last or a CIDR.', ENTRY), {
      ...(minItems === undefined ? {} : { minItems }),
      maxItems: MAX_SUBNET_TEXTS,
    }).optional()
  const subnet = object('One network, and the part of it that belongs to the pool.', {
    cidr: text('The network, without host bits. Its prefix length is returned with each address.', CIDR),
    ranges: entries('The part of the network that the pool allocates. Default: all of it.', 1),
    exclude: entries('The part of the network that the pool never allocates.'),
    reserved: entries('Addresses that the pool allocates only to a claim that requests exactly this address.'),
    gateway: text('The router. It is returned with each address, and the pool never allocates it.', ADDRESS).optional(),
  })
  const preferences = (family: 4 | 6) => {
    const sentence = `Lengths of blocks and units of IPv${family}. The first pool of a domain decides them; later pools name the same lengths or none. Immutable.`
    return object(sentence, z.object(grid(family)).partial().shape).optional()
  }
  return {
    domain: fixed(
      text('Name of the IPDomain, in which each address is allocated at most once. Immutable.', NAME),
    ).default(DEFAULT_DOMAIN),
    subnets: list('The networks of the pool.', subnet, { minItems: 1, maxItems: MAX_SUBNETS, mapKeys: ['cidr'] }),
    ipv4: preferences(4),
    ipv6: preferences(6),
    skipEdges: text(
      'Whether the pool skips the first and the last address of a subnet. auto: in subnets of four addresses or more. always. never. A pool of prefixes skips none.',
      { enum: ['auto', 'always', 'never'] },
    ).default('auto'),
  }
}

/** The part of the spec of a pool that says which claim gets which address, and when. */
function poolPolicy() {
  const seconds = (description: string, minimum: number) =>
    integer(description, { format: 'int32', minimum, maximum: MAX_SECONDS })
  const sticky = object('Keeps a released address for its owner, which may return.', {
    by: text(
      'How a returning owner is recognised: by its MAC address, or by its kind, namespace, name and interface.',
      {
        enum: ['mac', 'owner'],
      },
    ),
    forSeconds: seconds('How long the address is kept, in seconds.', 1),
  })
  const affinity = object('Binds the blocks of the pool to nodes. Default: all nodes share the blocks.', {
    by: text('What blocks are bound to.', { enum: ['node'] }),
    maxBlocksPerNode: integer(
      'Maximum number of blocks of a family on a node. Default: no limit.',
      POSITIVE,
    ).optional(),
    borrow: flag('Whether a node that cannot get another block takes addresses from blocks of other nodes.').default(
      true,
    ),
  })
  return {
    order: text(
      'Which free address is allocated next. lowest: the lowest one. next: the one after the last allocated one. leastRecentlyReleased: one that was never allocated, or else the one that was released first.',
      { enum: ['lowest', 'next', 'leastRecentlyReleased'] },
    ).default('lowest'),
    reuseAfterSeconds: seconds('How long a released address is not allocated again, in seconds.', 0).default(0),
    sticky: sticky.optional(),
    affinity: affinity.optional(),
    namespaceSelector: labelSelector(
      'Labels of the namespaces that may use the pool. Default: all namespaces.',
    ).optional(),
    nodeSelector: labelSelector('Labels of the nodes that may use the pool. Default: all nodes.').optional(),
    priority: integer('Of several pools that a claim may use, the one with the highest priority is tried first.', {
      format: 'int32',
    }).default(0),
    disabled: flag('Whether the pool allocates no more. Allocated addresses stay allocated.').default(false),
  }
}

function poolStatus() {
  const count = (description: string) => text(`${description} A number as text.`, COUNT).optional()
  const ranges = (description: string) =>
    list(description, text('Addresses, as first-last or CIDR.', ENTRY), { maxItems: MAX_STATUS_RANGES }).optional()
  const family = (name: string) =>
    object(`The grid of ${name} in the domain, counts of units, and hints for the search.`, {
      ...grid(name === 'IPv4' ? 4 : 6),
      total: count('Units that the pool can allocate, reserved ones included.'),
      allocated: count('Allocated units, also those that the pool no longer contains.'),
      free: count('Free units.'),
      reserved: count('Units that are allocated only on request, allocated or not.'),
      cooldown: count('Released units that are not allocated again yet.'),
      outOfRange: count('Allocated units that the pool no longer contains.'),
      full: ranges('Blocks without a free unit. A hint.'),
      bound: ranges('Blocks of nodes that have free units. A hint.'),
      last: text('The last allocated address or CIDR. A hint.', ENTRY).optional(),
    }).optional()
  return object('Observed state of the pool.', {
    observedGeneration: integer('The generation of the pool that this status describes.', GENERATION).optional(),
    domainUID: text('The uid of the IPDomain that accepted the pool.', { maxLength: 128 }).optional(),
    ipv4: family('IPv4'),
    ipv6: family('IPv6'),
    conditions: conditions('Conditions of the pool. Known types: Ready, Exhausted, Overlaps.').optional(),
  })
}

/** The fields of an owner. */
function holder() {
  return {
    owner: text('The owner, as namespace/name, or as name.', plain('owner')),
    uid: text('The uid of the owner.', plain('uid')),
    kind: text('Kind of the owner, as Kind.group. Default: a Pod.', plain('kind')).optional(),
  }
}

function handle() {
  const { owner, uid, kind } = holder()
  const name = text('The name of a block.', { minLength: 1, maxLength: 253 })
  const names = list('The names of the blocks.', name, { maxItems: MAX_HANDLE_BLOCKS })
  const interfaces =
    'Blocks by the name of the interface. The name is empty for an owner whose interfaces have no names.'
  const spec = object('The blocks that may contain rows of the owner.', {
    owner,
    uid: fixed(uid),
    kind,
    sequence: integer('The number of changes of the handle.', SEQUENCE).optional(),
    blocks: mapOf(interfaces, names, { maxProperties: MAX_HANDLE_INTERFACES }).default({}),
  })
  return kubeObject('An index from an owner to the blocks of its rows, for callers that have no cache of all blocks.', {
    spec,
  })
}

const SEQUENCE = { format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const

function block() {
  const sequence = integer('Sequence of the last added row. It never decreases.', SEQUENCE)
  const rows = mapOf('Owners by the number of the unit within the block, from 0.', row(), {
    maxProperties: MAX_BLOCK_SIZE,
    isAtomic: true,
  })
  const spec = object('Addresses of the block, and their owners.', {
    cidr: fixed(text('Addresses of the block. They are part of its name. Immutable.', { ...CIDR, maxLength: 43 })),
    domain: fixed(text('Name of the IPDomain. Immutable.', NAME)),
    allocationPrefixLength: fixed(integer('Prefix length of a unit. Immutable.', { minimum: 1, maximum: 128 })),
    pool: fixed(text('The pool that the block was created for. Rows without a pool belong to it. Immutable.', NAME)),
    node: text('The node that the block is bound to.', { ...NAME, maxLength: 253 }).optional(),
    sequence: withRules(sequence, [{ rule: 'self >= oldSelf', message: NEVER_FALLS }]),
    last: integer('The last allocated unit.', UNIT).optional(),
    rows: withRules(rows, [{ rule: `self.all(unit, unit.matches('${UNIT_PATTERN}'))`, message: NOT_A_UNIT }]).default(
      {},
    ),
  })
  return kubeObject('A range of addresses of a domain, and their owners.', { spec })
}

/** The key of a row: 0 to 1023. A structural schema cannot constrain keys. */
export const UNIT_PATTERN = '^(0|[1-9][0-9]{0,2}|10[01][0-9]|102[0-3])$'
/** The message for another key. */
export const NOT_A_UNIT = 'the key of a row is the number of a unit'
/** The message for a sequence that decreases. */
export const NEVER_FALLS = 'never falls'

/**
 * A row, with everything at its longest, has about 950 bytes with its key: a block of 1,024 such
 * rows stays below 1,000,000.
 */
function row() {
  return object('The owner of a unit, or of adjacent units.', {
    ...holder(),
    interface: text('The interface of the owner. Default: the owner has one interface.', plain('interface')).optional(),
    container: text('Id of the container, if a container runtime made the request.', plain('container')).optional(),
    mac: text('The hardware address of the interface.', MAC).optional(),
    pool: text('The pool of the row. Default: the pool of the block.', NAME).optional(),
    count: integer('Number of units, from this one upwards. Default: 1.', UNITS).optional(),
    sequence: integer('Sequence of the row. No other row of the address ever has the same.', SEQUENCE),
    state: text(
      'Absent: allocated to the owner. held: released, and kept for the owner if it returns. cooldown: released, and not allocated to any owner yet.',
      {
        enum: ['held', 'cooldown'],
      },
    ).optional(),
    released: text('When the address was released.', TIME).optional(),
    until: text('When the state held or cooldown ends.', TIME).optional(),
  })
}

const CONSUMER = { minLength: 1, maxLength: 63, pattern: SUBDOMAIN_PATTERN } as const
const NETWORKS = { format: 'int32', minimum: 0 } as const

function network() {
  const consumer = object('A component.', { name: text('Name of the component, as in its answers.', CONSUMER) })
  const spec = object('Which components accept a range before it is used.', {
    consumers: list(
      'The components that must accept a range before nodes get subnets from it. Left out: ranges are active at once.',
      consumer,
      { maxItems: MAX_CONSUMERS, mapKeys: ['name'] },
    ).optional(),
    acceptanceSeconds: integer(
      'A component that has not answered after this many seconds counts as having accepted. A rejection always counts. Left out: no time limit.',
      { format: 'int32', minimum: 1, maximum: MAX_SECONDS },
    ).optional(),
  })
  return kubeObject('The ranges that pods of the cluster have addresses in, and their acceptance.', {
    spec: spec.default({}),
    status: networkStatus().optional(),
  })
}

function networkStatus() {
  const range = object('A range that nodes get subnets from.', {
    cidr: canonical('The range.'),
    state: text(
      'Proposed: waits for acceptance. Active: nodes can get subnets from it. Terminating: nodes get no more subnets from it, and still have some.',
      { enum: ['Proposed', 'Active', 'Terminating'] },
    ),
    accepted: flag(
      'Of a Terminating range: whether it was accepted. If it is configured again, it is Active at once.',
    ).optional(),
    source: object('What configures the range.', {
      kind: text('Kind of the object, or Flag.', { minLength: 1, maxLength: 63, pattern: KIND_PATTERN }),
      name: text('Name of the object, or of the flag.', { minLength: 1, maxLength: 253 }),
    }),
    proposedAt: text(
      'When the range was proposed: added to the view, or configured again without acceptance. The time limit of acceptance begins then.',
      TIME,
    ),
  })
  const answer = object('The answer of one component about one range.', {
    cidr: canonical('The range, as ranges has it.'),
    consumer: text('Name of the component, as the spec has it.', CONSUMER),
    accepted: flag('Whether the component accepts the range.'),
    reason: text('Why, in a sentence.', { maxLength: 128 }).optional(),
    at: text('When the component answered.', TIME).optional(),
  })
  return object('The network view.', {
    observedGeneration: integer('The generation of the spec that the view was made for.', GENERATION).optional(),
    assigner: text(
      'How pods get their addresses. NodeCIDRs: ranges are divided among nodes, in podCIDRs. ClusterCIDR: ranges are for pods only, and not divided. Shared: nodes have addresses of the ranges too. Unknown: the nodes and ranges do not show it.',
      { enum: ['NodeCIDRs', 'ClusterCIDR', 'Shared', 'Unknown'] },
    ).optional(),
    families: list('The addresses of pods, by family.', networkFamily(), {
      maxItems: 2,
      mapKeys: ['family'],
    }).optional(),
    ranges: list('The ranges that are configured.', range, { maxItems: MAX_RANGES, mapKeys: ['cidr'] }).optional(),
    answers: list(
      'Answers of components about ranges. Each component applies its own entries, with its own field manager. The controller only reads them.',
      answer,
      { maxItems: MAX_ANSWERS, mapKeys: ['cidr', 'consumer'] },
    ).optional(),
    hash: text('Changes whenever the whole view changes, also in what the status does not list.', {
      maxLength: 64,
      pattern: '^[0-9a-f]+$',
    }).optional(),
    conditions: conditions(
      'Conditions of the view. Known types: Ready (all ranges are listed), Consistent (nothing overlaps, subnets of nodes are in ranges, all objects can be read).',
    ).optional(),
  })
}

function reservations() {
  const entry = object('Subnets that a controller is allocating to a node.', {
    node: text('Name of the node.', { minLength: 1, maxLength: 253 }),
    uid: text('The uid of the node.', { minLength: 1, maxLength: 36 }),
    podCIDRs: list('The subnets of the node.', canonical('A subnet.'), { minItems: 1, maxItems: 2 }),
    by: text('Identity of the controller that patches the node.', { minLength: 1, maxLength: 253 }),
  })
  const spec = object('Subnets that controllers are allocating.', {
    entries: list('One for each node.', entry, { maxItems: MAX_RESERVATIONS, mapKeys: ['node'] }).default([]),
    nodesVersion: text('The newest resourceVersion of the nodes of current and former entries.', {
      minLength: 1,
      maxLength: 39,
      pattern: '^[0-9]+$',
    }).optional(),
    ended: list(
      'The uids of ClusterCIDRs that are being deleted or were deleted. No later entry has subnets from them.',
      text('The uid of a ClusterCIDR.', { minLength: 1, maxLength: 36 }),
      { maxItems: MAX_ENDED },
    ).optional(),
  })
  return kubeObject('Subnets that several controllers are allocating to nodes at the same time.', { spec })
}

function networkFamily() {
  const ranges = (sentence: string) => integer(`How many ranges ${sentence}.`, NETWORKS)
  return object('The addresses of pods of one family.', {
    family: text('IPv4 or IPv6.', { enum: ['IPv4', 'IPv6'] }),
    known: list('CIDRs that contain every address that a pod can have.', canonical('A CIDR.'), {
      maxItems: MAX_KNOWN_PREFIXES,
    }),
    exact: flag('Whether they contain no other addresses.'),
    foreignAddresses: text('How many other addresses they contain. A number as text.', COUNT),
    active: ranges('nodes can get subnets from'),
    terminating: ranges('nodes get no more subnets from, and still have some'),
    proposed: ranges('wait for acceptance'),
    nodes: integer('How many nodes have a subnet.', NETWORKS),
  })
}

/** A CIDR as the view writes it, so that two components mean the same range by the same text. */
function canonical(description: string) {
  const message = 'must be a CIDR in canonical form without host bits'
  return withRules(text(description, { ...CIDR, maxLength: 43 }), [
    { rule: 'isCIDR(self) && string(cidr(self).masked()) == self', message },
  ])
}

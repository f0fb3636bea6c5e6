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
  const free = (family: 4 | 6) => column(`Free v${family}`, 'What the next one could get', `.status.ipv${family}.free`)
  const columns = [
    column('Domain', 'Within which nothing is given twice', '.spec.domain'),
    // of a list an API server shows the first item, whatever is asked for
    column('Subnet', 'Where addresses come from: the first of the networks', '.spec.subnets[0].cidr'),
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
    column('Domain', 'Within which nothing is given twice', '.spec.domain'),
    column('Pool', 'Pool that the block was made for', '.spec.pool'),
    column('Node', 'Node that the block is bound to', '.spec.node'),
    age('block'),
  ]
  return [{ apiVersion: API_VERSION, columns, schema: block }]
}

export function handleVersions(): readonly VersionSpec[] {
  const columns = [column('Owner', 'Whose rows it finds', '.spec.owner'), age('handle')]
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
 * A kind whose names end up within other names. An API server compares no name with a pattern of
 * ours: it has its own.
 */
function named(description: string, shape: Parameters<typeof kubeObject>[1]) {
  const message = `metadata.name has more than ${MAX_NAME_LENGTH} characters`
  return withRules(kubeObject(description, shape), [
    { rule: `size(self.metadata.name) <= ${MAX_NAME_LENGTH}`, message },
  ])
}

function grid(family: 4 | 6) {
  const length = { minimum: 1, maximum: family === 4 ? 32 : 128 }
  const unit = `The length of a unit, which is what is given: ${length.maximum} for an address, less for prefixes.`
  return {
    blockPrefixLength: integer(`The length of blocks: each has up to ${MAX_BLOCK_SIZE} units.`, length),
    allocationPrefixLength: integer(unit, length),
  }
}

function domain() {
  const spec = object('The grid on which the blocks of all pools of the domain lie. Never changes.', {
    ipv4: object('How IPv4 is cut.', grid(4)),
    ipv6: object('How IPv6 is cut.', grid(6)),
  })
  const status = object('What is said of the domain.', {
    conditions: conditions('What is said of the domain. Known types: Ready.').optional(),
  })
  const shape = { spec: fixed(spec), status: status.optional() }
  return named('A space within which an address is one thing: nothing of it is given twice.', shape)
}

function pool() {
  const spec = object('What the pool gives, to whom, and in which order.', { ...poolSpace(), ...poolPolicy() })
  const preferences = (field: string) => ({
    rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} == oldSelf.${field})`,
    message: `${NEVER_CHANGES} once it is set`,
    fieldPath: `.${field}`,
  })
  const shape = { spec: withRules(spec, [preferences('ipv4'), preferences('ipv6')]), status: poolStatus().optional() }
  return named('A pool of addresses, or of prefixes. What is given of it is in the rows of blocks.', shape)
}

/** Of the spec of a pool, what there is to give. */
function poolSpace() {
  const entries = (description: string, minItems?: number) =>
    list(description, text('An address, a range first-last or a CIDR.', ENTRY), {
      ...(minItems === undefined ? {} : { minItems }),
      maxItems: MAX_SUBNET_TEXTS,
    }).optional()
  const subnet = object('One network, and what of it belongs to the pool.', {
    cidr: text('The network, without host bits. Its length goes with each of its addresses.', CIDR),
    ranges: entries('What of the network is given. Default: all of it.', 1),
    exclude: entries('What of the network is never given.'),
    reserved: entries('What of it is given only to who asks for that very address.'),
    gateway: text('The router. It goes with each address, and is itself never given.', ADDRESS).optional(),
  })
  const preferences = (family: 4 | 6) => {
    const sentence = `How IPv${family} is cut, where this is the first pool of its domain; later ones ask for the same. Never changes.`
    return object(sentence, z.object(grid(family)).partial().shape).optional()
  }
  return {
    domain: fixed(text('Name of the IPDomain, within which nothing is given twice. Never changes.', NAME)).default(
      DEFAULT_DOMAIN,
    ),
    subnets: list('Where addresses come from.', subnet, { minItems: 1, maxItems: MAX_SUBNETS, mapKeys: ['cidr'] }),
    ipv4: preferences(4),
    ipv6: preferences(6),
    skipEdges: text(
      'Whether the first and the last address of a subnet are kept back: auto, of subnets of four addresses and more; always; never. Of prefixes all are given.',
      { enum: ['auto', 'always', 'never'] },
    ).default('auto'),
  }
}

/** Of the spec of a pool, who gets what, and when. */
function poolPolicy() {
  const seconds = (description: string, minimum: number) =>
    integer(description, { format: 'int32', minimum, maximum: MAX_SECONDS })
  const sticky = object('Keeps what was given back for who comes again.', {
    by: text('How who comes again is known: by its mac, or as the same owner.', { enum: ['mac', 'owner'] }),
    forSeconds: seconds('For how many seconds.', 1),
  })
  const affinity = object('Gives the blocks of the pool to nodes. Left out: all nodes share them.', {
    by: text('To whom blocks are given.', { enum: ['node'] }),
    maxBlocksPerNode: integer(
      'How many blocks of a family a node has at most. Left out: any number.',
      POSITIVE,
    ).optional(),
    borrow: flag('Whether a node that gets no block any more takes addresses of the blocks of others.').default(true),
  })
  return {
    order: text(
      'Which of the free addresses is next: the lowest; the one behind the last that was given; one that was never given, else the one that was given back first.',
      { enum: ['lowest', 'next', 'leastRecentlyReleased'] },
    ).default('lowest'),
    reuseAfterSeconds: seconds('For how many seconds nobody gets an address that was given back.', 0).default(0),
    sticky: sticky.optional(),
    affinity: affinity.optional(),
    namespaceSelector: labelSelector('The namespaces that the pool is for, by their labels. Left out: all.').optional(),
    nodeSelector: labelSelector('The nodes that the pool is for, by their labels. Left out: all.').optional(),
    priority: integer('Of several pools that would do, the one with the highest priority is asked first.', {
      format: 'int32',
    }).default(0),
    disabled: flag('Whether nothing more is given. What was given stays.').default(false),
  }
}

function poolStatus() {
  const count = (description: string) => text(`${description} A number as text.`, COUNT).optional()
  const ranges = (description: string) =>
    list(description, text('Addresses, as first-last or CIDR.', ENTRY), { maxItems: MAX_STATUS_RANGES }).optional()
  const family = (name: string) =>
    object(`The grid of ${name} in the domain, counts, and where to look.`, {
      ...grid(name === 'IPv4' ? 4 : 6),
      total: count('What the pool gives, and what it keeps for who asks for it.'),
      allocated: count('What is given, also of what the pool no longer has.'),
      free: count('What the next one could get.'),
      reserved: count('What is kept for who asks for it, given or not.'),
      cooling: count('What was given back and waits.'),
      outOfRange: count('What is given and not of the pool any more.'),
      full: ranges('The blocks that have nothing to give. A hint.'),
      bound: ranges('The blocks of nodes that have something to give. A hint.'),
      last: text('What was given last: an address or a CIDR. A hint.', ENTRY).optional(),
    }).optional()
  return object('What is said of the pool.', {
    observedGeneration: integer('The generation of the pool that this was said of.', GENERATION).optional(),
    domainUID: text('The domain that the pool was taken into, by its uid.', { maxLength: 128 }).optional(),
    ipv4: family('IPv4'),
    ipv6: family('IPv6'),
    conditions: conditions('What is said of the pool. Known types: Ready, Exhausted, Overlaps.').optional(),
  })
}

/** Who has something. */
function holder() {
  return {
    owner: text('Who has it, as namespace/name, or name.', plain('owner')),
    uid: text('The uid of the owner.', plain('uid')),
    kind: text('What the owner is, as Kind.group. Left out: a Pod.', plain('kind')).optional(),
  }
}

function handle() {
  const { owner, uid, kind } = holder()
  const name = text('The name of a block.', { minLength: 1, maxLength: 253 })
  const names = list('The names of the blocks.', name, { maxItems: MAX_HANDLE_BLOCKS })
  const interfaces = 'The blocks of each interface, by its name. No name: of an owner whose interfaces have none.'
  const spec = object('In which blocks there may be rows of an owner.', {
    owner,
    uid: fixed(uid),
    kind,
    sequence: integer('How often it was changed.', SEQUENCE).optional(),
    blocks: mapOf(interfaces, names, { maxProperties: MAX_HANDLE_INTERFACES }).default({}),
  })
  return kubeObject('Where the rows of an owner are, for who does not know all blocks.', { spec })
}

const SEQUENCE = { format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const

function block() {
  const sequence = integer('The number of the last row that was added. It only grows.', SEQUENCE)
  const rows = mapOf('Who has what, by the number of the unit within the block, from 0.', row(), {
    maxProperties: MAX_BLOCK_SIZE,
    isAtomic: true,
  })
  const spec = object('Some neighbouring addresses, and who has them.', {
    cidr: fixed(text('The addresses. The name of the block says it too. Never changes.', { ...CIDR, maxLength: 43 })),
    domain: fixed(text('Name of the IPDomain. Never changes.', NAME)),
    allocationPrefixLength: fixed(
      integer('The length of a unit, which is what is given. Never changes.', { minimum: 1, maximum: 128 }),
    ),
    pool: fixed(text('The pool of the rows that name none: the one that the block was made for. Never changes.', NAME)),
    node: text('The node that the block is bound to.', { ...NAME, maxLength: 253 }).optional(),
    sequence: withRules(sequence, [{ rule: 'self >= oldSelf', message: NEVER_FALLS }]),
    last: integer('The unit that was given last, or the last of those.', UNIT).optional(),
    rows: withRules(rows, [{ rule: `self.all(unit, unit.matches('${UNIT_PATTERN}'))`, message: NOT_A_UNIT }]).default(
      {},
    ),
  })
  return kubeObject('Some neighbouring addresses of a domain, and who has them.', { spec })
}

/** The key of a row: 0 to 1023. A structural schema has no word for keys. */
export const UNIT_PATTERN = '^(0|[1-9][0-9]{0,2}|10[01][0-9]|102[0-3])$'
/** What is said of another key. */
export const NOT_A_UNIT = 'the key of a row is the number of a unit'
/** What is said of a sequence that falls. */
export const NEVER_FALLS = 'never falls'

/**
 * A row, with everything at its longest, has about 950 bytes with its key: a block of 1,024 such
 * rows stays below 1,000,000.
 */
function row() {
  return object('Who has a unit, or some of them in a row.', {
    ...holder(),
    interface: text(
      'Which of the interfaces of the owner it is for. Left out: it has one.',
      plain('interface'),
    ).optional(),
    container: text('The id of the container, where a container runtime asked.', plain('container')).optional(),
    mac: text('The hardware address of the interface.', MAC).optional(),
    pool: text('The pool. Left out: that of the block.', NAME).optional(),
    count: integer('For so many units, from this one. Left out: 1.', UNITS).optional(),
    sequence: integer('The number of this row: no other row of the address ever had it.', SEQUENCE),
    state: text('Left out: the owner has it. Given back it is held for who comes again, or cooling, for nobody.', {
      enum: ['held', 'cooling'],
    }).optional(),
    released: text('When it was given back.', TIME).optional(),
    until: text('Until when it is held, or cools.', TIME).optional(),
  })
}

const CONSUMER = { minLength: 1, maxLength: 63, pattern: SUBDOMAIN_PATTERN } as const
const NETWORKS = { format: 'int32', minimum: 0 } as const

function network() {
  const consumer = object('A component.', { name: text('Name of the component, as it answers.', CONSUMER) })
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
    source: object('What configures the range.', {
      kind: text('Kind of the object, or Flag.', { minLength: 1, maxLength: 63, pattern: KIND_PATTERN }),
      name: text('Name of the object, or of the flag.', { minLength: 1, maxLength: 253 }),
    }),
    proposedAt: text('When the range was added to the view. The time limit of acceptance begins then.', TIME),
  })
  const answer = object('What one component says of one range.', {
    cidr: canonical('The range, as ranges has it.'),
    consumer: text('Name of the component, as the spec has it.', CONSUMER),
    accepted: flag('Whether the component accepts the range.'),
    reason: text('Why, in a sentence.', { maxLength: 128 }).optional(),
    at: text('When the component answered.', TIME).optional(),
  })
  return object('The network view.', {
    observedGeneration: integer('The generation of the spec that the view was made for.', GENERATION).optional(),
    assigner: text(
      'How pods get their addresses. NodeCIDRs: ranges are divided among nodes, in podCIDRs. ClusterCIDR: ranges are for pods only, and not divided. Shared: nodes have addresses of the ranges, too. Unknown: nodes and ranges do not show it.',
      { enum: ['NodeCIDRs', 'ClusterCIDR', 'Shared', 'Unknown'] },
    ).optional(),
    families: list('The addresses of pods, by family.', networkFamily(), {
      maxItems: 2,
      mapKeys: ['family'],
    }).optional(),
    ranges: list('The ranges that are configured.', range, { maxItems: MAX_RANGES, mapKeys: ['cidr'] }).optional(),
    answers: list(
      'What components say of ranges. Each component applies its own entries, with a field manager of its own. The controller only reads them.',
      answer,
      { maxItems: MAX_ANSWERS, mapKeys: ['cidr', 'consumer'] },
    ).optional(),
    hash: text('Changes whenever the whole view changes, also in what the status does not list.', {
      maxLength: 64,
      pattern: '^[0-9a-f]+$',
    }).optional(),
    conditions: conditions(
      'What the controller says of the view. Known types: Ready (all ranges are listed), Consistent (nothing overlaps, subnets of nodes are in ranges, all objects can be read).',
    ).optional(),
  })
}

function reservations() {
  const entry = object('Subnets that a node is being given.', {
    node: text('Name of the node.', { minLength: 1, maxLength: 253 }),
    uid: text('The uid of the node.', { minLength: 1, maxLength: 36 }),
    podCIDRs: list('What the node gets.', canonical('A subnet.'), { minItems: 1, maxItems: 2 }),
    by: text('Identity of the controller that patches the node.', { minLength: 1, maxLength: 253 }),
  })
  const spec = object('What is being given.', {
    entries: list('One for each node.', entry, { maxItems: MAX_RESERVATIONS, mapKeys: ['node'] }).default([]),
    nodesVersion: text('The newest resourceVersion of the nodes that entries are of, or were of.', {
      minLength: 1,
      maxLength: 39,
      pattern: '^[0-9]+$',
    }).optional(),
    ended: list(
      'The uids of ClusterCIDRs that are being or were deleted: no entry gets subnets of them any more.',
      text('The uid of a ClusterCIDR.', { minLength: 1, maxLength: 36 }),
      { maxItems: MAX_ENDED },
    ).optional(),
  })
  return kubeObject('Subnets that controllers which give subnets at the same time are giving to nodes.', { spec })
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

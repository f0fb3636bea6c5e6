import { age, type CrdModel, column } from '../meta/crd-model.js'
import { KIND_PATTERN, SUBDOMAIN_PATTERN } from '../meta/dns-names.js'
import type { KubeObject } from '../meta/object.js'
import { type Field, type FieldsOf, flag, integer, kubeObject, list, object, text } from '../meta/strict.js'
import { conditions, GENERATION } from '../meta/strict-conditions.js'
import { COUNT, canonical, ownKind, ready, TIME } from './fields.js'
import { MAX_ANSWERS, MAX_CONSUMERS, MAX_KNOWN_PREFIXES, MAX_RANGES, MAX_SECONDS } from './names.js'

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

export interface ClusterNetworkSpec extends FieldsOf<typeof specFields> {}

export interface ClusterNetworkStatus extends FieldsOf<typeof statusFields> {}

/** The addresses of pods of one family. */
export interface ClusterNetworkFamily extends FieldsOf<typeof familyFields> {}

export interface ClusterNetworkRange extends FieldsOf<typeof rangeFields> {}

/** The answer of one consumer about one range. */
export interface ClusterNetworkAnswer extends FieldsOf<typeof answerFields> {}

const CONSUMER = { minLength: 1, maxLength: 63, pattern: SUBDOMAIN_PATTERN } as const

function specFields() {
  const consumer: Field<{ readonly name: string }> = object('A component.', {
    name: text('Name of the component, as in its answers.', CONSUMER),
  })
  return {
    /**
     * The components that must accept a range before nodes get subnets from it. At most 8, each
     * once. Left out: ranges are active at once.
     */
    consumers: list(
      'The components that must accept a range before nodes get subnets from it. Left out: ranges are active at once.',
      consumer,
      { maxItems: MAX_CONSUMERS, mapKeys: ['name'] },
    ).optional(),
    /**
     * A consumer that has not answered this many seconds after `proposedAt` counts as having
     * accepted. An explicit rejection never does. 1 to 31,622,400. Left out: no time limit.
     */
    acceptanceSeconds: integer(
      'A component that has not answered after this many seconds counts as having accepted. A rejection always counts. Left out: no time limit.',
      { format: 'int32', minimum: 1, maximum: MAX_SECONDS },
    ).optional(),
  }
}

function statusFields() {
  const family: Field<ClusterNetworkFamily> = object('The addresses of pods of one family.', familyFields())
  const range: Field<ClusterNetworkRange> = object('A range that nodes get subnets from.', rangeFields())
  const answer: Field<ClusterNetworkAnswer> = object('The answer of one component about one range.', answerFields())
  return {
    observedGeneration: integer('The generation of the spec that the view was made for.', GENERATION).optional(),
    /**
     * How pods get their addresses. `NodeCIDRs`: ranges are divided among nodes, in `podCIDRs`.
     * `ClusterCIDR`: ranges are for pods only, and not divided. `Shared`: nodes have addresses of
     * the ranges, too. `Unknown`: nodes and ranges do not show it.
     */
    assigner: text(
      'How pods get their addresses. NodeCIDRs: ranges are divided among nodes, in podCIDRs. ClusterCIDR: ranges are for pods only, and not divided. Shared: nodes have addresses of the ranges too. Unknown: the nodes and ranges do not show it.',
      { enum: ['NodeCIDRs', 'ClusterCIDR', 'Shared', 'Unknown'] },
    ).optional(),
    /** At most one entry for each family. */
    families: list('The addresses of pods, by family.', family, { maxItems: 2, mapKeys: ['family'] }).optional(),
    /** At most 128. */
    ranges: list('The ranges that are configured.', range, { maxItems: MAX_RANGES, mapKeys: ['cidr'] }).optional(),
    /**
     * At most 1,024. Each consumer applies its own entries, with its own field manager, and removes
     * those of deleted ranges. The controller never writes them.
     */
    answers: list(
      'Answers of components about ranges. Each component applies its own entries, with its own field manager. The controller only reads them.',
      answer,
      { maxItems: MAX_ANSWERS, mapKeys: ['cidr', 'consumer'] },
    ).optional(),
    /** A hash of the whole view, also of what the status does not list. In hexadecimal digits. */
    hash: text('Changes whenever the whole view changes, also in what the status does not list.', {
      maxLength: 64,
      pattern: '^[0-9a-f]+$',
    }).optional(),
    /**
     * `Ready`: all ranges are listed. `Consistent`: nothing overlaps that may not, subnets of nodes
     * are in ranges, and all objects can be read.
     */
    conditions: conditions(
      'Conditions of the view. Known types: Ready (all ranges are listed), Consistent (nothing overlaps, subnets of nodes are in ranges, all objects can be read).',
    ).optional(),
  }
}

function familyFields() {
  const networks = (description: string) => integer(description, { format: 'int32', minimum: 0 })
  return {
    family: text('IPv4 or IPv6.', { enum: ['IPv4', 'IPv6'] }),
    /** At most 64 CIDRs that contain every address that a pod can have. */
    known: list('CIDRs that contain every address that a pod can have.', canonical('A CIDR.'), {
      maxItems: MAX_KNOWN_PREFIXES,
    }),
    /** Whether `known` contains no other addresses. */
    exact: flag('Whether they contain no other addresses.'),
    /** How many other addresses it contains, as decimal text: `'0'` if it is exact. */
    foreignAddresses: text('How many other addresses they contain. A number as text.', COUNT),
    /** How many ranges nodes can get subnets from. */
    active: networks('How many ranges nodes can get subnets from.'),
    /** How many ranges nodes get no more subnets from, and still have some. */
    terminating: networks('How many ranges nodes get no more subnets from, and still have some.'),
    /** How many ranges wait for acceptance. */
    proposed: networks('How many ranges wait for acceptance.'),
    /** How many nodes have a subnet. */
    nodes: networks('How many nodes have a subnet.'),
  }
}

function rangeFields() {
  const source: Field<{ readonly kind: string; readonly name: string }> = object('What configures the range.', {
    kind: text('Kind of the object, or Flag.', { minLength: 1, maxLength: 63, pattern: KIND_PATTERN }),
    name: text('Name of the object, or of the flag.', { minLength: 1, maxLength: 253 }),
  })
  return {
    /** Canonical, without host bits. */
    cidr: canonical('The range.'),
    state: text(
      'Proposed: waits for acceptance. Active: nodes can get subnets from it. Terminating: nodes get no more subnets from it, and still have some.',
      { enum: ['Proposed', 'Active', 'Terminating'] },
    ),
    /**
     * Of a `Terminating` range: whether it was accepted. If it is configured again, it is `Active`
     * at once.
     */
    accepted: flag(
      'Of a Terminating range: whether it was accepted. If it is configured again, it is Active at once.',
    ).optional(),
    /**
     * What configures the range: the kind and the name of an object, or `Flag` and the name of the
     * flag.
     */
    source,
    /**
     * When the range was proposed: added to the view, or configured again without acceptance. The
     * time limit of acceptance begins then.
     */
    proposedAt: text(
      'When the range was proposed: added to the view, or configured again without acceptance. The time limit of acceptance begins then.',
      TIME,
    ),
  }
}

function answerFields() {
  return {
    /** As in `ranges`, character for character. */
    cidr: canonical('The range, as ranges has it.'),
    /** As in `spec.consumers`. */
    consumer: text('Name of the component, as the spec has it.', CONSUMER),
    accepted: flag('Whether the component accepts the range.'),
    /** Why, in a sentence of at most 128 characters. */
    reason: text('Why, in a sentence.', { maxLength: 128 }).optional(),
    at: text('When the component answered.', TIME).optional(),
  }
}

const known = (family: 4 | 6) =>
  column(
    `Known v${family}`,
    `First of the CIDRs that IPv${family} addresses of pods are in`,
    `.status.families[?(@.family=="IPv${family}")].known[0]`,
  )

export const ClusterNetwork: CrdModel<ClusterNetwork> = /* @__PURE__ */ ownKind({
  kind: 'ClusterNetwork',
  statusSubresource: true,
  columns: [
    column('Assigner', 'How pods get their addresses', '.status.assigner'),
    known(4),
    known(6),
    ready('view'),
    age('view'),
  ],
  schema: () =>
    kubeObject('The ranges that pods of the cluster have addresses in, and their acceptance.', {
      spec: object('Which components accept a range before it is used.', specFields()).default({}),
      status: object('The network view.', statusFields()).optional(),
    }),
})

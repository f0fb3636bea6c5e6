import { Address, type Family, Prefix, RangeSet } from '../../cidr/index.js'
import { whyNotPrefix } from '../../cidr/internal.js'
import {
  type NodeSelector,
  nodeSelectorErrors,
  nodeSelectorScore,
  type SelectableNode,
} from '../../crd/core/node-selector.js'
import { formatFieldError } from '../../crd/meta/field-error.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { ClusterCIDR } from '../../crd/node-ipam/index.js'
import { check } from '../../errors/check.js'
import { quote } from '../../errors/quote.js'
import { compareText } from '../../plan/cached-objects.js'

/** A prefix that is divided into subnets of one length. */
export interface SubnetSpace {
  readonly prefix: Prefix
  /** The same as a set of ranges. */
  readonly within: RangeSet
  /** The length of a subnet. */
  readonly length: number
}

/** A range of subnets for Nodes, from a ClusterCIDR or the flags of kube-controller-manager. */
export interface NodeRange {
  readonly name: string
  /** A Node gets one subnet of each, in this order, or none at all. */
  readonly spaces: readonly SubnetSpace[]
  /**
   * How closely the range selects a Node: 0 if it does not. `undefined`: it serves every Node,
   * after the ranges that select it.
   */
  readonly score: ((node: SelectableNode) => number) | undefined
  /** The selector in upstream's text form. */
  readonly selectorText: string
  /** The number of subnets: of the family that has the fewest. */
  readonly capacity: bigint
  /** The base-2 logarithm of the addresses of a subnet. */
  readonly perNodeHostBits: number
}

/** What a check of an argument holds of a range. */
export const NODE_RANGE = [
  'open?',
  {
    name: 'text',
    spaces: ['list', ['open', { prefix: whyNotPrefix, within: 'object', length: 'number' }]],
    selectorText: 'text',
    capacity: 'bigint',
    perNodeHostBits: 'number',
  },
] as const

/**
 * A range, or why it cannot be used: one sentence without a final full stop. `problems` are such
 * sentences about the terms of its selector that select no Node.
 */
export type ReadRange =
  | { readonly ok: true; readonly value: NodeRange; readonly problems: readonly string[] }
  | { readonly ok: false; readonly problem: string }

/**
 * Reads a ClusterCIDR as a range. It is stricter than upstream's manifest: `perNodeHostBits` has to
 * fit each family, and an empty list of terms is no selector. It is less strict than upstream's
 * validation, which refuses fewer than 4 host bits. A term of the selector that is wrong selects no
 * Node, and the others count. A CIDR that is wrong stops the range: a Node gets a subnet of each
 * family or none, and keeps what it gets for its life. O(size of the selector).
 */
export function readRange(object: Pick<ClusterCIDR, 'metadata' | 'spec'>): ReadRange {
  check('readRange', 'object', object, ['open', { spec: 'object', metadata: 'object' }])
  const {
    metadata: { name },
    spec,
  } = object

  const { perNodeHostBits, nodeSelector } = spec
  const spaces: SubnetSpace[] = []
  for (const [family, text] of [
    [4, spec.ipv4 ?? ''],
    [6, spec.ipv6 ?? ''],
  ] as const) {
    if (text === '') continue
    const space = spaceOf(family, text, perNodeHostBits)
    if (typeof space === 'string') return { ok: false, problem: space }
    spaces.push(space)
  }
  if (spaces.length === 0) return { ok: false, problem: 'spec has neither ipv4 nor ipv6' }
  if (nodeSelector === undefined) return { ok: true, value: rangeOf(name, spaces), problems: [] }
  const problems = nodeSelectorErrors('spec.nodeSelector', nodeSelector).map(formatFieldError)
  const right = nodeSelector.nodeSelectorTerms.filter(
    (term) => nodeSelectorErrors('', { nodeSelectorTerms: [term] }).length === 0,
  )
  const [problem] = problems
  if (problem !== undefined && right.length === 0) return { ok: false, problem }
  const selector = problem === undefined ? nodeSelector : { nodeSelectorTerms: right }
  return { ok: true, value: rangeOf(name, spaces, selector), problems }
}

/** A range of valid spaces. */
export function rangeOf(name: string, spaces: readonly SubnetSpace[], selector?: NodeSelector | undefined): NodeRange {
  const capacities = spaces.map(({ prefix, length }) => 1n << BigInt(length - prefix.length))
  const [first] = spaces
  return {
    name,
    spaces,
    score: selector && nodeSelectorScore(selector),
    selectorText: selector === undefined ? '' : selectorText(selector),
    capacity: capacities.reduce((least, count) => (count < least ? count : least)),
    perNodeHostBits: Address.bitsOf(first!.prefix.address.family) - first!.length,
  }
}

/**
 * The prefixes that an object names as a ClusterCIDR does, host bits cleared, without unreadable
 * ones.
 */
export function rangePrefixes({ spec }: KubeObject): readonly Prefix[] {
  const { ipv4, ipv6 } = (spec ?? {}) as { readonly [key: string]: unknown }
  return [ipv4, ipv6].flatMap((text) => {
    const read = typeof text === 'string' ? Prefix.safeParse(text, { profile: 'k8s-legacy-read' }) : undefined
    return read?.ok === true ? [Prefix.masked(read.value)] : []
  })
}

/**
 * The space of a prefix, host bits cleared, divided into subnets of a length that is not shorter.
 */
export function subnetSpace(prefix: Prefix, length: number): SubnetSpace {
  const masked = Prefix.masked(prefix)
  return { prefix: masked, within: RangeSet.fromPrefixes([masked]), length }
}

function spaceOf(family: Family, text: string, perNodeHostBits: number): SubnetSpace | string {
  const read = Prefix.safeParse(text, { profile: 'k8s-legacy-read' })
  if (!read.ok || read.value.address.family !== family)
    return `spec.ipv${family} ${quote(text)} is not an IPv${family} CIDR`
  const most = Address.bitsOf(family) - read.value.length
  if (!Number.isInteger(perNodeHostBits) || perNodeHostBits < 0 || perNodeHostBits > most) {
    return `spec.perNodeHostBits is ${perNodeHostBits}, and has to be from 0 to ${most} for ${text}`
  }
  return subnetSpace(read.value, Address.bitsOf(family) - perNodeHostBits)
}

/**
 * All requirements of a selector, sorted by key, as `labels.Selector` of apimachinery writes them.
 */
function selectorText({ nodeSelectorTerms }: NodeSelector): string {
  const requirements = nodeSelectorTerms.flatMap(({ matchExpressions = [], matchFields = [] }) => [
    ...matchExpressions,
    ...matchFields,
  ])
  const sorted = requirements.sort((left, right) => compareText(left.key, right.key))
  return sorted
    .map(({ key, operator, values = [] }) => {
      const list = `(${[...values].sort(compareText).join(',')})`
      switch (operator) {
        case 'Exists':
          return key
        case 'DoesNotExist':
          return `!${key}`
        case 'Gt':
          return `${key}>${values[0]}`
        case 'Lt':
          return `${key}<${values[0]}`
        default:
          return `${key} ${operator === 'In' ? 'in' : 'notin'} ${list}`
      }
    })
    .join(',')
}

import { Prefix } from 'ipam-kit/cidr'
import { Node, type NodeSelector, type NodeSelectorRequirement } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { isDeleting, type KubeObject } from 'ipam-kit/crd/meta'
import { ServiceCIDR } from 'ipam-kit/crd/networking'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import type { Change } from 'ipam-kit/plan'
import type { ObservedWriter } from 'ipam-kit/testing'
import { type Span, spanOf } from '../../../src/testing/simulation/naive-space.js'

/** A prefix that is cut into subnets of one size. */
export interface NaiveSpace {
  readonly span: Span
  /** How many addresses a subnet has. */
  readonly size: bigint
}

/** A range that Nodes get subnets from: one of each space, or none. */
export interface NaiveRange {
  readonly name: string
  readonly spaces: readonly NaiveSpace[]
  readonly selector?: NodeSelector | undefined
}

/** An object as it was for a while. Times are counts of changes. */
export interface Version<T extends KubeObject> {
  readonly object: T
  /** It was the change with this number. */
  readonly from: number
  /** The change with this number has replaced it. */
  readonly until: number
}

/** The subnets of a Node. */
export interface SubnetUser {
  readonly name: string
  readonly spans: readonly Span[]
  /** The controller that has given them; `undefined`: people have. */
  readonly givenBy: ObservedWriter | undefined
  /** The number of the change that has set them. */
  readonly since: number
}

/** All versions of the objects of one kind, in a list. */
class Versions<T extends KubeObject> {
  readonly #all: Version<T>[] = []

  /** Takes in a change of an object. @returns what it was before */
  change(uid: string | undefined, now: T | undefined, at: number): T | undefined {
    const index = this.#all.findIndex(({ object, until }) => until === Infinity && object.metadata.uid === uid)
    const before = this.#all[index]
    if (before !== undefined) this.#all[index] = { ...before, until: at }
    if (now !== undefined) this.#all.push({ object: now, from: at, until: Infinity })
    return before?.object
  }

  /** Those of now. */
  get now(): readonly Version<T>[] {
    return this.#all.filter(({ until }) => until === Infinity)
  }

  /** Those that were there when `count` changes had been made, or later. */
  since(count: number): readonly Version<T>[] {
    return this.#all.filter(({ until }) => until >= count)
  }
}

/** What a change was, for rules. */
export interface HistoryChange {
  readonly object: KubeObject
  readonly before: KubeObject | undefined
  readonly isGone: boolean
  readonly by: ObservedWriter | undefined
}

/**
 * Everything that ever was of the objects that node IPAM decides from, in lists, and what follows
 * from it, by loops: it shares no code with what is simulated but the parsing of texts.
 */
export class NodeIPAMHistory {
  readonly nodes = new Versions<Node>()
  readonly clusterCIDRs = new Versions<ClusterCIDR>()
  readonly serviceCIDRs = new Versions<ServiceCIDR>()
  /** The network view as it is published. */
  network: ClusterNetwork | undefined
  /** By the uid of the Node. */
  readonly users = new Map<string, SubnetUser>()
  readonly #fixedServices: readonly Span[]
  #count = 0

  /** @param fixedServices service ranges that no object names */
  constructor(fixedServices: readonly string[] = []) {
    this.#fixedServices = fixedServices.map(spanOf)
  }

  /** Takes in a change. */
  add(change: Change, by: ObservedWriter | undefined): HistoryChange | undefined {
    const at = this.#count++
    const ref = change.kind === 'present' ? change.object : change.ref
    const uid = change.kind === 'present' ? change.object.metadata.uid : change.uid
    const now = change.kind === 'present' ? change.object : undefined
    let before: KubeObject | undefined
    if (Node.is(ref)) {
      before = this.nodes.change(uid, now && Node.parse(now), at)
      this.#noteUser(uid ?? '', now && Node.parse(now), { givenBy: by, since: at })
    } else if (ClusterCIDR.is(ref)) before = this.clusterCIDRs.change(uid, now && ClusterCIDR.parse(now), at)
    else if (ServiceCIDR.is(ref)) before = this.serviceCIDRs.change(uid, now && ServiceCIDR.parse(now), at)
    else if (ClusterNetwork.is(ref)) {
      before = this.network
      this.network = now && ClusterNetwork.parse(now)
    }
    const object = now ?? before
    return object && { object, before, isGone: now === undefined, by }
  }

  /** The service ranges of now, and the number of the change that has made each. */
  services(): readonly { readonly span: Span; readonly since: number }[] {
    const versions = this.serviceCIDRs.now
    const found = versions.flatMap(({ object }) => {
      const { uid } = object.metadata
      const since = Math.min(
        ...this.serviceCIDRs
          .since(0)
          .filter((one) => uidOf(one) === uid)
          .map(({ from }) => from),
      )
      return object.spec.cidrs.map((text) => ({ span: spanOf(text), since }))
    })
    return [...this.#fixedServices.map((span) => ({ span, since: -1 })), ...found]
  }

  #noteUser(uid: string, node: Node | undefined, set: Pick<SubnetUser, 'givenBy' | 'since'>): void {
    const texts = node === undefined ? [] : textsOf(node)
    if (texts.length === 0) this.users.delete(uid)
    else if (!this.users.has(uid)) this.users.set(uid, { name: node!.metadata.name, spans: spansOf(texts), ...set })
  }
}

function uidOf({ object }: Version<KubeObject>): string | undefined {
  return object.metadata.uid
}

/** The texts in which a Node names its subnets. */
export function textsOf({ spec: { podCIDR = '', podCIDRs = [] } }: Node): readonly string[] {
  return podCIDR === '' || podCIDRs.includes(podCIDR) ? podCIDRs : [podCIDR, ...podCIDRs]
}

/** What texts stand for, without those that stand for nothing. */
export function spansOf(texts: readonly string[]): readonly Span[] {
  return texts.filter((text) => Prefix.safeParse(text).ok).map(spanOf)
}

/** Everything that a ClusterCIDR names, usable or not. */
export function prefixesOf({ spec: { ipv4 = '', ipv6 = '' } }: ClusterCIDR): readonly Span[] {
  return [ipv4, ipv6].filter((text) => text !== '').map(spanOf)
}

/** A ClusterCIDR as a range; `undefined` if it gives nothing, because of what it says. */
export function rangeOf({ metadata: { name }, spec }: ClusterCIDR): NaiveRange | undefined {
  const { perNodeHostBits: bits, nodeSelector: selector } = spec
  const spans = prefixesOf({ spec } as ClusterCIDR)
  const fits = ({ first, last }: Span) => bits >= 0 && 1n << BigInt(bits) <= last - first + 1n
  if (spans.length === 0 || !spans.every(fits) || selector?.nodeSelectorTerms.length === 0) return undefined
  return { name, spaces: spans.map((span) => ({ span, size: 1n << BigInt(bits) })), selector }
}

/** The subnets that a space is cut into, all of them. */
export function subnetsOf({ span: { family, first, last }, size }: NaiveSpace): readonly Span[] {
  const subnets: Span[] = []
  for (let at = first; at <= last; at += size) subnets.push({ family, first: at, last: at + size - 1n })
  return subnets
}

export function overlap(one: Span, other: Span): boolean {
  return one.family === other.family && one.first <= other.last && other.first <= one.last
}

export function contains(outer: Span, inner: Span): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last
}

/** Whether subnets are one of each space of a range, in its order. */
export function areOf({ spaces }: NaiveRange, spans: readonly Span[]): boolean {
  const isOf = (space: NaiveSpace, span: Span | undefined) =>
    subnetsOf(space).some(
      ({ family, first, last }) => span?.family === family && span.first === first && span.last === last,
    )
  return spans.length === spaces.length && spaces.every((space, index) => isOf(space, spans[index]))
}

/** Whether a range is for a Node. */
export function isFor({ selector }: NaiveRange, { metadata: { name, labels = {} } }: Node): boolean {
  if (selector === undefined) return true
  return selector.nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false
    return (
      matchExpressions.every((each) => meets(each, labels[each.key])) && matchFields.every((each) => meets(each, name))
    )
  })
}

function meets({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    default:
      return false
  }
}

/** Whether an object is there that is not being deleted. */
export function isOpen({ object }: Version<KubeObject>): boolean {
  return !isDeleting(object)
}

import { Prefix } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { hasFinalizer, isDeleting } from 'ipam-kit/crd/meta'
import { CLUSTER_CIDR_FINALIZER, ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import type { Change, EventEffect } from 'ipam-kit/plan'
import type { NodeIPAMEventReason } from 'ipam-kit/provider/node-ipam'
import type { ObservedWrite, SimulationRules } from 'ipam-kit/testing'
import { DEFAULT_CLUSTER_CIDR } from '../../../src/provider/node-ipam/flags.js'
import type { Span } from '../../../src/testing/simulation/naive-space.js'
import {
  areOf,
  contains,
  type HistoryChange,
  isFor,
  isOpen,
  type NaiveRange,
  NodeIPAMHistory,
  overlap,
  prefixesOf,
  rangeOf,
  type SubnetUser,
  spansOf,
  subnetsOf,
  textsOf,
} from './node-ipam-history.js'

export interface NodeIPAMRulesOptions {
  /** Service ranges that no object names. */
  readonly fixedServices: readonly string[]
  /** The range in place of ClusterCIDRs. */
  readonly flags?: NaiveRange | undefined
  /** Whether Nodes get subnets only of ranges that are `Active` in the network view. */
  readonly hasNetwork?: boolean | undefined
  /** Whether a ClusterCIDR that stands for flags has to be there. */
  readonly hasDefault: boolean
}

/** What rules look at. */
interface Seen extends NodeIPAMRulesOptions {
  readonly history: NodeIPAMHistory
  /** What was told in Events: the uid of the object and the reason. */
  readonly told: ReadonlySet<string>
}

/** What has to hold after a change. @returns what is wrong, if anything is */
type ChangeRule = (seen: Seen, change: HistoryChange) => string | undefined
/** What has to hold at rest. @returns all that is wrong */
type RestRule = (seen: Seen) => readonly string[]

/**
 * A rule about what is derived from the same objects, such as a view of the network, is one more
 * entry.
 */
const AFTER_EACH_CHANGE: readonly ChangeRule[] = [
  subnetsNeverChange,
  givenSubnetsAreFree,
  givenSubnetsAreOfOneRange,
  usedRangesKeepTheirFinalizer,
  usedSubnetsAreKnown,
  rejectedRangesStayUnused,
]
const AT_REST: readonly RestRule[] = [noNodeWaitsForNothing, finalizersAreOn, unusedRangesAreGone, problemsWereTold]

/** What always has to hold of Nodes, ClusterCIDRs and service ranges, found by loops over lists. */
export class NodeIPAMRules implements SimulationRules {
  readonly #seen: Seen
  readonly #told = new Set<string>()

  constructor(options: NodeIPAMRulesOptions) {
    this.#seen = { ...options, history: new NodeIPAMHistory(options.fixedServices), told: this.#told }
  }

  observe(change: Change, { by }: ObservedWrite): string | undefined {
    const seen = this.#seen.history.add(change, by)
    if (seen === undefined) return undefined
    for (const rule of AFTER_EACH_CHANGE) {
      const problem = rule(this.#seen, seen)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  onEvent({ uid, reason }: EventEffect): undefined {
    this.#told.add(toldKey(uid, reason))
  }

  async atRest(): Promise<string | undefined> {
    const problems = AT_REST.flatMap((rule) => rule(this.#seen))
    return problems.length === 0 ? undefined : problems.join('; ')
  }
}

function toldKey(uid: string | undefined, reason: string): string {
  return `${uid} ${reason}`
}

function subnetsNeverChange(_: Seen, { object, before, isGone }: HistoryChange): string | undefined {
  if (isGone || before === undefined || !Node.is(object)) return undefined
  const [had, has] = [Node.parse(before), Node.parse(object)].map(({ spec }) =>
    [spec.podCIDR ?? '', ...(spec.podCIDRs ?? [])].join(' '),
  )
  return had!.trim() === '' || had === has ? undefined : `Node ${object.metadata.name} had ${had}, and has ${has}`
}

/** The subnets that this change has given to a Node. */
function givenBy({ history }: Seen, { object, before, isGone, by }: HistoryChange): SubnetUser | undefined {
  if (isGone || by === undefined || !Node.is(object)) return undefined
  const had = before === undefined ? [] : textsOf(Node.parse(before))
  return had.length > 0 ? undefined : history.users.get(object.metadata.uid!)
}

/**
 * What people and ServiceCIDRs take while the controller cannot know of it is no mistake of the
 * controller.
 */
function givenSubnetsAreFree(seen: Seen, change: HistoryChange): string | undefined {
  const given = givenBy(seen, change)
  if (given === undefined) return undefined
  const { knows } = given.givenBy!
  const meets = (spans: readonly Span[]) => spans.some((span) => given.spans.some((own) => overlap(own, span)))
  for (const user of seen.history.users.values()) {
    if (user === given || !meets(user.spans)) continue
    if (user.givenBy !== undefined) return `Node ${given.name} was given what Node ${user.name} was given`
    if (user.since < knows) return `Node ${given.name} was given what Node ${user.name} is known to have`
  }
  const service = seen.history.services().find(({ span, since }) => since < knows && meets([span]))
  return service && `Node ${given.name} was given a part of a service range`
}

/**
 * One subnet of each family of a range that was open, and for the Node, when the subnets were
 * chosen, and that exists as long as they are in use.
 */
function givenSubnetsAreOfOneRange(seen: Seen, change: HistoryChange): string | undefined {
  const given = givenBy(seen, change)
  if (given === undefined) return undefined
  const { history, flags } = seen
  const { knows } = given.givenBy!
  const { spec, metadata } = Node.parse(change.object)
  if (spec.podCIDR !== spec.podCIDRs?.[0]) return `podCIDR of Node ${given.name} is not the first of podCIDRs`
  const asItWas = history.nodes.since(knows).filter(({ object }) => object.metadata.uid === metadata.uid)
  const isRight = (range: NaiveRange) => areOf(range, given.spans) && asItWas.some(({ object }) => isFor(range, object))
  if (flags !== undefined) return isRight(flags) ? undefined : `Node ${given.name} was given what flags do not name`
  const sources = history.clusterCIDRs.since(knows).filter((version) => {
    const range = isOpen(version) ? rangeOf(version.object) : undefined
    return range !== undefined && isRight(range)
  })
  if (sources.length === 0) return `Node ${given.name} was given what no ClusterCIDR had for it`
  const living = new Set(history.clusterCIDRs.now.map(({ object }) => object.metadata.uid))
  const isThere = sources.some(({ object }) => living.has(object.metadata.uid))
  return isThere ? undefined : `Node ${given.name} was given subnets of a ClusterCIDR that does not exist any more`
}

function usedRangesKeepTheirFinalizer(
  { history }: Seen,
  { object, before, isGone, by }: HistoryChange,
): string | undefined {
  if (by === undefined || before === undefined || !ClusterCIDR.is(object)) return undefined
  if (!hasFinalizer(before, CLUSTER_CIDR_FINALIZER) || (!isGone && hasFinalizer(object, CLUSTER_CIDR_FINALIZER)))
    return undefined
  // while the write is on its way a Node may get a subnet of another range that overlaps this one
  const open = history.clusterCIDRs.now.filter(isOpen).flatMap((version) => rangeOf(version.object) ?? [])
  const isOfAnother = (user: SubnetUser) => open.some((range) => areOf(range, user.spans))
  const user = usersOf(ClusterCIDR.parse(before), history).find(
    (each) => each.since < by.knows || (each.givenBy !== undefined && !isOfAnother(each)),
  )
  return user && `ClusterCIDR ${object.metadata.name} has lost its finalizer, and Node ${user.name} has a subnet of it`
}

/**
 * What the controller has given is in the published view, from before it was given until its Node
 * does not exist any more.
 */
function usedSubnetsAreKnown({ history, hasNetwork }: Seen): string | undefined {
  if (!hasNetwork) return undefined
  const families = history.network?.status?.families ?? []
  const known = spansOf(families.flatMap((family) => family.known))
  for (const { name, spans, givenBy } of history.users.values()) {
    const isKnown = spans.every((span) => known.some((prefix) => contains(prefix, span)))
    if (givenBy !== undefined && !isKnown) return `Node ${name} has a subnet that the network view does not know`
  }
  return undefined
}

/** A range that a consumer rejects does not become `Active`, whatever state it was in before. */
function rejectedRangesStayUnused(_: Seen, { object, before, isGone }: HistoryChange): string | undefined {
  if (isGone || before === undefined || !ClusterNetwork.is(object)) return undefined
  const had = ClusterNetwork.parse(before).status?.ranges ?? []
  const { ranges = [], answers = [] } = ClusterNetwork.parse(object).status ?? {}
  const wasActive = (cidr: string) => had.some((one) => one.cidr === cidr && one.state === 'Active')
  const isRejected = (cidr: string) => answers.some((answer) => answer.cidr === cidr && !answer.accepted)
  const wrong = ranges.find(({ cidr, state }) => state === 'Active' && !wasActive(cidr) && isRejected(cidr))
  return wrong && `range ${wrong.cidr} becomes Active, and a consumer rejects it`
}

/** Whether Nodes may get subnets of a range: each of its prefixes is published as `Active`. */
function isAccepted({ spaces }: NaiveRange, { history, hasNetwork }: Seen): boolean {
  const ranges = history.network?.status?.ranges ?? []
  const active = spansOf(ranges.filter(({ state }) => state === 'Active').map(({ cidr }) => cidr))
  const isActive = ({ span }: NaiveRange['spaces'][number]) =>
    active.some((one) => contains(one, span) && contains(span, one))
  return !hasNetwork || spaces.every(isActive)
}

function usersOf(clusterCIDR: ClusterCIDR, { users }: NodeIPAMHistory): readonly SubnetUser[] {
  const prefixes = prefixesOf(clusterCIDR)
  return [...users.values()].filter(({ spans }) =>
    spans.some((span) => prefixes.some((prefix) => overlap(prefix, span))),
  )
}

/**
 * A Node waits only if each range that is for it has no free subnet of a family, in a list of all
 * of them.
 */
function noNodeWaitsForNothing(seen: Seen): readonly string[] {
  const { history, flags } = seen
  const taken = [
    ...[...history.users.values()].flatMap(({ spans }) => spans),
    ...history.services().map(({ span }) => span),
  ]
  const isFree = (subnet: Span) => !taken.some((one) => overlap(one, subnet))
  const open = history.clusterCIDRs.now.filter(isOpen).flatMap(({ object }) => rangeOf(object) ?? [])
  return waitingNodes(seen).flatMap((node) => {
    const ranges = (flags === undefined ? open : [flags]).filter(
      (range) => isFor(range, node) && isAccepted(range, seen),
    )
    const free = ranges.find(({ spaces }) => spaces.every((space) => subnetsOf(space).some(isFree)))
    return free === undefined ? [] : [`Node ${node.metadata.name} waits, and ${free.name} has free subnets`]
  })
}

/** The Nodes that wait for subnets. */
function waitingNodes({ history }: Seen): readonly Node[] {
  return history.nodes.now
    .filter((version) => isOpen(version) && textsOf(version.object).length === 0)
    .map(({ object }) => object)
}

function finalizersAreOn({ history, hasDefault }: Seen): readonly string[] {
  const open = history.clusterCIDRs.now.filter(isOpen).map(({ object }) => object)
  const isMissing =
    hasDefault &&
    history.nodes.now.length > 0 &&
    !history.clusterCIDRs.now.some(({ object }) => object.metadata.name === DEFAULT_CLUSTER_CIDR)
  return [
    ...open
      .filter((object) => rangeOf(object) !== undefined && !hasFinalizer(object, CLUSTER_CIDR_FINALIZER))
      .map(({ metadata: { name } }) => `ClusterCIDR ${name} has no finalizer`),
    ...(isMissing ? [`there is no ClusterCIDR ${DEFAULT_CLUSTER_CIDR}`] : []),
  ]
}

function unusedRangesAreGone({ history }: Seen): readonly string[] {
  const ending = history.clusterCIDRs.now.filter((version) => !isOpen(version)).map(({ object }) => object)
  const left = ending.filter((object) => usersOf(object, history).length === 0)
  return left.map(
    ({ metadata: { name } }) => `ClusterCIDR ${name} is still being deleted, and no Node has a subnet of it`,
  )
}

/** What people have to look at was told of each object at some time. */
function problemsWereTold(seen: Seen): readonly string[] {
  const { history, told } = seen
  const missing = (uid: string | undefined, name: string, reason: NodeIPAMEventReason) =>
    told.has(toldKey(uid, reason)) ? [] : [`${name} was never told of: ${reason}`]
  return [
    ...waitingNodes(seen).flatMap(({ metadata: { uid, name } }) => missing(uid, `Node ${name}`, 'CIDRNotAvailable')),
    ...history.nodes.now.flatMap(({ object }) => {
      const reason = reasonFor(object, seen)
      return reason === undefined ? [] : missing(object.metadata.uid, `Node ${object.metadata.name}`, reason)
    }),
    ...history.clusterCIDRs.now.flatMap(({ object }) => {
      const isWrong = !isDeleting(object) && rangeOf(object) === undefined
      return isWrong ? missing(object.metadata.uid, `ClusterCIDR ${object.metadata.name}`, 'InvalidClusterCIDR') : []
    }),
  ]
}

/** What is wrong with the subnets of a Node. */
function reasonFor(node: Node, { history, flags }: Seen): NodeIPAMEventReason | undefined {
  const texts = textsOf(node)
  const spans = spansOf(texts)
  const others = [...history.users].filter(([uid]) => uid !== node.metadata.uid).flatMap(([, user]) => user.spans)
  const foreign = [...others, ...history.services().map(({ span }) => span)]
  const isOdd = texts.some((text) => {
    const read = Prefix.safeParse(text)
    return !read.ok || !Prefix.equals(read.value, Prefix.masked(read.value))
  })
  if (isOdd || spans.some((span) => foreign.some((one) => overlap(one, span)))) return 'CIDRConflict'
  const known = [
    ...(flags?.spaces.map(({ span }) => span) ?? []),
    ...history.clusterCIDRs.now.flatMap(({ object }) => prefixesOf(object)),
  ]
  return spans.every((span) => known.some((prefix) => contains(prefix, span))) ? undefined : 'CIDRNotOwned'
}

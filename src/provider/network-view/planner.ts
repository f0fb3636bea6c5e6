import { Node } from '../../crd/core/node.js'
import { keepNode } from '../../crd/core/node-subnets.js'
import { ClusterNetwork } from '../../crd/ipam-kit/cluster-network.js'
import { formatRef, isDeleting, type KindInfo, type KubeObject, refOf } from '../../crd/meta/object.js'
import { ClusterCIDR } from '../../crd/node-ipam/cluster-cidr.js'
import { check, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { CachedObjects, Parsed, ParseResult } from '../../plan/cached-objects.js'
import {
  Absences,
  type Delta,
  definePlanner,
  modelWatch,
  type Outcome,
  type Plan,
  type Planner,
  type PlannerContext,
  type PlanTime,
  patchStatus,
  type TrimmedWatch,
  type Watch,
} from '../../plan/index.js'
import { acceptedRanges } from './acceptance.js'
import { type AssignerType, decideAssigner, sharedBy } from './assigner.js'
import type { ViewFacts } from './family.js'
import { type ConfiguredRanges, LedgerView, newLedger, type Problems, recordConfigured } from './ledger-view.js'
import {
  DELETED,
  familiesOf,
  holdingsIn,
  NODES,
  type RangeRole,
  type Reading,
  readClusterCIDR,
  readNode,
  readRanges,
} from './read.js'
import { networkStatus } from './status.js'
import { CONFIGURED, type NetworkView, type ViewProblem } from './view.js'

/**
 * Objects of another kind that configure ranges: ServiceCIDRs, IPPools of Calico, pools of another
 * system.
 */
export interface RangeSource {
  readonly kind: KindInfo
  /** The purpose of the ranges. */
  readonly role: RangeRole
  /** The CIDRs of an object. It must not throw: it leaves out what it cannot read. */
  readonly cidrsOf: (object: KubeObject) => readonly string[]
}

export interface NetworkViewOptions extends ConfiguredRanges {
  /** The name of the ClusterNetwork. Default `pods`. */
  readonly name?: string | undefined
  readonly sources?: readonly RangeSource[] | undefined
  /**
   * Whether the ClusterNetwork is created if it does not exist: without consumers, so that every
   * range is `Active` at once, also after one that had consumers was deleted. Default false: the
   * planner waits until it is created, and sends an Event `ClusterNetworkMissing`.
   */
  readonly create?: boolean | undefined
  /**
   * Seconds between two publications of numbers of Nodes, 1 to 3,600. Everything else is
   * published at once. Default 30.
   */
  readonly detailsSeconds?: number | undefined
  /**
   * How long a range that has left the view stays published, in seconds, 0 to 3,600. The watch of
   * Nodes may be behind that of ranges: a Node may have a subnet of the range that the planner has
   * not observed yet. Default 60.
   */
  readonly graceSeconds?: number | undefined
}

const NETWORK_VIEW_OPTIONS: KindOf<NetworkViewOptions> = {
  name: 'text?',
  sources: ['list?', 'object'],
  create: 'flag?',
  detailsSeconds: 'number?',
  graceSeconds: 'number?',
  ...CONFIGURED,
}

/** The outcome of a plan for the ClusterNetwork. */
export interface NetworkViewOutcome extends Outcome {
  /**
   * - `published`: the object has the present view
   * - `changed`: a patch is in the plan
   * - `waiting`: only numbers of Nodes differ, and are published later
   * - `created`: the object did not exist
   * - `missing`: the object does not exist, and nothing is published until it is created
   * - `unreadable`, `deleting`: the object is not changed
   */
  readonly kind: 'published' | 'changed' | 'waiting' | 'created' | 'missing' | 'unreadable' | 'deleting'
}

/** A planner with one key: the name of the ClusterNetwork. */
export interface NetworkViewPlanner extends Planner<NetworkViewOutcome> {
  /**
   * The present view, with the list of Nodes, which the object does not have. It changes with each
   * observed change.
   */
  readonly view: NetworkView
}

/** An object, with what was read of it once. */
interface ReadObject<T extends KubeObject> extends Reading {
  readonly object: T
}

type NetworkWatches = {
  readonly nodes: TrimmedWatch<ReadObject<Node>>
  readonly clusterCIDRs: Watch<Reading>
  readonly networks: Watch<ClusterNetwork>
} & { readonly [source: `source ${number}`]: Watch<Reading> }

interface NetworkState {
  readonly view: LedgerView
  /** {@link ViewFacts.accepted} is of the last version of the network that could be read. */
  readonly facts: ViewFacts
  readonly absences: Absences
  /** Since when only details have differed. */
  detailsSinceMs: number | undefined
}

type Context = PlannerContext<NetworkWatches, NetworkState>

/**
 * Publishes the addresses that Pods have or may get, in the status of one ClusterNetwork: ranges
 * and their acceptance, a hash of all, and the fewest exact prefixes. If there are too many, it
 * publishes 64 prefixes of each family and the number of addresses that they add. Its size does not
 * depend on the number of Nodes.
 *
 * - It is patched only when its content changes. A heartbeat of a Node costs no plan.
 * - A range is published before Nodes get subnets from it, if their controller waits for `Active`
 *   ({@link acceptedRanges}). A deleted range, and the subnet of a Node, is published until no Node
 *   uses it, and a range for `graceSeconds` longer.
 * - Create the object with the consumers that have to accept ranges. A deleted one is not created
 *   again, as it would have no consumers: with `create` it is.
 * - An object that can no longer be read counts in its last readable state.
 *
 * A change of a Node costs O(length of its prefixes), one of a range also O(subnets in it). A plan
 * costs O(prefixes of `known` + ranges + n log n) for n subnets in no range, whatever the number of
 * other Nodes. Any number of processes may run it: the status is written for the version that was
 * read.
 *
 * @throws IpamError `INVALID_ARGUMENT` for invalid options
 */
export function networkViewPlanner(options: NetworkViewOptions = {}): NetworkViewPlanner {
  check('networkViewPlanner', 'options', options, NETWORK_VIEW_OPTIONS)

  const { name = 'pods', sources = [], create = false, detailsSeconds = 30, graceSeconds = 60, ...configured } = options
  if (!(detailsSeconds >= 1 && detailsSeconds <= 3600))
    refuse('networkViewPlanner', 'detailsSeconds', 'seconds, 1 to 3600', detailsSeconds)
  if (!(graceSeconds >= 0 && graceSeconds <= 3600))
    refuse('networkViewPlanner', 'graceSeconds', 'seconds, 0 to 3600', graceSeconds)
  if (typeof name !== 'string' || name === '')
    refuse('networkViewPlanner', 'name', 'the name of a ClusterNetwork', name)
  const sourceNames = sources.map((_, index) => `source ${index}` as const)
  const eachSource = <T>(made: (source: RangeSource) => T) =>
    Object.fromEntries(sources.map((source, index) => [sourceNames[index]!, made(source)] as const))
  const watches: NetworkWatches = {
    nodes: {
      ...readAs(modelWatch(Node), (object) => ({ object, ...readNode(object) })),
      keep: keepNode,
      indexes: { problem: problemIndex, family: (reading) => familiesOf(reading).map(String) },
    },
    clusterCIDRs: readAs(modelWatch(ClusterCIDR), readClusterCIDR),
    networks: modelWatch(ClusterNetwork, { fields: { 'metadata.name': name } }),
    ...eachSource(sourceWatch),
  }
  const woken = (delta: Delta<Reading>) => (isNoted(delta) ? [name] : [])
  const rangesOf = (role: RangeRole) => (entry: Parsed<Reading>) => {
    const pool = role === 'pods' && isDeleting(entry.object) ? DELETED : role
    return entry.ok ? holdingsIn(pool, entry.object.metadata.name, entry.value) : []
  }
  const planner = definePlanner<NetworkViewOutcome, NetworkWatches, NetworkState>({
    name: 'network-view',
    watches,
    state(_, _before, { cache, holdings }) {
      const problems = recordConfigured((pool) => holdings.ledger(pool), configured)
      const facts: ViewFacts = {
        ledger: (pool) => holdings.ledger(pool),
        nodesOf: (family) => cache.nodes.countBy('family', String(family)),
        accepted: undefined,
      }
      const watched = [
        cache.nodes,
        cache.clusterCIDRs,
        ...sourceNames.map((source) => cache[source] as typeof cache.clusterCIDRs),
      ]
      const view = new LedgerView(facts, () => [...problems, ...watched.flatMap(problemsIn)])
      return { view, facts, absences: new Absences(graceSeconds), detailsSinceMs: undefined }
    },
    holds: {
      nodes: (entry) => (entry.ok ? holdingsIn(NODES, entry.object.metadata.name, entry.value) : []),
      clusterCIDRs: rangesOf('pods'),
      ...eachSource(({ role }) => rangesOf(role)),
    },
    ledger: newLedger,
    // the ranges are those of other systems
    usage: () => [],
    wakes: {
      nodes: woken,
      clusterCIDRs: woken,
      networks({ now, before }, { state: { facts } }) {
        // one that cannot be read, or is deleted, has accepted no other ranges
        if (now?.ok === true) facts.accepted = acceptedRanges(now.value)
        return now === before ? [] : [name]
      },
      ...eachSource(() => woken),
    },
    moved({ touched }, { state: { view } }) {
      view.touch(touched)
      return [name]
    },
    plan: (key, context, time) => planNetwork(key, context, time, { create, detailsSeconds }),
  })
  const view = { get: () => planner.context.state.view }
  return Object.defineProperty(planner, 'view', view) as typeof planner & NetworkViewPlanner
}

/** A watch of objects that are read once for each version. */
function readAs<T extends KubeObject, R extends Reading>(watch: Watch<T>, read: (value: T) => R): Watch<R> {
  return {
    ...watch,
    parse(object) {
      const parsed = watch.parse(object, undefined)
      return parsed.ok ? { ok: true, value: read(parsed.value) } : parsed
    },
    indexes: { problem: problemIndex },
  }
}

function sourceWatch({ kind, role, cidrsOf }: RangeSource): Watch<Reading> {
  const parse = (object: KubeObject): ParseResult<Reading> => {
    const cidrs = cidrsOf(object)
    if (!Array.isArray(cidrs)) return { ok: false, problem: 'its CIDRs are not a list' }
    return { ok: true, value: readRanges(role, { name: object.metadata.name, cidrs }) }
  }
  return { ...kind, parse, indexes: { problem: problemIndex } }
}

function problemIndex({ problems }: Reading): readonly string[] {
  return problems.length > 0 ? [''] : []
}

/** The problems of each object of a watch that has some. O(problems). */
function problemsIn(objects: CachedObjects<Reading>): Problems {
  return [
    ...Array.from(objects.each('problem', ''), ({ problems }) => problems),
    ...objects.unreadable().map(problemsOf),
  ]
}

/** Whether the problems of an object have changed, or whether it exists. */
function isNoted({ before, now }: Delta<Reading>): boolean {
  if (before === undefined || now === undefined) return before !== now
  return JSON.stringify(problemsOf(before)) !== JSON.stringify(problemsOf(now))
}

function problemsOf(entry: Parsed<Reading>): readonly ViewProblem[] {
  if (entry.ok) return entry.value.problems
  return [{ about: formatRef(refOf(entry.object)), reason: 'UnreadableObject', message: entry.problem }]
}

function planNetwork(
  name: string,
  { cache, state, sent }: Context,
  { nowMs }: PlanTime,
  { create, detailsSeconds }: { readonly create: boolean; readonly detailsSeconds: number },
): Plan<NetworkViewOutcome> {
  const entry = cache.networks.entry(name)
  if (entry === undefined) return create ? created(name) : missing(name, sent)
  sent.forget(name)
  if (!entry.ok) return { outcome: { kind: 'unreadable', message: entry.problem }, effects: [] }
  const network = entry.value
  if (isDeleting(network)) return { outcome: { kind: 'deleting', message: 'the object is being deleted' }, effects: [] }
  const { view, absences } = state
  const input = { network, assigner: assignerOf(view, cache), absences, nowMs }
  const { patch, change, nextSeconds: requeueAfterSeconds, status } = networkStatus(view, input)
  if (change !== 'details') state.detailsSinceMs = undefined
  else state.detailsSinceMs ??= nowMs
  const waitSeconds = Math.ceil(((state.detailsSinceMs ?? nowMs) - nowMs) / 1000) + detailsSeconds
  if (change === 'details' && waitSeconds > 0) {
    const message = 'numbers of Nodes are published later'
    const soonest = Math.min(waitSeconds, requeueAfterSeconds ?? waitSeconds)
    return { outcome: { kind: 'waiting', message }, effects: [], requeueAfterSeconds: soonest }
  }
  const lists = status.families.map(({ family, known }) => `${family}: ${known.join(', ')}`)
  const message = lists.join('; ') || 'no address is known'
  if (change === 'none') return { outcome: { kind: 'published', message }, effects: [], requeueAfterSeconds }
  const effects = [patchStatus(network, { status: { ...patch } }, 'the view has changed')]
  return { outcome: { kind: 'changed', message }, effects, requeueAfterSeconds }
}

function created(name: string): Plan<NetworkViewOutcome> {
  const { apiVersion, kind } = ClusterNetwork.info
  const object = { apiVersion, kind, metadata: { name }, spec: {} }
  const effects = [{ kind: 'create', object, why: 'the view has no object yet' } as const]
  return { outcome: { kind: 'created', message: `creating ClusterNetwork ${name}` }, effects }
}

/** Only the object itself names the consumers that have to accept ranges. */
function missing(name: string, sent: Context['sent']): Plan<NetworkViewOutcome> {
  const { apiVersion, kind } = ClusterNetwork.info
  const message = `ClusterNetwork ${name} does not exist, and no range is published: create it, with the consumers that have to accept ranges`
  const object = { apiVersion, kind, metadata: { name } }
  const effects = sent.newEvents(name, object, [{ reason: 'ClusterNetworkMissing', message }])
  return { outcome: { kind: 'missing', message }, effects }
}

/** Addresses of Nodes are read only if no Node has a subnet. */
function assignerOf({ ipv4, ipv6 }: LedgerView, { nodes }: Context['cache']): AssignerType {
  const ranges = [...ipv4.current, ...ipv6.current]
  const nodesWithSubnets = Math.max(ipv4.nodes, ipv6.nodes)
  const shared =
    nodesWithSubnets > 0
      ? undefined
      : sharedBy(
          Array.from(nodes, ({ object }) => object),
          ranges,
        )
  return decideAssigner({ nodes: nodes.size, nodesWithSubnets, ranges, sharedBy: shared, pods: undefined }).type
}

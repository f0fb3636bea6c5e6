import { Node } from '../../crd/core/node.js'
import { keepNode } from '../../crd/core/node-subnets.js'
import { ClusterNetwork } from '../../crd/ipam-kit/cluster-network.js'
import { formatRef, isDeleting, type KindInfo, type KubeObject, refOf } from '../../crd/meta/object.js'
import { ClusterCIDR } from '../../crd/node-ipam/cluster-cidr.js'
import { check, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { ParseResult } from '../../plan/cached-objects.js'
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
import { SentEvents } from '../../plan/sent-events.js'
import { acceptedRanges } from './acceptance.js'
import { type AssignerType, decideAssigner, rangesOf, sharedBy } from './assigner.js'
import { type ConfiguredRanges, LiveNetworkView, type RangeRole } from './live.js'
import { networkStatus } from './status.js'
import type { NetworkView } from './view.js'

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
  extraCIDRs: ['list?', 'object'],
  serviceCIDRs: ['list?', 'any'],
  pools: ['list?', 'object'],
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

type NetworkWatches = {
  readonly nodes: TrimmedWatch<Node>
  readonly clusterCIDRs: Watch<ClusterCIDR>
  readonly networks: Watch<ClusterNetwork>
} & { readonly [source: `source ${number}`]: Watch<readonly string[]> }

interface NetworkState {
  readonly view: LiveNetworkView
  readonly absences: Absences
  /** Since when only details have differed. */
  detailsSinceMs: number | undefined
  /** The Event that the object is missing, while it is. */
  readonly sent: SentEvents
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
 * A change of one Node costs O(ranges around its subnets), a plan O(prefixes of `known` + ranges),
 * whatever the number of Nodes. Any number of processes may run it: the status is written for the
 * version that was read.
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
  const watches: NetworkWatches = {
    nodes: { ...modelWatch(Node), keep: keepNode },
    clusterCIDRs: modelWatch(ClusterCIDR),
    networks: modelWatch(ClusterNetwork, { fields: { 'metadata.name': name } }),
    ...Object.fromEntries(sources.map((source, index) => [`source ${index}`, sourceWatch(source)])),
  }
  const woken = (isChanged: boolean) => (isChanged ? [name] : [])
  const planner = definePlanner<NetworkViewOutcome, NetworkWatches, NetworkState>({
    name: 'network-view',
    watches,
    state(_, before) {
      const view = new LiveNetworkView()
      view.setConfigured(configured)
      return {
        view,
        absences: new Absences(graceSeconds),
        detailsSinceMs: undefined,
        sent: before?.sent ?? new SentEvents(),
      }
    },
    wakes: {
      nodes: (delta, { state: { view } }) =>
        woken(
          follow(
            delta,
            view,
            (node) => view.setNode(node),
            ({ name: node }) => view.deleteNode(node),
          ),
        ),
      clusterCIDRs: (delta, { state: { view } }) =>
        woken(
          follow(
            delta,
            view,
            (range) => view.setClusterCIDR(range),
            ({ name: range }) => view.deleteClusterCIDR(range),
          ),
        ),
      networks({ now, before }, { state: { view } }) {
        // one that cannot be read, or is deleted, has accepted no other ranges
        if (now?.ok === true) view.setAccepted(acceptedRanges(now.value))
        return woken(now !== before)
      },
      ...Object.fromEntries(
        sources.map((source, index) => [
          `source ${index}`,
          (delta: Delta<readonly string[]>, { state: { view } }: Context) =>
            woken(followSource(delta, source, index, view)),
        ]),
      ),
    },
    plan: (key, context, time) => planNetwork(key, context, time, { create, detailsSeconds }),
  })
  const view = { get: () => planner.context.state.view }
  return Object.defineProperty(planner, 'view', view) as typeof planner & NetworkViewPlanner
}

function sourceWatch({ kind, cidrsOf }: RangeSource): Watch<readonly string[]> {
  const parse = (object: KubeObject): ParseResult<readonly string[]> => {
    const cidrs = cidrsOf(object)
    return Array.isArray(cidrs) ? { ok: true, value: cidrs } : { ok: false, problem: 'its CIDRs are not a list' }
  }
  return { ...kind, parse }
}

/** Applies a change to a view. An object that cannot be read counts in its last readable state. */
function follow<T, O extends KubeObject>(
  { ref, now }: Delta<T, O>,
  view: LiveNetworkView,
  set: (value: T) => boolean,
  remove: (ref: { readonly name: string }) => boolean,
): boolean {
  const isNoted = view.setUnreadable(formatRef(ref), now?.ok === false ? now.problem : undefined)
  if (now === undefined) return remove(ref) || isNoted
  return (now.ok && set(now.value)) || isNoted
}

function followSource(
  delta: Delta<readonly string[]>,
  { role }: RangeSource,
  index: number,
  view: LiveNetworkView,
): boolean {
  const { ref, now } = delta
  const id = `source ${index} ${formatRef(ref)}`
  const isDeleted = role === 'pods' && now !== undefined && isDeleting(now.object)
  return follow(
    delta,
    view,
    (cidrs) => view.setRanges(id, role, { name: ref.name, cidrs, source: now && refOf(now.object) }, isDeleted),
    () => view.setRanges(id, role, undefined),
  )
}

function planNetwork(
  name: string,
  { cache, state }: Context,
  { nowMs }: PlanTime,
  { create, detailsSeconds }: { readonly create: boolean; readonly detailsSeconds: number },
): Plan<NetworkViewOutcome> {
  const entry = cache.networks.entry(name)
  if (entry === undefined) return create ? created(name) : missing(name, state)
  state.sent.forget(name)
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
function missing(name: string, state: NetworkState): Plan<NetworkViewOutcome> {
  const { apiVersion, kind } = ClusterNetwork.info
  const message = `ClusterNetwork ${name} does not exist, and no range is published: create it, with the consumers that have to accept ranges`
  const about = { apiVersion, kind, name }
  const event = { kind: 'event', about, type: 'Warning', reason: 'ClusterNetworkMissing', message } as const
  return { outcome: { kind: 'missing', message }, effects: state.sent.note(name, undefined, event) ? [event] : [] }
}

/** Addresses of Nodes are read only if no Node has a subnet. */
function assignerOf(view: LiveNetworkView, { nodes }: Context['cache']): AssignerType {
  const { all, withSubnets } = view.nodeCounts
  const ranges = [view.ipv4, view.ipv6].flatMap(rangesOf)
  const shared = withSubnets > 0 ? undefined : sharedBy(nodes, ranges)
  return decideAssigner({ nodes: all, nodesWithSubnets: withSubnets, ranges, sharedBy: shared, pods: undefined }).type
}

import { Ledger } from '../../../allocator/index.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { type KubeObject, nameKey } from '../../../crd/meta/object.js'
import { check, type KindOf } from '../../../errors/check.js'
import {
  type Delta,
  definePlanner,
  type Holdings,
  type Parsed,
  type Planner,
  type PlannerWatches,
} from '../../../plan/index.js'
import { holdingsOfClaim, holdingsOfPod, KEYS } from './holds.js'
import { decides, nameOfPod, networkNamed } from './networks.js'
import type { PersistentIPsOutcome } from './outcome.js'
import { eventKey, planClaim } from './plan-claim.js'
import { planPod } from './plan-pod.js'
import { networkSpace } from './space.js'
import {
  type ServedDefinition,
  type ServedPod,
  type ServingCache,
  servedClaimWatch,
  servedDefinitionWatch,
  servedPodWatch,
} from './watches.js'

export interface PersistentIPsOptions {
  /**
   * Whether addresses are given. False: definitions of networks are not watched, claims hold what
   * they have until they are deleted, and nothing is written. Default true.
   */
  readonly enabled?: boolean | undefined
  /** What a new Pod gets of a claim that is being deleted. Default `refuse`; upstream serves it. */
  readonly terminatingClaim?: 'refuse' | 'serve' | undefined
  /**
   * Whether a Pod can ask for addresses and a MAC address of its primary network. Default false.
   */
  readonly staticRequests?: boolean | undefined
  /** The namespace of the definition of the default network. Default `ovn-kubernetes`. */
  readonly defaultNetworkNamespace?: string | undefined
}

const OPTIONS: KindOf<PersistentIPsOptions> = {
  enabled: 'flag?',
  terminatingClaim: ['one?', { refuse: 1, serve: 1 }],
  staticRequests: 'flag?',
  defaultNetworkNamespace: 'text?',
}

type State = {
  readonly cache: ServingCache
  /** The names of Pods that have an address in a network whose definition is not there. */
  readonly undefinedPods: Set<string>
  /** The keys of plans that wait for an address, by network, until one is free. */
  readonly waiting: Map<string, Set<string>>
}
type Context = { readonly state: State; readonly holdings: Holdings }

/**
 * Gives addresses to IPAMClaims and to Pods, in networks of OVN-Kubernetes of layer2 and localnet
 * with subnets, in place of the cluster manager of OVN-Kubernetes. Keys are
 * `IPAMClaim namespace/name` and `Pod namespace/name`. {@link claimPlan} and {@link podPlan}
 * decide.
 *
 * The objects are the only record: a claim holds the addresses of its status until it does not
 * exist, a Pod those of its annotation `k8s.ovn.org/pod-networks` until it has ended. The status of
 * a claim is written before its Pods. A claim and its Pods are one holder, and after the deletion
 * of the claim a Pod holds its addresses itself. A Pod that belongs to no owner of the claim is
 * refused. `entries()` lists the holders by network.
 *
 * Only one process at a time may run it. A plan costs O(Pods that name the claim + definitions of
 * the network).
 *
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * persistentIPs().watches.map(({ kind }) => kind) // ['NetworkAttachmentDefinition', 'IPAMClaim', 'Pod']
 */
export function persistentIPs(options: PersistentIPsOptions = {}): Planner<PersistentIPsOutcome> {
  check('persistentIPs', 'options', options, OPTIONS)
  const { enabled = true } = options
  const [claims, pods, definitions] = [servedClaimWatch(), servedPodWatch(), servedDefinitionWatch()]
  // definitions first: what a Pod holds depends on them
  const watches: PlannerWatches = { ...(enabled && { definitions }), claims, pods }
  return definePlanner<PersistentIPsOutcome, PlannerWatches, State>({
    name: 'persistent-ips',
    watches,
    state: (objects) => ({
      cache: {
        claims: objects.open(claims),
        pods: objects.open(pods),
        definitions: enabled ? objects.open(definitions) : undefined,
      },
      undefinedPods: new Set(),
      waiting: new Map(),
    }),
    ledger: () => new Ledger({ space: RangeSet.empty }),
    holds: {
      claims: (entry) => holdingsOfClaim(entry),
      pods: (entry, { state }) => heldByServedPod(entry, state),
    },
    wakes: {
      claims: ({ ref }, { state: { cache }, holdings }) => {
        const named = cache.pods.by('claim', nameKey(ref))
        holdings.refresh('pods', named.map(nameOfPod))
        return [KEYS.format('IPAMClaim', ref)]
      },
      pods: (delta: Delta<ServedPod>, { sent, state }) => {
        const keys = keysOfPod(delta)
        const about = delta.now === undefined ? keys : []
        if (delta.now === undefined) state.undefinedPods.delete(nameKey(delta.ref))
        for (const key of about) sent.forget(key === keys[0] ? key : eventKey(key, nameKey(delta.ref)))
        return keys
      },
      ...(enabled && {
        definitions: (delta: Delta<ServedDefinition>, context: Context) => keysOfDefinition(delta, context),
      }),
    },
    moved: ({ freed, others }, { state: { waiting } }) => [
      ...others,
      // only those that have found none: the writes of others may be refused again and again
      ...freed.flatMap(({ pool }) => {
        const keys = [...(waiting.get(pool) ?? [])]
        waiting.delete(pool)
        return keys
      }),
    ],
    plan(key, { state: { cache, waiting }, holdings, sent, isUnchanged }, { nowMs }) {
      const read = KEYS.read(key)
      const wait = (network: string) => {
        waiting.set(network, (waiting.get(network) ?? new Set()).add(key))
      }
      const context = { cache, options, holdings, sent, isUnchanged, wait }
      if (read === undefined) return undefined
      return read.kind === 'Pod' ? planPod(key, read.name, context) : planClaim(key, read.name, context, nowMs)
    },
  })
}

function heldByServedPod(entry: Parsed<ServedPod>, { cache, undefinedPods }: State) {
  const { holdings, isDefined } = holdingsOfPod(entry, cache)
  const name = nameKey(entry.object.metadata)
  if (isDefined) undefinedPods.delete(name)
  else undefinedPods.add(name)
  return holdings
}

function keysOfPod({ ref, before, now }: Delta<ServedPod>): readonly string[] {
  const claims = [before, now].flatMap((entry) => (entry?.ok === true ? entry.value.claims : []))
  return [KEYS.format('Pod', ref), ...new Set(claims.map((name) => KEYS.format('IPAMClaim', name)))]
}

function keysOf(pods: Iterable<ServedPod>): readonly string[] {
  return [...pods].flatMap((served) => [
    KEYS.format('Pod', nameOfPod(served)),
    ...served.claims.map((name) => KEYS.format('IPAMClaim', name)),
  ])
}

/**
 * The claims of its network, and the Pods that name a definition: if it decides about its network,
 * any definition of it.
 */
function keysOfDefinition({ ref, before, now }: Delta<ServedDefinition>, { state, holdings }: Context) {
  const { cache, undefinedPods } = state
  const { definitions, pods } = cache
  const versions = [before, now].flatMap((entry) => (entry?.ok === true ? [entry.value] : []))
  const names = new Set(versions.map(({ definition }) => definition.name))
  for (const name of names) {
    const network = networkNamed(name, cache)
    const space = network === undefined ? RangeSet.empty : networkSpace(network.definition).addresses
    holdings.ledger(name).setSpace({ space })
  }
  holdings.refresh('pods', pods.by('entry', nameKey(ref)).map(nameOfPod))
  // a network that appears may have addresses of Pods of other definitions
  if ([...names].some((name) => definitions?.countBy('network', name) === 1))
    holdings.refresh('pods', [...undefinedPods])
  const deciding = versions.filter((version) => decides(version, cache)).map(({ definition }) => definition.name)
  const all = [...new Set(deciding)].flatMap((name) => definitions?.by('network', name) ?? [])
  const nads = new Set([nameKey(ref), ...all.map(({ definition }) => definition.nad)])
  const isPrimary = versions.some(({ definition }) => definition.role === 'primary')
  const named = [...nads].flatMap((nad) => [
    ...pods.by('nad', nad),
    ...(isPrimary ? pods.by('nad', `${nad.slice(0, nad.indexOf('/'))}/`) : []),
  ])
  const claims = [...names].flatMap((name) => cache.claims.by('network', name))
  return [
    ...new Set([...keysOf(named), ...claims.map(({ metadata }: KubeObject) => KEYS.format('IPAMClaim', metadata))]),
  ]
}

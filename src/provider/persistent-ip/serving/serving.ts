import { Ledger } from '../../../allocator/index.js'
import type * as Address from '../../../cidr/nouns/address.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { claimAddresses, type IPAMClaim } from '../../../crd/ipamclaims/index.js'
import { asObject } from '../../../crd/meta/json.js'
import { type KubeObject, nameKey } from '../../../crd/meta/object.js'
import type {
  Delta,
  Holdings,
  Moved,
  ObjectCache,
  Parsed,
  Plan,
  PlannerContext,
  PlannerDefinition,
  PlannerWatches,
  PlanTime,
} from '../../../plan/index.js'
import { problemOfClaim } from './claim-plan.js'
import { EditedClaims } from './edited-claims.js'
import { holdingsOfClaim, holdingsOfPod, hostOf, KEYS } from './holds.js'
import { decides, nameOfPod, networkNamed } from './networks.js'
import type { PersistentIPsOptions } from './options.js'
import type { PersistentIPsOutcome } from './outcome.js'
import { editKey, eventKey, planClaim } from './plan-claim.js'
import { planPod } from './plan-pod.js'
import { podStage } from './pod-stage.js'
import type { ServingContext } from './serving-context.js'
import { networkSpace } from './space.js'
import {
  type ServedDefinition,
  type ServedPod,
  type ServingCache,
  servedClaimWatch,
  servedDefinitionWatch,
  servedPodWatch,
} from './watches.js'

/** What the network side remembers beside the objects. */
export interface ServingState {
  readonly cache: ServingCache
  /** The names of Pods that have an address in a network whose definition is not there. */
  readonly undefinedPods: Set<string>
  /** The keys of plans that wait for an address, by network, until one is free. */
  readonly waiting: Map<string, Set<string>>
  /** Whether a claim has an address by a record other than its status. */
  isRecorded(claim: KubeObject, address: Address.Address): boolean
}
type Context = { readonly state: ServingState; readonly holdings: Holdings }
type Definition = PlannerDefinition<PersistentIPsOutcome, PlannerWatches, ServingState>

/** The network side on any record of addresses. */
export interface ServingDefinition
  extends Pick<Definition, 'name' | 'watches' | 'ledger' | 'holds' | 'wakes' | 'moved' | 'isServed'> {
  state(objects: ObjectCache): ServingState
  planWith(
    key: string,
    context: PlannerContext<PlannerWatches, ServingState>,
    time: PlanTime,
    record: Pick<ServingContext, 'open' | 'checks'>,
  ): Plan<PersistentIPsOutcome> | undefined
}

/** The network side, without its record of addresses. */
export function servingDefinition(options: PersistentIPsOptions): ServingDefinition {
  const { enabled = true } = options
  const [claims, pods, definitions] = [servedClaimWatch(), servedPodWatch(), servedDefinitionWatch()]
  return {
    name: 'persistent-ips',
    // definitions first: what a Pod holds depends on them
    watches: { ...(enabled && { definitions }), claims, pods },
    state: (objects) => ({
      cache: {
        claims: objects.open(claims),
        pods: objects.open(pods),
        definitions: enabled ? objects.open(definitions) : undefined,
        // a reset forgets them: another process may have given their addresses since
        edited: new EditedClaims(),
      },
      undefinedPods: new Set(),
      waiting: new Map(),
      isRecorded: () => true,
    }),
    ledger: () => new Ledger({ space: RangeSet.empty }),
    holds: {
      claims: (entry: Parsed<KubeObject>, { state }: Context) => holdingsOfClaim(entry, state.cache),
      pods: (entry: Parsed<ServedPod>, { state }: Context) => heldByServedPod(entry, state),
    },
    wakes: {
      claims: (delta: Delta<IPAMClaim>, context: PlannerContext<PlannerWatches, ServingState>) =>
        keysOfClaim(delta, context),
      pods: (delta: Delta<ServedPod>, { sent, state }: PlannerContext<PlannerWatches, ServingState>) => {
        const keys = keysOfPod(delta)
        const about = delta.now === undefined ? keys : []
        if (delta.now === undefined) state.undefinedPods.delete(nameKey(delta.ref))
        for (const key of about) sent.forget(key === keys[0] ? key : eventKey(key, nameKey(delta.ref)))
        return [...new Set([...keys, ...keysOf(withFreedMACs(delta, state.cache))])]
      },
      ...(enabled && {
        definitions: (delta: Delta<ServedDefinition>, context: Context) => keysOfDefinition(delta, context),
      }),
    },
    moved: ({ freed, others }: Moved, { state }: Context) => [
      ...others,
      // the next claim of a Pod may have what the Pod alone has now
      ...[...others].flatMap((key) => claimsNamedBy(key, state.cache)),
      // only those that have found none: the writes of others may be refused again and again
      ...freed.flatMap(({ pool }) => takeWaiting(pool, state)),
    ],
    // a key that has failed, and then finds no free address, is not woken by the refusals of others
    isServed: (key, { state: { waiting } }) => [...waiting.values()].every((keys) => !keys.has(key)),
    planWith(key, { state: { cache, waiting }, sent, isUnchanged }, { nowMs }, record) {
      const read = KEYS.read(key)
      const wait = (network: string) => {
        waiting.set(network, (waiting.get(network) ?? new Set()).add(key))
      }
      const context = { cache, options, sent, isUnchanged, wait, ...record }
      if (read === undefined) return undefined
      return read.kind === 'Pod' ? planPod(key, read.name, context) : planClaim(key, read.name, context, nowMs)
    },
  }
}

function claimsNamedBy(key: string, { pods }: ServingCache): readonly string[] {
  const read = KEYS.read(key)
  const claims = read?.kind === 'Pod' ? pods.get(read.name)?.claims : undefined
  return (claims ?? []).map((name) => KEYS.format('IPAMClaim', name))
}

/** The keys of the plans that wait for an address of a network, which do not wait any more. */
export function takeWaiting(network: string, { waiting }: ServingState): readonly string[] {
  const keys = [...(waiting.get(network) ?? [])]
  waiting.delete(network)
  return keys
}

function heldByServedPod(entry: Parsed<ServedPod>, { cache, undefinedPods }: ServingState) {
  const { holdings, isDefined } = holdingsOfPod(entry, cache)
  const name = nameKey(entry.object.metadata)
  if (isDefined) undefinedPods.delete(name)
  else undefinedPods.add(name)
  return holdings
}

function keysOfClaim(
  { ref, before, now }: Delta<IPAMClaim>,
  { state, holdings, sent }: Pick<PlannerContext<PlannerWatches, ServingState>, 'state' | 'holdings' | 'sent'>,
): readonly string[] {
  const { cache } = state
  const [key, name] = [KEYS.format('IPAMClaim', ref), nameKey(ref)]
  const named = cache.pods.by('claim', name).map(nameOfPod)
  const own = new Set([key, ...named.map((pod) => KEYS.format('Pod', pod))])
  const isGranted = (ips: readonly string[]) =>
    before !== undefined && grants(before.object, ips, own, { state, holdings })
  if (cache.edited.see(before?.object, now?.object, isGranted)) {
    holdings.refresh('claims', [name])
    // each edit is reported
    sent.forget(editKey(key))
  }
  if (now?.ok !== true) sent.forget(editKey(key))
  holdings.refresh('pods', named)
  return [key]
}

/** Whether a network has given these addresses to a claim, and to no other holder. */
function grants(
  object: KubeObject,
  ips: readonly string[],
  own: ReadonlySet<string>,
  { state: { cache, isRecorded }, holdings }: Context,
): boolean {
  const { metadata, spec } = object
  const name = asObject(spec)?.network
  const network = (typeof name === 'string' ? networkNamed(name, cache) : undefined)?.definition
  const read = claimAddresses({ metadata, status: { ips } })
  if (network?.claims !== 'honoured' || !read.ok) return false
  const [space, ledger] = [networkSpace(network), holdings.ledger(network.name)]
  const isTaken = (address: Address.Address) =>
    !isRecorded(object, address) || ledger.holders(hostOf(address)).some(({ holder }) => !own.has(holder.key))
  return problemOfClaim(read.value, { space, network, isTaken }) === undefined
}

function keysOfPod({ ref, before, now }: Delta<ServedPod>): readonly string[] {
  const claims = [before, now].flatMap((entry) => (entry?.ok === true ? entry.value.claims : []))
  return [KEYS.format('Pod', ref), ...new Set(claims.map((name) => KEYS.format('IPAMClaim', name)))]
}

/** The Pods that ask for a MAC address which a Pod does not have any more. */
function withFreedMACs({ before, now }: Delta<ServedPod>, { pods }: ServingCache): readonly ServedPod[] {
  const left = now?.ok === true && podStage(now.value.pod) !== 'ended' ? now.value.macs : []
  const had = before?.ok === true && now?.ok !== false ? before.value.macs : []
  return had.filter((mac) => !left.includes(mac)).flatMap((mac) => pods.by('mac', mac))
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

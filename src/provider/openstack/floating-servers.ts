import { Cluster, hasPausedAnnotation, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, hasFinalizer, isDeleting, nameKey, type ObjectRef, refOf } from '../../crd/meta/object.js'
import { OpenStackServer } from '../../crd/openstack/machines.js'
import { FLOATING_ADDRESS_CONDITION, FLOATING_IP_FINALIZER, POOL_EXHAUSTED_REASON } from '../../crd/openstack/names.js'
import { check, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { Calls } from '../../plan/calls.js'
import type { Refusal } from '../../plan/effect.js'
import {
  definePlanner,
  eventAbout,
  modelWatch,
  type Parsed,
  type Plan,
  type Planner,
  type PlannerContext,
  type PlanTime,
  proofOfAbsence,
  removeFinalizer,
} from '../../plan/index.js'
import { plannerKeys } from '../../plan/planner-keys.js'
import { capoServerOf, dialects } from '../consumer/dialects.js'
import { MAX_CALL_SECONDS } from '../external/cloud.js'
import { planAttach } from './attach.js'
import type { FloatingServerOutcome } from './outcome.js'
import { planRelease } from './release.js'
import { knownOfServer, noteServerResult } from './server-calls.js'
import { clusterNameOf, conditionEffects, errorCondition, type ServerRules, type ServerView } from './server-view.js'

export interface FloatingServersOptions {
  /**
   * What happens with a server whose pool has no address. `wait`: it gets the next one. `fail`: its
   * condition has `FloatingIPPoolExhausted` permanently, and its claim is deleted. Default `wait`.
   */
  readonly onExhausted?: 'wait' | 'fail' | undefined
  /**
   * When the claim of a server that is being deleted is released. `detached`: as soon as the
   * address is detached from its instance. `instanceGone`: when in addition the instance has no
   * ports any more, for hosts whose instances are deleted by another controller. Default
   * `detached`.
   */
  readonly releaseWhen?: 'detached' | 'instanceGone' | undefined
  /**
   * After how long the cloud is asked again whether a server still has its address, in seconds,
   * from 10 to 86,400. Default 600.
   */
  readonly checkSeconds?: number | undefined
  /**
   * How long a call to the cloud may take, in seconds, from 1 to 60: after that it must have no
   * effect. Default 60.
   */
  readonly callSeconds?: number | undefined
}

const FLOATING_SERVERS_OPTIONS: KindOf<FloatingServersOptions> = {
  onExhausted: ['one?', { wait: 1, fail: 1 }],
  releaseWhen: ['one?', { detached: 1, instanceGone: 1 }],
  checkSeconds: 'number?',
  callSeconds: 'number?',
}

const KEYS = plannerKeys('OpenStackServer')

const WATCHES = {
  servers: modelWatch(OpenStackServer, {
    indexes: { cluster: (server) => keysIn(server.metadata.namespace, clusterNameOf(server)) },
  }),
  claims: modelWatch(IPAddressClaim, {
    indexes: {
      owner: ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid),
      address: ({ metadata, status }) => keysIn(metadata.namespace, status?.addressRef?.name),
    },
  }),
  addresses: modelWatch(IPAddress),
  clusters: modelWatch(Cluster),
} as const

type ServerWatches = typeof WATCHES
type ServerContext = PlannerContext<ServerWatches, Calls>

/** A planner of OpenStackServers: keys are `OpenStackServer namespace/name`. */
export type FloatingServersPlanner = Planner<FloatingServerOutcome>

/**
 * Floating IPs for servers that name a pool: the machine side of cluster-api-provider-openstack,
 * without the machines.
 *
 * - A server gets a finalizer, and a claim in the dialect `capo`. Its condition says what it waits
 *   for.
 * - When the server has an instance (`status.instanceID`), the address is attached to its first
 *   port with a route to the network of the address. An address that is attached elsewhere stays
 *   there.
 * - At deletion the address is detached first, then the claim loses its finalizer, then the server.
 * - A claim of its name with another owner is never used and never changed. A server or Cluster
 *   that is paused has no effects.
 *
 * It makes the calls of a `ServerCloud`: {@link serverCloudCaller} executes them. Any number of
 * processes may run it. An event costs O(claims of the server).
 *
 * @throws IpamError `INVALID_ARGUMENT`
 *
 * @example
 * import { explain } from 'ipam-kit/plan'
 *
 * const planner = floatingServers()
 * const metadata = { namespace: 'default', name: 'w1', uid: 'u1', resourceVersion: '1' }
 * const floatingIPPoolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: 'blue' }
 * const object = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1alpha1', kind: 'OpenStackServer', metadata, spec: { floatingIPPoolRef } }
 * const [key] = planner.observe({ kind: 'present', object })
 * explain(planner.plan(key, { nowMs: 0 })).split('\n')[0]
 * // 'creating: Waiting 1/1: IPAddressClaim default/w1-floating-ip-address is not there'
 */
export function floatingServers(options: FloatingServersOptions = {}): FloatingServersPlanner {
  check('floatingServers', 'options', options, FLOATING_SERVERS_OPTIONS)

  const rules = rulesOf(options)
  // a new list does not change the results of calls to the cloud
  const calls = new Calls()
  return definePlanner<FloatingServerOutcome, ServerWatches, Calls>({
    name: 'floating-servers',
    watches: WATCHES,
    calls,
    state: () => calls,
    wakes: {
      servers({ ref, before, now }) {
        const key = formatRef(ref)
        if (now === undefined) calls.drop(key, 'calls')
        // after a change of its spec the cloud may answer differently
        else if (now.ok && generationOf(before) !== generationOf(now)) calls.drop(key, 'failures')
        return [key]
      },
      claims({ ref, before, now }) {
        const named = capoServerOf(ref.name)
        const owners = [before, now].flatMap((entry) => (entry?.ok === true ? serverOwners(entry.value) : []))
        const names = new Set([...(named === undefined ? [] : [named]), ...owners])
        return [...names].map((name) => KEYS.format('OpenStackServer', { ...ref, name }))
      },
      addresses({ ref }, { cache }) {
        const named = capoServerOf(ref.name)
        const claims = cache.claims.by('address', nameKey(ref))
        const names = new Set([...(named === undefined ? [] : [named]), ...claims.flatMap(serverOwners)])
        return [...names].map((name) => KEYS.format('OpenStackServer', { ...ref, name }))
      },
      clusters({ ref }, { cache }) {
        return cache.servers.by('cluster', nameKey(ref)).map(({ metadata }) => KEYS.format('OpenStackServer', metadata))
      },
    },
    plan: (key, context, time) => planServer(key, context, time, rules),
    onResult: (result) => {
      noteServerResult(calls, result)
      return [formatRef(result.call.about)]
    },
    refused: (key, refusal, context, time) => planRefused(key, refusal, context, time, rules),
    isServed: (key, { cache }) => {
      const entry = entryOf(key, cache)
      const conditions = (entry?.ok === true && entry.value.status?.conditions) || []
      return conditions.some(({ type, status }) => type === FLOATING_ADDRESS_CONDITION && status === 'True')
    },
  })
}

/** @throws IpamError `INVALID_ARGUMENT` */
function rulesOf({
  onExhausted = 'wait',
  releaseWhen = 'detached',
  checkSeconds = 600,
  callSeconds = MAX_CALL_SECONDS,
}: FloatingServersOptions): ServerRules {
  if (onExhausted !== 'wait' && onExhausted !== 'fail')
    refuse('floatingServers', 'onExhausted', 'wait or fail', onExhausted)
  if (releaseWhen !== 'detached' && releaseWhen !== 'instanceGone') {
    refuse('floatingServers', 'releaseWhen', 'detached or instanceGone', releaseWhen)
  }
  if (!(checkSeconds >= 10 && checkSeconds <= 86_400))
    refuse('floatingServers', 'checkSeconds', 'seconds, 10 to 86400', checkSeconds)
  if (!(callSeconds >= 1 && callSeconds <= MAX_CALL_SECONDS)) {
    refuse('floatingServers', 'callSeconds', `seconds, 1 to ${MAX_CALL_SECONDS}`, callSeconds)
  }
  return { onExhausted, releaseWhen, checkSeconds, callSeconds }
}

function planServer(
  key: string,
  context: ServerContext,
  time: PlanTime,
  rules: ServerRules,
): Plan<FloatingServerOutcome> | undefined {
  const entry = entryOf(key, context.cache)
  if (entry === undefined) {
    context.state.drop(key, 'calls')
    return planOrphan(key, context)
  }
  if (!entry.ok) return nothing('unreadable', entry.problem)
  const server = entry.value
  const view = viewOf(server, context, time, rules)
  if (typeof view === 'string') return nothing('unreadable', view)
  const paused = pausedBy(view)
  if (paused !== undefined) return nothing('paused', `${formatRef(paused)} is paused`)
  if (isDeleting(server)) return planRelease(view, false)
  if (server.spec.floatingIPPoolRef === undefined) {
    const isHeld = hasFinalizer(server, FLOATING_IP_FINALIZER)
    return isHeld ? planRelease(view, true) : nothing('none', 'the server asks for no floating IP')
  }
  const failure = rules.onExhausted === 'fail' ? failureOf(server) : undefined
  if (failure === undefined) return planAttach(view)
  // the address that it did not get must not stay reserved for it
  const release = planRelease(view, true)
  return { ...release, outcome: { kind: 'failed', message: failure } }
}

/**
 * A process that was suspended may create the claim of a server that has ended. Nothing else
 * removes its finalizer when the garbage collector deletes it.
 */
function planOrphan(key: string, { cache }: ServerContext): Plan<FloatingServerOutcome> | undefined {
  const [namespace, name = ''] = KEYS.read(key)?.name.split('/') ?? []
  const claim = cache.claims.get({ namespace, name: claimNameOf(name) })
  const { finalizer = '' } = dialects.capo
  if (claim === undefined || !isDeleting(claim) || !hasFinalizer(claim, finalizer)) return undefined
  if (!serverOwners(claim).includes(name)) return undefined
  const why = 'its server does not exist'
  const { apiVersion, kind } = OpenStackServer.info
  const ref = { apiVersion, kind, namespace, name }
  return {
    outcome: { kind: 'released', message: why },
    effects: [...proofOfAbsence({ ref }, why), removeFinalizer(claim, finalizer, why)],
  }
}

function nothing(kind: FloatingServerOutcome['kind'], message: string): Plan<FloatingServerOutcome> {
  return { outcome: { kind, message }, effects: [] }
}

/** Why a server has failed permanently. */
function failureOf({ status }: OpenStackServer): string | undefined {
  const failed = status?.conditions?.find(
    ({ type, reason }) => type === FLOATING_ADDRESS_CONDITION && reason === POOL_EXHAUSTED_REASON,
  )
  return failed && (failed.message ?? POOL_EXHAUSTED_REASON)
}

function pausedBy({ server, cluster }: ServerView): ObjectRef | undefined {
  if (hasPausedAnnotation(server)) return refOf(server)
  return cluster !== undefined && isClusterPaused(cluster) ? refOf(cluster) : undefined
}

/** The name of the claim of a server. */
function claimNameOf(server: string): string {
  return dialects.capo.claimName({
    ...{ owner: server, deviceIndex: 0, deviceName: '0', poolIndex: 0, annotations: {} },
    pool: { apiGroup: '', kind: '', name: '' },
  })
}

/** The objects of a server, or the one that cannot be read. */
function viewOf(
  server: OpenStackServer,
  { cache, state }: ServerContext,
  { nowMs }: PlanTime,
  rules: ServerRules,
): ServerView | string {
  const { namespace, name, uid = '' } = server.metadata
  const claimName = claimNameOf(name)
  const named = cache.claims.entry({ namespace, name: claimName })
  const cluster = clusterNameOf(server)
  const clusterEntry = cluster === undefined ? undefined : cache.clusters.entry({ namespace, name: cluster })
  for (const entry of [named, clusterEntry]) if (entry?.ok === false) return entry.problem
  const owned = cache.claims.by('owner', uid).filter((claim) => claim.metadata.namespace === namespace)
  const claims = [...new Set([...(named?.ok === true ? [named.value] : []), ...owned])]
  const addressNames = new Set([claimName, ...claims.flatMap(({ status }) => status?.addressRef?.name ?? [])])
  const addresses = [...addressNames].flatMap((each) => cache.addresses.get({ namespace, name: each }) ?? [])
  const key = formatRef(refOf(server))
  return {
    ...{ server, claims, addresses, nowMs, rules },
    addressNamed: (each) => cache.addresses.entry({ namespace, name: each })?.object,
    claimRef: {
      apiVersion: IPAddressClaim.info.apiVersion,
      kind: IPAddressClaim.info.kind,
      namespace,
      name: claimName,
    },
    cluster: clusterEntry?.ok === true ? clusterEntry.value : undefined,
    knownOf: (about) => knownOfServer(state, key, about),
  }
}

/** The store has refused a write for a server: its condition says so. */
function planRefused(
  key: string,
  { message, effect }: Refusal,
  context: ServerContext,
  time: PlanTime,
  rules: ServerRules,
): Plan<FloatingServerOutcome> | undefined {
  const entry = entryOf(key, context.cache)
  if (entry?.ok !== true) return undefined
  const server = entry.value
  const view = viewOf(server, context, time, rules)
  if (typeof view === 'string') return undefined
  const isOfClaim =
    'object' in effect ? IPAddressClaim.is(effect.object) : 'ref' in effect && IPAddressClaim.is(effect.ref)
  const text = isOfClaim ? `Failed to reconcile floating IP claims: ${message}` : message
  const event = eventAbout(server, { type: 'Warning', reason: 'FloatingIPError', message: text })
  // a status that was refused is not written again
  const isOfStatus = 'subresource' in effect && effect.subresource === 'status'
  const writes = isOfStatus ? [] : conditionEffects(view, errorCondition(text))
  return { outcome: { kind: 'error', message: text }, effects: [...writes, event] }
}

function generationOf(server: Parsed<OpenStackServer> | undefined): number | undefined {
  return server?.ok === true ? server.value.metadata.generation : undefined
}

function serverOwners({ metadata }: IPAddressClaim): readonly string[] {
  const owners = metadata.ownerReferences ?? []
  return owners.filter((owner) => OpenStackServer.is(owner)).map(({ name }) => name)
}

function keysIn(namespace: string | undefined, name: string | undefined): readonly string[] {
  return name === undefined ? [] : [nameKey({ namespace, name })]
}

function entryOf(key: string, { servers }: ServerContext['cache']): Parsed<OpenStackServer> | undefined {
  const read = KEYS.read(key)
  return read && servers.entry(read.name)
}

import * as Address from '../../cidr/nouns/address.js'
import { hasPausedAnnotation } from '../../crd/cluster-api/cluster.js'
import { hasFinalizer, isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { addFinalizer, type Effect, type ExternalFailure, patchObject } from '../../plan/index.js'
import { type ExternalPoolOutcome, type ExternalRules, LIST_PAUSE_MS } from './definition.js'
import { planEnd } from './plan-end.js'
import type { ExternalPolicy, Shortage } from './pool-kind.js'
import {
  fitsAnnotation,
  formatReservations,
  RESERVATIONS_ANNOTATION,
  type Reservations,
  reservationsOf,
} from './reservations.js'
import { reserve } from './reserve.js'
import { about, type Input, invalid, listCall, type Planned, type PoolCall, type Situation } from './situation.js'
import { statusEffects } from './status.js'

/**
 * Annotation of clusterctl: the object was moved to another cluster, and this copy is about to be
 * deleted.
 */
const MOVED_ANNOTATION = 'clusterctl.cluster.x-k8s.io/delete-for-move'

/** The plan of a pool: the addresses of claims, the next call to the cloud, and the status. */
export function planPool<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>): Planned {
  const plan = decide(rules, input)
  if (plan.outcome.kind === 'paused' || plan.outcome.kind === 'ended') return plan
  return { ...plan, problems: rules.kind.policyOf(input.pool).problems }
}

function decide<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>): Planned {
  const { pool, ledger, calls, nowMs } = input
  const { poolFinalizer } = rules.kind
  if (hasPausedAnnotation(pool) || pool.metadata.annotations?.[MOVED_ANNOTATION] !== undefined) {
    return { outcome: { kind: 'paused', message: 'the pool is paused, or was moved to another cluster' }, effects: [] }
  }
  if (isDeleting(pool) && !hasFinalizer(pool, poolFinalizer)) {
    return {
      outcome: { kind: 'ended', message: 'the pool is being deleted and has no finalizer of this provider' },
      effects: [],
    }
  }
  const read = rules.kind.policyOf(pool)
  const reserved = reservationsOf(pool)
  if (!read.ok) return notReady(rules, input, invalid(read.problems.join('; ')))
  if (!reserved.ok) return notReady(rules, input, invalid(reserved.problem))
  const { policy } = read
  if (!isDeleting(pool)) {
    ledger.endsSinceMs = undefined
    const begun = begin(rules, input, policy, reserved)
    if (begun !== undefined) return begun
  }
  const found = calls.of('findNetwork')
  if (found?.value === undefined) {
    const why = 'to find the network of the pool'
    const call: PoolCall = { operation: 'findNetwork', input: { ...about(pool, policy), network: policy.network }, why }
    return notReady(rules, input, shortageOf('findNetwork', found?.failure), call)
  }
  const { id: wanted } = found.value
  const { network = wanted } = reserved.value
  const listed = calls.of('listAddresses')
  const addresses = listed?.value?.addresses
  const inventory = addresses && { value: addresses, askedAtMs: listed?.askedAtMs ?? 0 }
  const situation: Situation = { policy, reservations: reserved.value, network }
  ledger.sync({ ...situation, key: policyKey(pool, reserved.value) }, inventory, nowMs)
  if (ledger.inventory === undefined) {
    return notReady(rules, input, shortageOf('listAddresses', listed?.failure), listCall(pool, situation, rules.listMs))
  }
  if (isDeleting(pool)) return planEnd(rules, input, situation)
  if (network === wanted) return planGiving(rules, input, situation)
  return ledger.hasAny(reserved.value)
    ? planGiving(rules, input, { ...situation, wanted })
    : changeNetwork(pool, reserved.value)
}

/** Changes the network of a pool that has nothing in its present one. */
function changeNetwork(pool: KubeObject, { network: _, ...reservations }: Reservations): Planned {
  const outcome: ExternalPoolOutcome = { kind: 'notReady', message: 'changing the network of the pool' }
  return { outcome, effects: [reservationsPatch(pool, reservations)] }
}

function planGiving<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>, situation: Situation): Planned {
  const { pool, ledger, nowMs, calls } = input
  const made = reserve(rules, input, situation)
  const { shortage, reservations, draft } = made
  const concerns = ledger.noteShortage(shortage, nowMs) ? made.unserved : []
  const effects: Effect[] = [...made.proofs]
  if (reservations !== situation.reservations) effects.push(reservationsPatch(pool, reservations))
  const status = statusEffects(rules, input, situation.network)
  effects.push(...status.effects)
  const listedMs = ledger.inventory?.askedAtMs ?? 0
  const period = made.unserved.length > 0 ? Math.min(rules.listMs, 2 * LIST_PAUSE_MS) : rules.listMs
  const releaseMs = ledger.wantsListMs > listedMs ? ledger.wantsListMs : Infinity
  const wantedMs = Math.max(listedMs + LIST_PAUSE_MS, Math.min(listedMs + period, draft.listMs ?? Infinity, releaseMs))
  const isDue = wantedMs <= nowMs
  const call = draft.call ?? (isDue ? listCall(pool, situation, Math.max(1000, wantedMs - listedMs)) : undefined)
  const failure = shortageOf('listAddresses', calls.of('listAddresses')?.failure)
  const claimed = ledger.size
  const isReady = shortage === undefined && failure === undefined
  const message = shortage?.message ?? failure?.message ?? `${claimed} in use`
  const againMs = Math.min(draft.againMs ?? Infinity, status.againMs ?? Infinity, isDue ? Infinity : wantedMs)
  return {
    outcome: isReady ? { kind: 'ready', claimed, message } : { kind: 'notReady', message },
    effects,
    call,
    concerns,
    ...(againMs < Infinity && { requeueAfterSeconds: Math.max(1, Math.ceil((againMs - nowMs) / 1000)) }),
  }
}

/**
 * The writes before anything else: the finalizer, then the uid of the markers, and the addresses
 * that another controller had listed.
 */
function begin<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  policy: ExternalPolicy,
  { value, isWritten }: { readonly value: Reservations; readonly isWritten: boolean },
): Planned | undefined {
  const { poolFinalizer } = rules.kind
  const { pool } = input
  const { adopt } = policy
  const outcome: ExternalPoolOutcome = { kind: 'notReady', message: 'preparing the pool' }
  if (!hasFinalizer(pool, poolFinalizer)) {
    return { outcome, effects: [addFinalizer(pool, poolFinalizer, 'keeps the pool until its addresses are released')] }
  }
  if (isWritten) return undefined
  const isFirst = value.uids.length === 1
  const listed = isFirst ? (adopt?.listed ?? []).map((address) => Address.format(address)) : []
  const preallocated = new Set(policy.preallocated.map((address) => Address.format(address)))
  const adopted = [...new Set(listed)].filter((address) => !preallocated.has(address))
  if (!fitsAnnotation(pool, adopted)) {
    // addresses that are adopted by their tag need no list
    if ((adopt?.tags ?? []).length > 0) return { outcome, effects: [reservationsPatch(pool, value)] }
    const message = `the status lists ${adopted.length} addresses, more than the pool can take over: have them adopted by their tag, or name them in the spec`
    return notReady(rules, input, invalid(message))
  }
  return { outcome, effects: [reservationsPatch(pool, adopted.length === 0 ? value : { ...value, adopted })] }
}

/**
 * The plan of a pool that can give nothing. The status and the waiting claims say so, except before
 * the first list.
 */
function notReady<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  shortage: Shortage | undefined,
  call?: PoolCall,
): Planned {
  const unserved = [...input.waiting()].map(({ claim }) => claim.metadata.name)
  const concerns = input.ledger.noteShortage(shortage, input.nowMs) ? unserved : []
  const message = shortage?.message ?? 'waiting for the first list of addresses from the cloud'
  const { effects } = shortage === undefined ? { effects: [] } : statusEffects(rules, input, undefined)
  return { outcome: { kind: 'notReady', message }, effects, call, concerns }
}

/** The reason that claims wait for after a failure of the cloud. */
function shortageOf(operation: string, failure: ExternalFailure | undefined): Shortage | undefined {
  if (failure === undefined) return undefined
  const { message, reason = 'PoolNotReady' } = failure
  return { kind: 'cloud', operation, reason, message }
}

function reservationsPatch(pool: KubeObject, reservations: Reservations) {
  const annotations = { [RESERVATIONS_ANNOTATION]: formatReservations(reservations) }
  return patchObject(pool, { metadata: { annotations } }, 'records reservations before addresses are given')
}

/** Everything that decides which addresses a pool may use, as a text. */
function policyKey(pool: KubeObject, { uids, adopted, created }: Reservations): string {
  const { [RESERVATIONS_ANNOTATION]: _, ...annotations } = pool.metadata.annotations ?? {}
  return JSON.stringify([pool.spec, annotations, uids, adopted, created])
}

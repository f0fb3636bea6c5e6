import * as Address from '../../cidr/nouns/address.js'
import { hasPausedAnnotation } from '../../crd/cluster-api/cluster.js'
import { hasFinalizer, isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { listed } from '../../errors/listed.js'
import { addFinalizer, type Effect, patchObject, removeFinalizer } from '../../plan/index.js'
import type * as Claims from '../claims/definition.js'
import type { CloudCalls } from './cloud.js'
import { type ExternalPoolOutcome, type ExternalRules, LIST_PAUSE_SECONDS } from './definition.js'
import { confirmedIds, fitsAnnotation, identityPatch, type PoolIdentity } from './identity.js'
import type { ExternalPolicy, Shortage } from './pool-kind.js'
import {
  aboutOf,
  type PlanInput as Input,
  invalid,
  type NotKnown,
  type PoolState,
  shortageOf,
  stateOf,
} from './state.js'
import { statusEffects } from './status.js'
import { DELETING, type Item, markerText, SPARE } from './view.js'

export type Planned = Claims.PoolPlan<ExternalPoolOutcome, CloudCalls>
type PoolCall = Claims.PoolCall<CloudCalls>

/**
 * Annotation of clusterctl: the object was moved to another cluster, and this copy is about to be
 * deleted.
 */
const MOVED_ANNOTATION = 'clusterctl.cluster.x-k8s.io/delete-for-move'

/** The plan of a pool: its identity, the next call to the cloud, and the status. */
export function planPool<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>): Planned {
  const { pool } = input
  const { poolFinalizer } = rules.kind
  if (hasPausedAnnotation(pool) || pool.metadata.annotations?.[MOVED_ANNOTATION] !== undefined) {
    return { outcome: { kind: 'paused', message: 'the pool is paused, or was moved to another cluster' }, effects: [] }
  }
  if (!hasFinalizer(pool, poolFinalizer)) {
    const message = 'the pool is being deleted and has no finalizer of this provider'
    if (isDeleting(pool)) return { outcome: { kind: 'ended', message }, effects: [] }
    return preparing(addFinalizer(pool, poolFinalizer, 'keeps the pool until its addresses are released'))
  }
  const state = stateOf(rules, input)
  const plan = state.isKnown
    ? { ...(isDeleting(pool) ? planEnd : planReady)(rules, input, state), shownMs: state.shownMs }
    : planUnknown(rules, input, state)
  return { ...plan, problems: rules.kind.policyOf(pool).problems }
}

/** The plan of a pool whose addresses are not known yet: what it needs first. */
function planUnknown<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>, state: NotKnown): Planned {
  const { pool, ledger, claims } = input
  const { shortage, needs } = state
  const read = rules.kind.policyOf(pool)
  if (needs === undefined || !read.ok) return notReady(rules, input, shortage)
  switch (needs.what) {
    case 'identity': {
      const adopted = needs.isNew ? adoptedBy(read.policy) : []
      const identity = { ...needs.identity, ...(adopted.length > 0 && { adopted }) }
      // addresses that are adopted by their tag need no list
      if (fitsAnnotation(pool, identity)) return preparing(writing(pool, identity))
      if ((read.policy.adopt?.tags ?? []).length > 0) return preparing(writing(pool, needs.identity))
      const message = `the status lists ${adopted.length} addresses, more than the pool can take over: have them adopted by their tag, or name them in the spec`
      return notReady(rules, input, invalid(message))
    }
    case 'network':
      // without a network nothing was created
      if (isDeleting(pool) && shortage !== undefined && ledger.size + claims === 0) return ended(rules, pool)
      return notReady(rules, input, shortage, networkCall(pool, read.policy))
    case 'list':
      return notReady(rules, input, shortage, listCall(input, read.policy, needs.identity, rules.listSeconds))
  }
}

function networkCall(pool: KubeObject, policy: ExternalPolicy): PoolCall {
  const input = { ...aboutOf(pool, policy), network: policy.network }
  return { operation: 'findNetwork', input, why: 'to find the network of the pool', effectSeconds: 0 }
}

function preparing(effect: Effect): Planned {
  return { outcome: { kind: 'notReady', message: 'preparing the pool' }, effects: [effect] }
}

/** The addresses that another controller of the pool has listed. */
function adoptedBy({ adopt, preallocated }: ExternalPolicy): readonly string[] {
  const named = new Set(preallocated.map((address) => Address.format(address)))
  const listed = new Set((adopt?.listed ?? []).map((address) => Address.format(address)))
  return [...listed].filter((text) => !named.has(text))
}

function writing(pool: KubeObject, identity: PoolIdentity): Effect {
  return patchObject(pool, identityPatch(identity), 'records how the addresses of the pool are found')
}

/**
 * The plan of a pool that can give nothing. The status and the waiting claims say so, except before
 * the first answer.
 */
function notReady<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  shortage: Shortage | undefined,
  call?: PoolCall,
): Planned {
  const message = shortage?.message ?? 'waiting for the first list of addresses from the cloud'
  const { effects } = shortage === undefined ? { effects: [] } : statusEffects(rules, input, undefined, shortage)
  return { outcome: { kind: 'notReady', message }, effects, call }
}

function planReady<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>, state: PoolState<P>): Planned {
  const { pool, ledger, calls } = input
  const { found, identity, policy, view } = state.facts
  if (found !== undefined && state.isMoving && state.isEmpty) {
    return preparing(writing(pool, { ...identity, network: found.id }))
  }
  const failure = shortageOf('listAddresses', calls.of('listAddresses')?.failure)
  const isWanting = state.unused(policy.minFree).length < policy.minFree
  // a refusal counts until the creation has been tried again, and stays known if it is read
  if (isWanting) calls.of('createAddress', state.spareId)
  const lack = state.shortage(isWanting || input.waiting > 0 ? undefined : state.marker(SPARE))
  const isReached = lack?.kind === 'max' && input.waiting <= state.unused(input.waiting).length
  const shortage = isReached ? failure : (lack ?? failure)
  const status = statusEffects(rules, input, state, shortage)
  const next = nextCall(rules, input, state, { steps: stepsOf(input, state), isWaiting: input.waiting > 0 })
  const claimed = ledger.size
  const message = shortage?.message ?? `${claimed} in use`
  return {
    outcome: shortage === undefined ? { kind: 'ready', claimed, message } : { kind: 'notReady', message },
    effects: status.effects,
    call: next.call,
    // their conditions say that the cloud does not have their addresses
    wakes: view.missing.flatMap((text) => ledger.claimsOf(text)),
    ...requeue(Math.min(next.againMs, status.againMs ?? Number.POSITIVE_INFINITY), input),
  }
}

/** The calls that change something, in order. */
function* stepsOf<P extends KubeObject>(input: Input<P>, state: PoolState<P>): Iterable<PoolCall> {
  const { policy, identity, found } = state.facts
  if (found === undefined) yield networkCall(input.pool, policy)
  if (!state.isFenced) return
  for (const item of state.idle('named')) {
    if (item.part === DELETING) yield marking(input, state, item, SPARE, 'it is named, and is not deleted any more')
  }
  for (const item of state.idle('deleting')) if (state.isDeletable(item)) yield deletion(input, state, item)
  if (policy.reclaim === 'Delete') {
    const wanted = state.isMoving ? 0 : policy.minFree + input.waiting
    let kept = wanted - state.unused(wanted).filter(({ kind }) => kind === 'named').length
    for (const item of state.idle('spare')) {
      if (state.isInUse(item) || state.isAwaited(item)) continue
      if (kept-- <= 0) yield marking(input, state, item, DELETING, 'no claim needs it')
    }
  }
  const isOurs = ourMarkers(input, state)
  for (const item of state.idle('inherited')) {
    if (isOurs(item)) yield marking(input, state, item, SPARE, 'the operator has confirmed that the pool was moved')
  }
  const marker = state.marker(SPARE)
  if (policy.minFree === 0 || state.shortage(marker) !== undefined || state.openCreation(marker) !== undefined) return
  if (state.unused(policy.minFree).length >= policy.minFree) return
  const asked = { ...aboutOf(input.pool, policy), network: identity.network, marker }
  const why = 'the pool keeps addresses in advance'
  yield { operation: 'createAddress', id: state.spareId, input: asked, why }
}

/** Tells the markers of the pool, and of its earlier ids that the operator has confirmed. */
function ourMarkers<P extends KubeObject>({ pool }: Input<P>, { facts }: PoolState<P>): (item: Item) => boolean {
  const markers = [facts.id, ...confirmedIds(pool, facts.identity)].map((id) => markerText(id, ''))
  return ({ object: { marker } }) => markers.some((each) => marker.startsWith(each))
}

function marking<P extends KubeObject>(
  { pool }: Input<P>,
  state: PoolState<P>,
  item: Item,
  part: string,
  why: string,
): PoolCall {
  const { id } = item.object
  const marker = part === '' ? '' : state.marker(part)
  const input = { ...aboutOf(pool, state.facts.policy), seen: seenOf(item), marker }
  return { operation: 'markAddress', id: `${id}:${part}`, input, why }
}

function deletion<P extends KubeObject>({ pool }: Input<P>, state: PoolState<P>, item: Item): PoolCall {
  const { id } = item.object
  const input = { ...aboutOf(pool, state.facts.policy), seen: seenOf(item), address: item.text }
  const why = 'no claim needs it, and its marker says so'
  return { operation: 'deleteAddress', id, input, why }
}

function seenOf({ object: { id, marker, revision = '' } }: Item) {
  return { id, marker, revision }
}

/**
 * The first call that is due: a list, if one is, else the first step that does not wait after a
 * failure.
 */
function nextCall<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  state: PoolState<P>,
  { steps, isWaiting }: { readonly steps: Iterable<PoolCall>; readonly isWaiting: boolean },
): { readonly call?: PoolCall; readonly againMs: number } {
  const { nowMs, calls } = input
  const { askedAtMs } = state.facts.view
  const seconds = isWaiting ? Math.min(rules.listSeconds, 2 * LIST_PAUSE_SECONDS) : rules.listSeconds
  const dueMs = Math.max(askedAtMs + LIST_PAUSE_SECONDS * 1000, Math.min(askedAtMs + seconds * 1000, state.wantsListMs))
  if (dueMs <= nowMs) {
    const { policy, identity } = state.facts
    return {
      call: listCall(input, policy, identity, Math.max(1, Math.floor((dueMs - askedAtMs) / 1000))),
      againMs: Number.POSITIVE_INFINITY,
    }
  }
  const { pause } = state
  if (pause !== undefined) return { againMs: Math.min(dueMs, nowMs + pause.seconds * 1000) }
  let againMs = dueMs
  for (const call of steps) {
    const known = calls.of(call.operation, call.id)
    const waits = known?.failure === undefined ? 0 : (known.retryAfterSeconds ?? Number.POSITIVE_INFINITY)
    if (waits === 0) return { call: { effectSeconds: rules.callSeconds, ...call }, againMs }
    againMs = Math.min(againMs, nowMs + waits * 1000)
  }
  return { againMs }
}

function listCall<P extends KubeObject>(
  { pool, ledger }: Input<P>,
  policy: ExternalPolicy,
  { ids, network = '' }: PoolIdentity,
  maxAgeSeconds: number,
): PoolCall {
  const asked = {
    ...{ ...aboutOf(pool, policy), network, markers: ids.map((id) => markerText(id, '')) },
    // an address of an IPAddress may have lost its marker, and is named no more
    ...{ tags: policy.adopt?.tags ?? [], addresses: [...new Set([...ledger.named.keys(), ...ledger.used()])] },
  }
  return {
    ...{ operation: 'listAddresses', input: asked, effectSeconds: 0 },
    ...{ why: 'to find the addresses of the pool', maxAgeSeconds },
  }
}

function requeue<P extends KubeObject>(againMs: number, { nowMs }: Input<P>) {
  return againMs < Number.POSITIVE_INFINITY
    ? { requeueAfterSeconds: Math.max(1, Math.ceil((againMs - nowMs) / 1000)) }
    : {}
}

/**
 * The end of a pool that no IPAddress and no claim uses. With `Delete` the addresses that it has
 * created are deleted, with `Retain` their markers are removed. An address that cannot be deleted
 * holds the pool, but no other address. Inherited ones stay as they are.
 */
function planEnd<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>, state: PoolState<P>): Planned {
  const { pool, ledger, claims } = input
  const isUsed = ledger.size + claims > 0
  const steps = isUsed || !state.isFenced ? [] : endOf(input, state)
  const isDone = !isUsed && state.isSettled && steps.length === 0
  const left = isDone ? [...state.idle('spare'), ...state.idle('deleting')] : []
  const inUse = left.filter((item) => state.isInUse(item))
  if (isDone && left.length === 0) {
    return ended(rules, pool)
  }
  const next = nextCall(rules, input, state, { steps, isWaiting: inUse.length > 0 })
  const texts = listed(inUse, ', ', ({ text }) => text)
  const waits =
    inUse.length > 0
      ? `waits for addresses that are in use: ${texts}`
      : `${steps.length + left.length} addresses to release`
  const message = isUsed ? `kept for ${ledger.size} addresses and ${claims} claims` : waits
  const { effects } = statusEffects(
    rules,
    input,
    state,
    invalid(`the pool is being deleted${inUse.length > 0 ? `, and ${waits}` : ''}`),
  )
  return {
    outcome: { kind: 'ending', message },
    effects,
    call: next.call,
    ...requeue(Math.min(next.againMs, input.nowMs + 2000 * LIST_PAUSE_SECONDS), input),
  }
}

function ended<P extends KubeObject>({ kind: { poolFinalizer } }: ExternalRules<P>, pool: P): Planned {
  const removal = removeFinalizer(pool, poolFinalizer, 'none of its addresses is in use')
  return { outcome: { kind: 'ended', message: 'all addresses are released' }, effects: [removal] }
}

/** The calls that are left until a pool has nothing in the cloud any more. */
function endOf<P extends KubeObject>(input: Input<P>, state: PoolState<P>): readonly PoolCall[] {
  const isDelete = state.facts.policy.reclaim === 'Delete'
  const isOurs = ourMarkers(input, state)
  const steps: PoolCall[] = []
  for (const { text } of state.facts.view.items) {
    const item = state.item(text)
    if (item?.isMarked !== true || !isOurs(item)) continue
    if (!isDelete || item.kind === 'named')
      steps.push(marking(input, state, item, '', 'the pool is being deleted, and the address stays'))
    else if (item.kind === 'deleting' && state.isDeletable(item)) steps.push(deletion(input, state, item))
    else if (item.kind !== 'deleting' && !state.isInUse(item))
      steps.push(marking(input, state, item, DELETING, 'the pool is being deleted'))
  }
  return steps
}

import * as Address from '../../cidr/nouns/address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type * as Claims from '../claims/definition.js'
import { readCreated } from './answer.js'
import { type CloudCalls, markerText } from './cloud.js'
import type { ExternalRules } from './definition.js'
import type { ExternalLedger } from './ledger.js'
import type { ExternalPolicy } from './pool-kind.js'
import { type Reservation, reservationsOf } from './reservations.js'
import { about } from './situation.js'
import { unknownSince } from './unknown.js'

type Input<P extends KubeObject> = Claims.EnsureInput<P, ExternalLedger<P>, ExternalPolicy, CloudCalls>
type Ensured = Claims.Ensured<CloudCalls>
type Released = Claims.Released<CloudCalls>

/** The address that the pool has reserved for a claim, or the call that creates it. */
export function ensure<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>): Ensured {
  const { claim, pool, ledger } = input
  const reserved = reservationsOf(pool)
  const entry = reserved.ok ? reserved.value.entries.find(({ uid }) => uid === claim.metadata.uid) : undefined
  if (entry === undefined) {
    const { shortage } = ledger
    if (shortage === undefined) return { kind: 'reserve', message: 'waits for a reservation' }
    const { reason, message } = shortage
    return { kind: 'wait', reason, message }
  }
  const { network, inventory } = ledger
  // after a start the pool first lists its addresses
  if (network === undefined || inventory === undefined) return { kind: 'reserve', message: 'waits for its pool' }
  if (entry.address === undefined) return create(rules, input, entry, network)
  if (entry.isNew !== true) {
    // the entry may have been edited, or the address deleted
    if (!ledger.isUsable(entry.address)) return { kind: 'reserve', message: `waits for ${entry.address}` }
    return offer(input, entry.address, 'it is reserved, and was free')
  }
  return confirmNew(rules, input, entry, network)
}

/** The call that creates an address for an entry, or its result. */
function create<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  entry: Reservation,
  network: string,
): Ensured {
  const { ledger, results, nowMs } = input
  // an own answer is read as one in each plan, also when the ledger has learned of it
  const isAnswered = entry.by === ledger.identity && input.callOf('createAddress')?.answer?.ok === true
  const found = isAnswered ? undefined : ledger.inventory?.markedFor(entry.uid)
  if (found !== undefined && ledger.isUsable(found) && !ledger.isOfOthers(found, input.claim.metadata))
    return offer(input, found, 'it was created for the claim')
  if (results.createAddress !== undefined) {
    const created = readCreated(results.createAddress, network)
    if (!created.ok) return wait('AllocationFailed', created.problem)
    const isOther = ledger.isReserved(created.address, entry.uid)
    if (isOther) return wait('AllocationFailed', `the cloud has given ${created.address}, which another claim has`)
    if (rules.facts.marker !== 'atomic') return { kind: 'reserve', message: `${created.address} is noted` }
    // the address can be released before a list shows it
    ledger.answered(created.address, created.object, nowMs)
    return offer(input, created.address, 'it was created for the claim')
  }
  return creation(rules, input, entry, { network, address: null })
}

/** Confirms an address of the pool: it was chosen, answered, or found in a list. */
function confirmNew<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  entry: Reservation,
  network: string,
): Ensured {
  const { ledger, results, nowMs } = input
  const { marker: mode } = rules.facts
  const { address = '', uid } = entry
  const call = input.callOf('createAddress')
  const result = call?.answer
  const object = (result?.ok === true ? result.value : undefined) ?? ledger.inventory?.get(address)
  if (object === undefined) {
    if (rules.facts.choosesAddress) return creation(rules, input, entry, { network, address })
    return { kind: 'reserve', message: `waits for a list that shows ${address}` }
  }
  const marker = markerText(input.pool.metadata.uid ?? '', uid)
  const isMarked = object.marker === marker && input.callOf('markAddress')?.answer?.ok !== true
  if (mode === 'after' && !isMarked && results.markAddress === undefined) {
    const marked = { ...about(input.pool, input.offer), id: object.id, marker }
    return { kind: 'call', operation: 'markAddress', input: marked, why: 'sets the marker of the claim' }
  }
  // the address can be released before a list shows it
  if (mode === 'after' && !isMarked) ledger.answered(address, { ...object, marker }, nowMs)
  else if ((call?.answeredAtMs ?? 0) >= (ledger.inventory?.askedAtMs ?? 0)) ledger.answered(address, object, nowMs)
  return offer(input, address, 'it was created for the claim')
}

/**
 * The call that creates an address, if this process has to make it, and no earlier call may still
 * be in flight.
 */
function creation<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  entry: Reservation,
  wanted: { readonly network: string; readonly address: string | null },
): Ensured {
  const { pool, offer: policy, ledger, nowMs } = input
  if (entry.by !== ledger.identity) return { kind: 'reserve', message: 'another process has begun' }
  if (ledger.quarantined.length > 0) {
    const message = `it is not known which of these addresses was created for the claim: ${ledger.quarantined.join(', ')}`
    return { kind: 'wait', reason: 'AllocationFailed', message }
  }
  const call = input.callOf('createAddress')
  const sinceMs = unknownSince(entry, call, ledger.identity)
  if (sinceMs !== undefined) {
    return unsettled(rules, input, sinceMs, call?.answer?.ok === false ? call.answer.failure.message : undefined)
  }
  if (call?.answer?.ok !== true && nowMs > entry.atMs + rules.callMs)
    return { kind: 'reserve', message: 'its reservation is renewed' }
  const marker = markerText(pool.metadata.uid ?? '', entry.uid)
  const asked = { ...about(pool, policy), ...wanted, marker }
  return { kind: 'call', operation: 'createAddress', input: asked, why: 'no address of the pool is free' }
}

function offer<P extends KubeObject>({ offer: policy, ledger, claim }: Input<P>, text: string, why: string): Ensured {
  if (ledger.isOfOthers(text, claim.metadata)) {
    return wait('AllocationFailed', `the cloud has given ${text}, which another IPAddress has`)
  }
  const address = Address.parse(text)
  const prefix = policy.prefix ?? Address.bitsOf(address.family)
  return { kind: 'address', address, prefix, gateway: policy.gateway, why }
}

/**
 * Waits until a list shows the effect of a call. The claim is planned again with that list, or
 * after a time at the latest.
 */
function unsettled<P extends KubeObject>(
  { settleMs }: ExternalRules<P>,
  { nowMs }: Input<P>,
  sinceMs: number,
  message = 'another process has begun',
): Ensured {
  const leftSeconds = Math.ceil((sinceMs + settleMs - nowMs) / 1000)
  return {
    kind: 'wait',
    reason: 'AllocationFailed',
    message: `it is not known yet whether an address was created: ${message}`,
    retryAfterSeconds: Math.max(0, leftSeconds) + 30,
  }
}

function wait(reason: Claims.WaitReason, message: string): Ensured {
  return { kind: 'wait', reason, message }
}

/**
 * The release of an address that its claim does not need any more: an address that the pool has
 * created is deleted, unless the pool retains it.
 */
export function release<P extends KubeObject>(
  rules: ExternalRules<P>,
  { pool, address, ledger, results, claim, nowMs }: Claims.ReleaseInput<P, ExternalLedger<P>, CloudCalls>,
): Released {
  if (pool === undefined || address === undefined || results.deleteAddress !== undefined) return { kind: 'done' }
  const read = rules.kind.policyOf(pool)
  if (!read.ok || read.policy.reclaim === 'Retain') return { kind: 'done' }
  const { inventory, network } = ledger
  if (inventory === undefined || network === undefined) return { kind: 'wait', remainingSeconds: 1 }
  const text = ledger.textOf(address)
  const object = text === undefined ? undefined : inventory.get(text)
  if (text === undefined || object === undefined) {
    const createdMs = Date.parse(address.metadata.creationTimestamp ?? '')
    const isListed = !(createdMs + 1000 + rules.lagMs >= inventory.askedAtMs)
    if (isListed) return { kind: 'done' }
    return wantsList(ledger, nowMs)
  }
  if (!ledger.isCreated(text) || ledger.isOfOthers(text, claim.metadata)) return { kind: 'done' }
  if (object.isAttached) return wantsList(ledger, nowMs)
  const input = { ...about(pool, read.policy), id: object.id, address: text }
  return { kind: 'call', operation: 'deleteAddress', input, why: 'its claim no longer needs it' }
}

/** Waits for the next list. */
function wantsList<P extends KubeObject>(ledger: ExternalLedger<P>, nowMs: number): Released {
  ledger.wantsListMs = Math.max(ledger.wantsListMs, nowMs)
  return { kind: 'wait', remainingSeconds: 15 }
}

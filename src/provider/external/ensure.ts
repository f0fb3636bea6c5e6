import * as Address from '../../cidr/nouns/address.js'
import { findCondition, stateOf as stateOfClaim } from '../../claim/index.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type * as Claims from '../claims/definition.js'
import type { CloudCalls } from './cloud.js'
import type { ExternalRules } from './definition.js'
import { canonical, type ExternalLedger } from './ledger.js'
import type { ExternalPolicy, Shortage } from './pool-kind.js'
import { aboutOf, invalid, type PoolState, stateOf } from './state.js'

type EnsureInput<P extends KubeObject> = Claims.EnsureInput<P, ExternalLedger<P>, ExternalPolicy, CloudCalls>
type Ensured = Claims.Ensured<CloudCalls>

/** An address that the pool has, or the call that creates one. */
export function ensure<P extends KubeObject>(rules: ExternalRules<P>, input: EnsureInput<P>): Ensured {
  const { claim } = input
  const { uid = '' } = claim.metadata
  const state = stateOf(rules, input)
  if (!state.isKnown) return state.shortage === undefined ? waitAsBefore(claim, LISTING) : wait(state.shortage)
  const marker = state.marker(uid)
  const created = state.createdFor(marker)
  if (created !== undefined) return offer(input, created, 'it was created for the claim')
  const found = state.addressFor(uid)
  if (found !== undefined) return offer(input, found, 'the pool has it, and it is free')
  if (!state.isFenced) return waitAsBefore(claim, STARTING)
  const open = state.openCreation(marker)
  if (open !== undefined) {
    const message = `it is not known yet whether an address was created: ${open.failure?.message ?? 'the call has no answer'}`
    return wait({ kind: 'cloud', reason: 'AllocationFailed', message }, AGAIN_SECONDS)
  }
  // a list shows the last creation by now, and the pool drops its result
  if (input.results.createAddress !== undefined) return wait(LISTING, 1)
  const shortage = state.shortage(marker)
  return shortage === undefined
    ? creation(rules, input, state, marker)
    : wait(shortage, shortage.kind === 'max' ? undefined : AGAIN_SECONDS)
}

/**
 * After how many seconds a claim is planned again that waits for a list, or for other creations.
 */
const AGAIN_SECONDS = 30
const LISTING: Shortage = {
  kind: 'invalid',
  reason: 'PoolNotReady',
  message: 'waiting for a list of addresses from the cloud: see the status of the pool',
}
const STARTING: Shortage = {
  kind: 'invalid',
  reason: 'PoolNotReady',
  message: 'waiting for a list that shows all calls of the process before this one',
}

/** The call that creates an address. */
function creation<P extends KubeObject>(
  { callSeconds }: ExternalRules<P>,
  { pool }: EnsureInput<P>,
  { facts }: PoolState<P>,
  marker: string,
): Ensured {
  const input = { ...aboutOf(pool, facts.policy), network: facts.identity.network, marker }
  return {
    kind: 'call',
    operation: 'createAddress',
    input,
    effectSeconds: callSeconds,
    why: 'no address of the pool is free',
  }
}

function offer<P extends KubeObject>(
  { offer: policy, ledger, claim, otherPoolAt }: EnsureInput<P>,
  text: string,
  why: string,
): Ensured {
  const { namespace, name } = claim.metadata
  const others = ledger.othersHolding({ metadata: { namespace, name }, spec: { address: text } })
  if (others.length > 0 || otherPoolAt(text) === 'holds') {
    // a list shows it, and then another one is created
    return wait(invalid(`the cloud has given ${text}, which another IPAddress has`), AGAIN_SECONDS)
  }
  const address = Address.parse(text)
  const prefix = policy.prefix ?? Address.bitsOf(address.family)
  return { kind: 'address', address, prefix, gateway: policy.gateway, why }
}

/**
 * Whether an IPAddress may stay, as far as the cloud is concerned: it gives back an address that
 * the cloud does not have. A claim that is Bound keeps it, and says so.
 */
export function confirm<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Claims.ConfirmInput<P, ExternalLedger<P>, CloudCalls>,
): Claims.Confirmed<CloudCalls> {
  const state = stateOf(rules, input)
  const text = canonical(input.address.spec.address)
  if (!state.isKnown || text === undefined || !state.isMissing(text)) return { kind: 'yes' }
  return { kind: 'stale', message: `the cloud does not have the address ${text} in the network of the pool` }
}

/** A claim that has said what it waits for says it until the pool knows more. */
function waitAsBefore({ status }: IPAddressClaim, shortage: Shortage): Ensured {
  const before = stateOfClaim({ status })
  if (before.phase !== 'Error') return wait(shortage)
  const { message = '' } = findCondition(status?.conditions, 'Ready') ?? {}
  return wait({ ...shortage, reason: before.reason, message })
}

function wait({ reason, message }: Shortage, retryAfterSeconds?: number): Ensured {
  return { kind: 'wait', reason, message, retryAfterSeconds }
}

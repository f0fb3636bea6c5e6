// A provider whose pools have addresses of their own in the IPAM product: some were there before,
// some the pool has created.
import { Address } from 'ipam-kit/cidr'
import { isDeleting, type Json } from 'ipam-kit/crd/meta'
import { patchStatus } from 'ipam-kit/plan'
import {
  AddressLedger,
  defineProvider,
  type PoolCall,
  type PoolPlan,
  type PoolPlanInput,
  protectPool,
} from 'ipam-kit/provider/claims'
import { FloatingPool } from './pool.js'

type Outcome = { readonly kind: string; readonly message: string }

/** An address of a pool is looked at again after this long: it may have been removed by hand. */
const MAX_AGE_SECONDS = 300

export const floating = () =>
  defineProvider<FloatingPool, AddressLedger<FloatingPool>, readonly Address[], Outcome>({
    name: 'floating',
    pools: [FloatingPool],
    // no claim has anything of its own in the external system: what its pool has there is found by
    // the pool
    external: { marker: 'kept', orphans: 'swept' },
    ledger: () => new AddressLedger<FloatingPool>(),

    resolve({ pool, poolCalls }) {
      const known = callsFor(pool).flatMap((call) => addressIn(poolCalls.of(call.operation, call.id)) ?? [])
      return { kind: 'ready', offer: known }
    },

    ensure({ claim, pool, ledger, offer }) {
      const isFree = (address: Address) =>
        ledger.othersHolding({ metadata: claim.metadata, spec: { address: Address.format(address) } }).length === 0
      const address = offer.find(isFree)
      const { network, prefix, gateway } = pool.spec
      if (address !== undefined)
        return { kind: 'address', address, prefix, gateway, why: 'it is of the pool, and free' }
      return { kind: 'wait', reason: 'PoolExhausted', message: `no free address of the pool in ${network}` }
    },

    planPool: (input) => (isDeleting(input.pool) ? planEnd(input) : planCalls(input)),
  })

type Input = PoolPlanInput<FloatingPool, AddressLedger<FloatingPool>>

/**
 * What the pool asks for: each address is adopted or created, and asked for again from time to
 * time.
 */
function callsFor({ metadata, spec: { network, existing = [], create = 0 } }: FloatingPool): readonly PoolCall[] {
  const name = `${metadata.namespace}.${metadata.name}`
  const maxAgeSeconds = MAX_AGE_SECONDS
  const adopted = existing.map((address) => {
    const why = 'the pool may use it'
    return { operation: 'adopt', id: address, input: { network, name, address }, why, maxAgeSeconds }
  })
  const created = Array.from({ length: create }, (_, id) => {
    return { operation: 'create', id: `${id}`, input: { network, name }, why: 'the pool is to have it', maxAgeSeconds }
  })
  return [...adopted, ...created]
}

function planCalls({ pool, ledger, calls, nowMs }: Input): PoolPlan<Outcome> {
  const plan = protectPool({ pool, addresses: ledger.size, claims: 0 })
  const call = firstDue(callsFor(pool), calls, nowMs)
  if (call === undefined) return plan
  // what a call is for is written before it: after a crash the pool knows what it may have
  const { adopted = [], created = 0 } = pool.status ?? {}
  const isAdopted = call.operation === 'adopt'
  const id = call.id ?? ''
  const isNoted = isAdopted ? adopted.includes(id) : Number(id) < created
  const status = isAdopted ? { adopted: [...adopted, id] } : { created: Number(id) + 1 }
  // the finalizer first: a status alone keeps no pool
  if (plan.effects.length > 0) return plan
  const note = isNoted ? [] : [patchStatus(pool, { status }, 'it is written before it is asked for')]
  return { ...plan, effects: note, call }
}

/**
 * When nothing of the pool is in use any more, what it has created is deleted, and what was there
 * before is left.
 */
function planEnd({ pool, ledger, claims, calls, nowMs }: Input): PoolPlan<Outcome> {
  const plan = protectPool({ pool, addresses: ledger.size, claims })
  if (plan.outcome.kind === 'protected') return plan
  const { adopted = [], created = 0 } = pool.status ?? {}
  const why = 'the pool is being deleted'
  const all: PoolCall[] = [
    ...adopted.map((id) => ({ operation: 'unmark', id, input: {}, why })),
    ...Array.from({ length: created }, (_, id) => ({ operation: 'release', id: `${id}`, input: {}, why })),
  ]
  const left = all.filter(({ operation, id }) => calls.of(operation, id)?.value === undefined)
  const call = firstDue(left, calls, nowMs)
  if (call === undefined) return plan
  return { outcome: { kind: 'ending', message: `${left.length} addresses to give back` }, effects: [], call }
}

/**
 * The call whose time comes first: one that was never made, one that has failed, or the one with
 * the oldest result. One that fails holds up no other.
 */
function firstDue(wanted: readonly PoolCall[], calls: Input['calls'], nowMs: number): PoolCall | undefined {
  let first: { readonly call: PoolCall; readonly dueMs: number } | undefined
  for (const call of wanted) {
    const dueMs = dueAt(calls.of(call.operation, call.id), nowMs)
    if (first === undefined || dueMs < first.dueMs) first = { call, dueMs }
  }
  return first?.call
}

function dueAt(result: ReturnType<Input['calls']['of']>, nowMs: number): number {
  if (result === undefined) return 0
  if (result.failure !== undefined) return nowMs + (result.retryAfterSeconds ?? Number.POSITIVE_INFINITY) * 1000
  return (result.askedAtMs ?? 0) + MAX_AGE_SECONDS * 1000
}

/**
 * The address of a call that went well, unless the last one has failed: the record may be gone, or
 * of another owner.
 */
function addressIn(result: ReturnType<Input['calls']['of']>): Address | undefined {
  if (result?.value === undefined || result.failure !== undefined) return undefined
  const { address } = result.value as { readonly [key: string]: Json }
  const read = Address.safeParse(typeof address === 'string' ? address : '')
  return read.ok ? read.value : undefined
}

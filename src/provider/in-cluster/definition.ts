import * as Address from '../../cidr/nouns/address.js'
import { type InClusterPool, poolModels } from '../../crd/in-cluster/pools.js'
import { formatRef, isDeleting, refOf } from '../../crd/meta/object.js'
import type { Ensured, EnsureInput, ProviderDefinition, Released, ReleaseInput } from '../claims/definition.js'
import { rulesOf } from '../claims/rules.js'
import { PoolLedger } from './ledger.js'
import type { PoolOutcome } from './outcome.js'
import { planPool } from './pool.js'

/** What the in-cluster provider is, apart from the life of a claim. */
export const definition: ProviderDefinition<InClusterPool, PoolLedger, undefined, PoolOutcome> = {
  name: 'in-cluster',
  pools: poolModels,
  ledger: () => new PoolLedger(),
  // why the spec of a pool can not be used is in its ledger
  resolve: () => ({ kind: 'ready', offer: undefined }),
  ensure: lowestFree,
  release: afterGrace,
  planPool,
}

/** The definition with its defaults. */
export const rules = rulesOf(definition)

/** The lowest free address of the pool. O(log n) in addresses in use. */
function lowestFree({ pool, ledger }: EnsureInput<InClusterPool, PoolLedger, undefined>): Ensured {
  const offer = ledger.next()
  const name = formatRef(refOf(pool))
  if (offer === undefined) {
    return { kind: 'wait', reason: 'PoolExhausted', message: `no address available in ${name}` }
  }
  const { address, prefix, gateway } = offer
  return {
    kind: 'address',
    address,
    prefix,
    gateway,
    why: `${Address.format(address)} is the lowest that is free in ${name}`,
  }
}

/** The address of a deleted claim stays in use for the grace period of its pool. Not at all if it has none, or the pool is gone or going. */
function afterGrace({ claim, pool, address, isLeftOver, nowMs }: ReleaseInput<InClusterPool, PoolLedger>): Released {
  if (isLeftOver || address === undefined || pool === undefined || isDeleting(pool)) return { kind: 'done' }
  const graceSeconds = pool.spec.addressReuseGracePeriodSeconds ?? 0
  if (graceSeconds <= 0) return { kind: 'done' }
  const deletedMs = Date.parse(claim.metadata.deletionTimestamp as string)
  const remainingSeconds = Number.isNaN(deletedMs)
    ? graceSeconds
    : Math.ceil((deletedMs + graceSeconds * 1000 - nowMs) / 1000)
  return remainingSeconds > 0 ? { kind: 'wait', remainingSeconds } : { kind: 'done' }
}

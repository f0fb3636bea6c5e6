import type { Random } from '../../allocator/index.js'
import { drawn, hashText, STEP } from '../../allocator/util/hashing.js'
import { type InClusterPool, poolModels } from '../../crd/in-cluster/pools.js'
import { formatRef, isDeleting, refOf } from '../../crd/meta/object.js'
import type { Ensured, EnsureInput, ProviderDefinition, Released, ReleaseInput } from '../claims/definition.js'
import { rulesOf } from '../claims/rules.js'
import { choose, type Preferences } from './choice.js'
import { PoolLedger } from './ledger.js'
import type { InClusterMemory } from './memory.js'
import { type InClusterOptions, PREALLOCATIONS_ANNOTATION, REQUESTED_ADDRESS_ANNOTATION } from './options.js'
import type { PoolOutcome } from './outcome.js'
import { planPool } from './pool.js'
import { preallocationsOf } from './preallocations.js'

type Definition = ProviderDefinition<InClusterPool, PoolLedger, undefined, PoolOutcome>

/** The definition of the in-cluster provider, without the life of a claim. */
export function definitionOf(options: InClusterOptions, memory?: InClusterMemory): Definition {
  const {
    poolConditions = false,
    preallocations,
    overlaps = 'ignore',
    sticky,
    sweepAfterSeconds,
    holdsAddress,
  } = options
  const annotation = preallocations?.annotation ?? PREALLOCATIONS_ANNOTATION
  return {
    name: 'in-cluster',
    pools: poolModels,
    poolAnnotations: preallocations === undefined ? [] : [annotation],
    overlaps: overlaps === 'ignore' ? undefined : overlaps,
    memory: sticky === undefined ? undefined : memory,
    sweepAfterSeconds,
    holdsAddress,
    ledger: (holdings) =>
      new PoolLedger(holdings, preallocations && ((pool) => preallocationsOf(pool, preallocations))),
    // the ledger of a pool says why its spec cannot be used
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure: (input) => ensure(input, preferencesOf(input, options, memory)),
    release: afterGrace,
    planPool: ({ pool, ledger, overlapping, isUnchanged, nowMs }) =>
      planPool({
        pool,
        ledger,
        overlapping: overlaps === 'ignore' ? undefined : overlapping(),
        // a CRD without the field drops conditions
        ...(poolConditions && !(isUnchanged && pool.status?.conditions === undefined) && { conditionsAt: { nowMs } }),
      }),
  }
}

/** The definition with the defaults of all options. */
export const rules = /* @__PURE__ */ rulesOf(/* @__PURE__ */ definitionOf({}))

function preferencesOf(
  { claim, pool, ledger, former }: EnsureInput<InClusterPool, PoolLedger, undefined>,
  { requestedAddress, random }: InClusterOptions,
  memory: InClusterMemory | undefined,
): Preferences {
  const requested = requestedAddress && (requestedAddress.annotation ?? REQUESTED_ADDRESS_ANNOTATION)
  const places = [former, memory?.formerOf(claim, refOf(pool))]
  return {
    preallocated: ledger.keptFor(claimName(claim)),
    requested: requested === undefined ? undefined : claim.metadata.annotations?.[requested],
    former: places.filter((place) => place !== undefined),
    random: random && drawsOf(`${random.seed} ${claim.metadata.uid}`),
  }
}

/** Random numbers that follow from a text. */
function drawsOf(text: string): Random {
  let state = hashText(text)
  return () => {
    state = (state + STEP) | 0
    return drawn(state)
  }
}

/** The required address, a former one, or the next free one. O(log n) in addresses in use. */
function ensure(
  { claim, pool, ledger }: EnsureInput<InClusterPool, PoolLedger, undefined>,
  preferences: Preferences,
): Ensured {
  const name = formatRef(refOf(pool))
  const choice = choose(ledger, { claim: claimName(claim), pool: name, preferences })
  switch (choice.kind) {
    case 'exhausted':
      return { kind: 'wait', reason: 'PoolExhausted', message: `no address available in ${name}` }
    case 'refused':
      return { kind: 'wait', reason: 'AllocationFailed', message: choice.message }
    case 'offer':
      return { kind: 'address', ...choice.offer, why: choice.why }
  }
}

/** `namespace/name`. */
export function claimName({ metadata }: EnsureInput<InClusterPool, PoolLedger, undefined>['claim']): string {
  return `${metadata.namespace}/${metadata.name}`
}

/**
 * The address of a deleted claim stays in use for the grace period of its pool. Not if the claim
 * has none, or if the pool does not exist or is being deleted.
 */
export function afterGrace({
  claim,
  pool,
  address,
  isStale,
  nowMs,
}: ReleaseInput<InClusterPool, PoolLedger>): Extract<Released, { readonly kind: 'done' | 'wait' }> {
  if (isStale || address === undefined || pool === undefined || isDeleting(pool)) return { kind: 'done' }
  const graceSeconds = pool.spec.addressReuseGracePeriodSeconds ?? 0
  if (graceSeconds <= 0) return { kind: 'done' }
  const deletedMs = Date.parse(claim.metadata.deletionTimestamp as string)
  const remainingSeconds = Number.isNaN(deletedMs)
    ? graceSeconds
    : Math.ceil((deletedMs + graceSeconds * 1000 - nowMs) / 1000)
  return remainingSeconds > 0 ? { kind: 'wait', remainingSeconds } : { kind: 'done' }
}

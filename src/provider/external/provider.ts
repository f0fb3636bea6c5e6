import type { KubeObject } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { AnyResult } from '../../plan/planner.js'
import type { SchemasOf } from '../claims/call-schemas.js'
import { defineProvider, type Provider } from '../claims/index.js'
import { checkedResult } from './answer.js'
import { type CloudCalls, MAX_CALL_SECONDS } from './cloud.js'
import {
  type ExternalPoolOutcome,
  type ExternalPoolsDefinition,
  type ExternalRules,
  LIST_PAUSE_MS,
} from './definition.js'
import { ensure, release } from './ensure.js'
import { ExternalLedger } from './ledger.js'
import { planPool } from './plan-pool.js'
import type { ExternalPolicy, ExternalPoolKind } from './pool-kind.js'
import { PoolsByAddress } from './pools-by-address.js'
import { reservationsOf } from './reservations.js'

/**
 * A provider of Cluster API whose addresses are in a cloud. A pool gives its preallocated addresses
 * first, then free ones that it has, and then creates new ones up to its limit.
 *
 * Every address is reserved in an annotation of the pool before it is given to a claim or created.
 * So several processes may work at the same time, and a crash at any point loses nothing.
 * {@link CloudFacts.marker} says what the cloud has to do for that.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function externalPools<P extends KubeObject>(
  definition: ExternalPoolsDefinition<P>,
): Provider<P, ExternalLedger<P>, ExternalPoolOutcome> {
  check('externalPools', 'definition', definition, [
    'open',
    { kind: ['open', { model: ['open', { info: ['open', { kind: 'text', apiVersion: 'text' }] }] }], facts: 'object' },
  ])

  const rules = rulesOf(definition)
  const { kind, facts, callMs, lagMs } = rules
  let ledgers = 0
  const neighbours = new PoolsByAddress<P>()
  const provider = defineProvider<P, ExternalLedger<P>, ExternalPolicy, ExternalPoolOutcome, SchemasOf<CloudCalls>>({
    name: rules.name,
    pools: [kind.model],
    finalizers: kind.finalizers,
    holdsAddress: rules.holdsAddress,
    // the addresses of claims in the cloud are found by their pool
    external: { marker: facts.marker === 'none' ? 'none' : 'kept', orphans: 'swept' },
    reservedFor: (pool) => {
      const read = reservationsOf(pool)
      return read.ok ? read.value.entries.flatMap(({ claim }) => (claim === '' ? [] : [claim])) : []
    },
    poolAnnotations: kind.annotations,
    // state is lost with a ledger: the next one acts as another process
    ledger: (holdings) =>
      new ExternalLedger<P>(holdings, facts, { callMs, lagMs, identity: `${rules.identity}-${++ledgers}` }, neighbours),
    memory: neighbours,
    resolve: ({ pool }) => {
      const read = kind.policyOf(pool)
      return read.ok
        ? { kind: 'ready', offer: read.policy }
        : { kind: 'notReady', message: `the pool is invalid: ${read.problems.join('; ')}` }
    },
    sweepAfterSeconds: SWEEP_AFTER_SECONDS,
    ensure: (input) => ensure(rules, input),
    release: (input) => release(rules, input),
    planPool: (input) => planPool(rules, input),
  })
  const { onResult } = provider
  return Object.assign(provider, { onResult: (result: AnyResult) => onResult?.(checkedResult(result)) ?? [] })
}

/** An IPAddress without a claim, as after a restore, is deleted after this time. */
const SWEEP_AFTER_SECONDS = 60

/** @throws IpamError `INVALID_ARGUMENT` */
function rulesOf<P extends KubeObject>(definition: ExternalPoolsDefinition<P>): ExternalRules<P> {
  const { identity, callSeconds = MAX_CALL_SECONDS, listLagSeconds = 5, listSeconds = 300 } = definition
  if (typeof identity !== 'string' || !/^[\w.-]{1,63}$/.test(identity)) {
    refuse(
      'externalPools',
      'identity',
      'up to 63 letters, digits, dots, dashes and underscores, others at each start',
      identity,
    )
  }
  if (!(callSeconds >= 1 && callSeconds <= 3600))
    refuse('externalPools', 'callSeconds', 'seconds, 1 to 3600', callSeconds)
  if (!(listLagSeconds >= 0 && listLagSeconds <= 3600))
    refuse('externalPools', 'listLagSeconds', 'seconds, 0 to 3600', listLagSeconds)
  if (!(listSeconds >= LIST_PAUSE_MS / 1000 && listSeconds <= 86_400)) {
    refuse('externalPools', 'listSeconds', 'seconds, 30 to 86400', listSeconds)
  }
  const [callMs, lagMs] = [callSeconds * 1000, listLagSeconds * 1000]
  return {
    ...definition,
    kind: readingOnce(definition.kind),
    callMs,
    lagMs,
    settleMs: 2 * callMs + lagMs,
    listMs: listSeconds * 1000,
  }
}

/** The kind, with the policy read once for each version of a pool. */
function readingOnce<P extends KubeObject>(kind: ExternalPoolKind<P>): ExternalPoolKind<P> {
  const read = new WeakMap<P, ReturnType<ExternalPoolKind<P>['policyOf']>>()
  const policyOf = (pool: P) => {
    const policy = read.get(pool) ?? kind.policyOf(pool)
    read.set(pool, policy)
    return policy
  }
  return { ...kind, policyOf }
}

import type { KubeObject } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { AnyResult } from '../../plan/planner.js'
import type { SchemasOf } from '../claims/call-schemas.js'
import { defineProvider, type Provider } from '../claims/index.js'
import { checkedResult } from './answer.js'
import { type CloudCalls, MAX_CALL_SECONDS } from './cloud.js'
import {
  type ExternalPoolLedger,
  type ExternalPoolOutcome,
  type ExternalPoolsDefinition,
  type ExternalRules,
  LIST_PAUSE_SECONDS,
} from './definition.js'
import { confirm, ensure } from './ensure.js'
import { IDENTITY_ANNOTATION } from './identity.js'
import { ExternalLedger } from './ledger.js'
import { planPool } from './plan-pool.js'
import type { ExternalPolicy, ExternalPoolKind } from './pool-kind.js'

/**
 * A provider of Cluster API whose addresses are in a cloud. A pool gives its preallocated addresses
 * first, then free ones that it has, and then creates new ones up to its limit.
 *
 * The marker in the cloud and the IPAddress are the record of what is given, so a crash at any
 * point loses nothing. One process at a time may serve a pool: elect a leader. After each start a
 * pool that was served before waits until a list shows all calls of the process before.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function externalPools<P extends KubeObject>(
  definition: ExternalPoolsDefinition<P>,
): Provider<P, ExternalPoolLedger<P>, ExternalPoolOutcome> {
  check('externalPools', 'definition', definition, [
    'open',
    {
      kind: [
        'open',
        {
          model: ['open', { info: ['open', { kind: 'text', apiVersion: 'text' }] }],
          annotations: ['list?', 'text'],
        },
      ],
    },
  ])

  const rules = rulesOf(definition)
  const { kind } = rules
  const provider = defineProvider<P, ExternalLedger<P>, ExternalPolicy, ExternalPoolOutcome, SchemasOf<CloudCalls>>({
    name: rules.name,
    pools: [kind.model],
    finalizers: kind.finalizers,
    holdsAddress: rules.holdsAddress,
    external: { marker: 'pool' },
    overlaps: 'avoid',
    poolAnnotations: [...(kind.annotations ?? []), IDENTITY_ANNOTATION],
    ledger: (holdings) => new ExternalLedger<P>(holdings, kind),
    memory: {
      observePool: () => [],
      observeAddress({ before, now }) {
        now?.ledger.take(now.address)
        if (before === undefined || before.address.spec.address === now?.address.spec.address) return []
        before.ledger.release(before.address)
        return []
      },
      reset: () => {},
    },
    resolve: ({ pool }) => {
      const read = kind.policyOf(pool)
      return read.ok
        ? { kind: 'ready', offer: read.policy }
        : { kind: 'notReady', message: `the pool is invalid: ${read.problems.join('; ')}` }
    },
    sweepAfterSeconds: SWEEP_AFTER_SECONDS,
    ensure: (input) => ensure(rules, input),
    confirm: (input) => confirm(rules, input),
    planPool: (input) => planPool(rules, input),
  })
  const { onResult } = provider
  return Object.assign(provider, { onResult: (result: AnyResult) => onResult?.(checkedResult(result)) ?? [] })
}

/** An IPAddress without a claim, as after a restore, is deleted after this time. */
const SWEEP_AFTER_SECONDS = 60

/** @throws IpamError `INVALID_ARGUMENT` */
function rulesOf<P extends KubeObject>(definition: ExternalPoolsDefinition<P>): ExternalRules<P> {
  const { callSeconds = MAX_CALL_SECONDS, listLagSeconds = 5, listSeconds = 300 } = definition
  if (!(callSeconds >= 1 && callSeconds <= 3600))
    refuse('externalPools', 'callSeconds', 'seconds, 1 to 3600', callSeconds)
  if (!(listLagSeconds >= 0 && listLagSeconds <= 3600))
    refuse('externalPools', 'listLagSeconds', 'seconds, 0 to 3600', listLagSeconds)
  if (!(listSeconds >= LIST_PAUSE_SECONDS && listSeconds <= 86_400)) {
    refuse('externalPools', 'listSeconds', 'seconds, 30 to 86400', listSeconds)
  }
  return { ...definition, kind: readingOnce(definition.kind), callSeconds, listLagSeconds, listSeconds }
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

import * as Address from '../../cidr/nouns/address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type * as Claims from '../claims/definition.js'
import { type CloudCalls, markerText } from './cloud.js'
import type { ExternalPoolOutcome } from './definition.js'
import type { ExternalLedger } from './ledger.js'
import type { ExternalPolicy, Shortage } from './pool-kind.js'
import type { Reservations } from './reservations.js'

export type Input<P extends KubeObject> = Claims.PoolPlanInput<P, ExternalLedger<P>, CloudCalls>
export type Planned = Claims.PoolPlan<ExternalPoolOutcome, CloudCalls>
export type PoolCall = Claims.PoolCall<CloudCalls>

/** A pool whose network and addresses are known. */
export interface Situation {
  readonly policy: ExternalPolicy
  readonly reservations: Reservations
  /** The id of the network. */
  readonly network: string
  /** The id of the network that the spec names, if it is another one. */
  readonly wanted?: string | undefined
}

/** The input of every call about its pool. */
export function about({ metadata: { namespace = '', name } }: KubeObject, { access = null }: ExternalPolicy) {
  return { pool: { namespace, name }, access }
}

/** The shortage of a pool that cannot be used as it is. */
export function invalid(message: string): Shortage {
  return { kind: 'invalid', reason: 'PoolNotReady', message }
}

/** The shortage of a pool that has as many addresses as it may have. */
export function exhausted(message: string): Shortage {
  return { kind: 'max', reason: 'PoolExhausted', message }
}

export function listCall(pool: KubeObject, { policy, reservations, network }: Situation, ageMs: number): PoolCall {
  const { uids, adopted = [], created = [], entries } = reservations
  const preallocated = policy.preallocated.map((address) => Address.format(address))
  const addresses = [...preallocated, ...adopted, ...created, ...entries.flatMap(({ address }) => address ?? [])]
  const markers = uids.map((uid) => markerText(uid, ''))
  const tags = policy.adopt?.tags ?? []
  return {
    operation: 'listAddresses',
    input: { ...about(pool, policy), network, markers, tags, addresses: [...new Set(addresses)] },
    why: 'to find the addresses of the pool',
    maxAgeSeconds: Math.max(1, Math.floor(ageMs / 1000)),
  }
}

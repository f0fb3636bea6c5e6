import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { ClaimInput } from './claim.js'
import type { CallRequest, ClaimLedger, Confirmed } from './definition.js'
import { type Asked, markerOf, resolveCalls } from './external.js'
import type { ClaimRules } from './rules.js'

/** Why a claim waits that has an IPAddress. */
export interface Unconfirmed {
  /** `unknown`: it could not be found out. */
  readonly kind: 'no' | 'stale' | 'unknown'
  readonly message: string
  readonly retryAfterSeconds?: number | undefined
}

interface UnconfirmedInput<P extends KubeObject> {
  readonly pool: P
  readonly address: IPAddress
  readonly isBound: boolean
  readonly nowMs: number
}

/** Why a claim is not Bound to an IPAddress that is there, as the provider has it, or what is to be asked first; `undefined`: it may be. */
export function unconfirmedOf<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { confirm, external }: ClaimRules<P, L, O>,
  { claim, ledger, resultOf }: ClaimInput<P, L>,
  { pool, address, isBound, nowMs }: UnconfirmedInput<P>,
): Asked | Unconfirmed | undefined {
  if (confirm === undefined) return undefined
  const key = markerOf(external, claim, { pool }) ?? ''
  const result = resolveCalls<Exclude<Confirmed, CallRequest>>(
    (results) => confirm({ claim, pool, address, ledger, isBound, key, results, nowMs }),
    (operation) => resultOf?.(operation, key),
    nowMs,
  )
  if (result.kind === 'ask') return { ...result, key }
  if (result.kind === 'failed') {
    return { kind: 'unknown', message: result.failure.message, retryAfterSeconds: result.retryAfterSeconds }
  }
  return result.value.kind === 'yes' ? undefined : result.value
}

import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { ClaimInput } from './claim-input.js'
import type { Confirmed, Ledger, OutsideRequest } from './definition.js'
import { type Asked, converse, markerOf } from './outside.js'
import type { ClaimRules } from './rules.js'

/** Why a claim waits that has an IPAddress. */
export interface Doubt {
  /** `unknown`: it could not be found out. */
  readonly kind: 'no' | 'leftOver' | 'unknown'
  readonly message: string
  readonly retryAfterSeconds?: number | undefined
}

interface DoubtInput<P extends KubeObject> {
  readonly pool: P
  readonly address: IPAddress
  readonly isBound: boolean
  readonly nowMs: number
}

/** Why a claim is not Bound to an IPAddress that is there, as the provider has it, or what is to be asked first; `undefined`: it may be. */
export function doubtOf<P extends KubeObject, L extends Ledger<P>, O>(
  { confirm, outside }: ClaimRules<P, L, O>,
  { claim, ledger, heard }: ClaimInput<P, L>,
  { pool, address, isBound, nowMs }: DoubtInput<P>,
): Asked | Doubt | undefined {
  if (confirm === undefined) return undefined
  const key = markerOf(outside, claim, { pool }) ?? ''
  const said = converse<Exclude<Confirmed, OutsideRequest>>(
    (answers) => confirm({ claim, pool, address, ledger, isBound, key, answers, nowMs }),
    (operation) => heard?.(operation, key),
    nowMs,
  )
  if (said.kind === 'ask') return { ...said, key }
  if (said.kind === 'failed') {
    return { kind: 'unknown', message: said.failure.message, retryAfterSeconds: said.retryAfterSeconds }
  }
  return said.value.kind === 'yes' ? undefined : said.value
}

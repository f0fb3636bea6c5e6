import type { CniError, CniOutcome } from '../../../cni/index.js'
import { cniErrorOf } from '../../../cni/index.js'
import { check, type Kind, type KindOf } from '../../../errors/check.js'
import { type ErrorCode, type Failure, registry } from '../../../errors/index.js'
import type { WhereaboutsConfig } from '../config/types.js'
import type { AddOutcome, CheckOutcome, DelOutcome, StatusOutcome, WhereaboutsGcOutcome } from './outcome.js'

/** The command of a request whose task has ended. */
export type WhereaboutsCommand = 'ADD' | 'DEL' | 'CHECK' | 'GC' | 'STATUS'

/** How `runTask` has ended. */
export type WhereaboutsResult =
  | {
      readonly kind: 'done'
      readonly outcome: AddOutcome | DelOutcome | CheckOutcome | WhereaboutsGcOutcome | StatusOutcome
    }
  | { readonly kind: 'failed' | 'unsettled'; readonly failure: Failure }

export interface CniOutcomeOptions {
  readonly command: WhereaboutsCommand
  /** Its routes and DNS settings are passed on. */
  readonly config: WhereaboutsConfig
  /**
   * `upstream`: a DEL succeeds also if the store cannot be reached, and the errors of an ADD have
   * the code 999 and the sentences of upstream. Left out: a DEL that has released nothing fails, so
   * that the runtime calls it again.
   */
  readonly rules?: 'upstream' | undefined
}

const OPTIONS: KindOf<Omit<CniOutcomeOptions, 'config'> & { readonly config: unknown }> = {
  command: ['one', { ADD: 1, DEL: 1, CHECK: 1, GC: 1, STATUS: 1 }],
  config: 'object',
  rules: ['one?', { upstream: 1 }],
}
const OUTCOME: Kind = ['open', { kind: 'text', message: 'text', addresses: ['list?', 'object'] }]
const RESULT: Kind = [
  'by',
  'kind',
  { done: ['open', { outcome: OUTCOME }], failed: ['open', {}], unsettled: ['open', {}] },
]

/**
 * The CNI answer to the end of a task. Codes:
 *
 * | outcome | code |
 * |---|---|
 * | `exhausted`, `poolNotReady` | 101 |
 * | `refused`, `otherNetwork` | 7 |
 * | `taken`, `missing`, `noPod` | 100 |
 * | `noSlice`, `noClaim`, `claimInUse`, `contended` | 11 |
 * | `denied` | by the retry class of its code |
 * | `notReady` | 50 |
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function cniOutcome(result: WhereaboutsResult, options: CniOutcomeOptions): CniOutcome {
  check<unknown>('cniOutcome', 'result', result, RESULT)
  check<unknown>('cniOutcome', 'options', options, OPTIONS as Kind)

  const { command, config, rules } = options
  if (result.kind !== 'done') {
    if (rules === 'upstream' && command === 'DEL') return { kind: 'done' }
    return failed(cniErrorOf(result.failure, { command }), options)
  }
  const { outcome } = result
  if (outcome.kind === 'allocated') {
    check<unknown>('cniOutcome', 'result.outcome.addresses', outcome.addresses, ['list', 'object'])
    const ips = outcome.addresses.map(({ prefix, gateway }) => ({ address: prefix, gateway }))
    return { kind: 'added', result: { ips, routes: config.routes, dns: config.dns } }
  }
  const code = outcome.kind === 'denied' ? codeOf(outcome.code) : CODES[outcome.kind]
  return code === undefined ? { kind: 'done' } : failed({ code, msg: outcome.message }, options)
}

/** The code of each outcome; the others are successes. */
const CODES: { readonly [kind: string]: number | undefined } = {
  exhausted: 101,
  poolNotReady: 101,
  refused: 7,
  otherNetwork: 7,
  taken: 100,
  missing: 100,
  noPod: 100,
  noSlice: 11,
  noClaim: 11,
  claimInUse: 11,
  contended: 11,
  notReady: 50,
}

function codeOf(code: string): number {
  const known = Object.hasOwn(registry, code) ? registry[code as ErrorCode].retry : 'after'
  return known === 'never' ? 100 : 11
}

function failed(error: CniError, { command, rules }: CniOutcomeOptions): CniOutcome {
  if (rules !== 'upstream' || command !== 'ADD') return { kind: 'failed', error }
  return { kind: 'failed', error: { code: 999, msg: `error at storage engine: ${error.msg}` } }
}

import type { ExternalResult, PlanTime } from '../../../plan/index.js'
import type { AllocationOutcome } from './outcome.js'
import type { ReleaseOutcome } from './release.js'
import type { ReleaseRequest } from './request.js'
import { isAdoption, type TaskRequest } from './request.js'

/** A claim waits up to this time for an address that becomes free. */
const MAX_WAIT_SECONDS = 300

/** A call of a claim on blocks: a task. */
export type BlockCall =
  | { readonly task: 'allocate'; readonly pool: string; readonly request: TaskRequest }
  | { readonly task: 'release'; readonly pool: string; readonly request: ReleaseRequest }

/** The outcome of a call. */
export type BlockOutcome = AllocationOutcome | ReleaseOutcome

/** The calls of a provider on blocks; its own process carries them out. */
export type BlockCalls = {
  readonly [operation in 'allocate' | 'confirm' | 'release']: {
    readonly input: BlockCall
    readonly answer: BlockOutcome
  }
}

/** Why a claim cannot have a row for an IPAddress, by the outcome of the task. */
export const DENIALS: { readonly [kind: string]: string | undefined } = {
  taken: 'another owner has its address',
  outOfPool: 'the pool no longer has its address',
  different: 'the claim has been given another address',
}

/**
 * The outcome of a task as the result of its call. That an address cannot be adopted is a result,
 * not a failure.
 */
export function answerOf(call: BlockCall, outcome: BlockOutcome, { nowMs }: PlanTime): ExternalResult<BlockOutcome> {
  const { kind, message } = outcome
  const isDenied = DENIALS[kind] !== undefined
  if (isDenied ? call.task === 'allocate' && isAdoption(call.request) : DONE.has(kind))
    return { ok: true, value: outcome }
  const { freeAtMs = 0 } = 'freeAtMs' in outcome ? outcome : {}
  const waitSeconds = Math.ceil((freeAtMs - nowMs) / 1000)
  // the claim does not wait for an address that becomes free much later: others may become free
  // before, without an event
  const retryAfterSeconds = waitSeconds > 0 && waitSeconds <= MAX_WAIT_SECONDS ? waitSeconds : undefined
  const reason = REASONS[kind]
  return { ok: false, failure: { message, retryable: true, ...(reason && { reason }), retryAfterSeconds } }
}

const DONE: ReadonlySet<string> = new Set(['allocated', 'already', 'released', 'nothing', 'notYours'])

const REASONS: { readonly [kind: string]: 'PoolExhausted' | 'PoolNotReady' | undefined } = {
  exhausted: 'PoolExhausted',
  notReady: 'PoolNotReady',
}

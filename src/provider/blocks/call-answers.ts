import * as Address from '../../cidr/nouns/address.js'
import { formatRef } from '../../crd/meta/object.js'
import { ipamError } from '../../errors/index.js'
import type { ExternalCall, ExternalResult, Outcome, PlanTime } from '../../plan/index.js'
import type { AllocationOutcome } from './outcome.js'
import type { ReleaseOutcome } from './release.js'

/** So long a claim waits for what is about to be free again. */
const MOST_WAIT_SECONDS = 300

/** What an answer to `allocate` says. */
export interface GivenAnswer {
  readonly address: string
  readonly prefix: number
  readonly gateway?: string
  readonly block: string
}

/** The answer to `release`: the addresses that are free again. */
export type ReleasedAnswer = readonly string[]

/** What has become of a task, as the answer to the call that it was. */
export function answerOf({ about, operation }: ExternalCall, outcome: Outcome, { nowMs }: PlanTime): ExternalResult {
  const { kind, message } = outcome as AllocationOutcome | ReleaseOutcome
  const { freeAtMs = 0 } = outcome as { readonly freeAtMs?: number | undefined }
  const waitSeconds = Math.ceil((freeAtMs - nowMs) / 1000)
  // what is a long way off is not waited for: there may be room before, of which nobody is told
  const retryAfterSeconds = waitSeconds > 0 && waitSeconds <= MOST_WAIT_SECONDS ? waitSeconds : undefined
  switch (kind) {
    case 'allocated':
    case 'already': {
      const [allocation] = (outcome as Extract<AllocationOutcome, { kind: 'allocated' }>).allocations
      if (allocation === undefined) throw ipamError('INVARIANT_BROKEN', { what: `${formatRef(about)}: ${message}` })
      const { address, prefix, subnet, gateway, block } = allocation
      const isAddress = prefix.length === Address.bitsOf(address.family)
      const value = {
        address: Address.format(address),
        prefix: isAddress && subnet !== undefined ? subnet.length : prefix.length,
        ...(gateway === undefined ? {} : { gateway: Address.format(gateway) }),
        block,
      }
      return { ok: true, value }
    }
    case 'released': {
      const { allocations } = outcome as Extract<ReleaseOutcome, { kind: 'released' }>
      const value: ReleasedAnswer = allocations.map(({ address }) => Address.format(address))
      return { ok: true, value }
    }
    case 'nothing':
    case 'notYours':
      return { ok: true, value: [] }
    case 'taken':
    case 'outOfPool':
    case 'different':
      return operation === 'confirm'
        ? { ok: true, value: kind }
        : { ok: false, failure: { message, retryable: true, retryAfterSeconds } }
    case 'exhausted':
      return { ok: false, failure: { message, retryable: true, reason: 'PoolExhausted', retryAfterSeconds } }
    case 'notReady':
      return { ok: false, failure: { message, retryable: true, reason: 'PoolNotReady' } }
    default:
      return { ok: false, failure: { message, retryable: true } }
  }
}

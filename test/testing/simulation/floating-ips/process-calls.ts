import type { ExternalCall, ExternalResult } from 'ipam-kit/plan'
import type { Dice } from 'ipam-kit/testing'
import { CALL_SECONDS } from './bounds.js'
import type { Trouble, Wire } from './wire.js'

/** How long one direction of a call to the cloud takes at most, in milliseconds. */
const MOST_MS = 400
const WRITE_TROUBLE = 0.25
const READ_TROUBLE = 0.06
const READS: readonly string[] = ['findNetwork', 'listAddresses', 'describeServer']

export interface ProcessCallsOptions {
  readonly wire: Wire
  readonly dice: Dice
  /** Whether calls to the cloud go wrong at present. */
  readonly isFaulty: () => boolean
  /** Told of each fault. */
  readonly happened: (text: string) => void
  /** Told when a planner makes a call. */
  readonly begin: (call: ExternalCall, label: string) => BegunCall
}

/** A call that a planner has made. */
export interface BegunCall {
  /** Carries it out when it arrives. */
  arrive(): Promise<ExternalResult>
  /** Told of the answer that the planner gets. */
  answered(answer: ExternalResult): void
}

/** Whether a call changes nothing in the cloud. */
export function isReadCall({ operation }: Pick<ExternalCall, 'operation'>): boolean {
  return READS.includes(operation)
}

/** Carries out the calls to the cloud of one process. */
export function processCalls(options: ProcessCallsOptions): (call: ExternalCall) => Promise<ExternalResult> {
  const { wire, dice } = options
  return async (call) => {
    const label = labelOf(call)
    const begun = options.begin(call, label)
    const probability = isReadCall(call) ? READ_TROUBLE : WRITE_TROUBLE
    const isWrong = options.isFaulty() && dice.chance(probability)
    const trouble = isWrong ? troubleOf(dice) : undefined
    if (trouble !== undefined) options.happened(`${label}: ${trouble.name}`)
    const answer = await wire.send(label, MOST_MS, () => begun.arrive(), trouble)
    begun.answered(answer)
    return answer
  }
}

/** All that a planner asks for, without the credentials. */
function labelOf({ operation, input }: ExternalCall): string {
  const {
    pool,
    access: _,
    markers: __,
    tags: ___,
    addresses: ____,
    ...asked
  } = input as {
    readonly pool?: { readonly namespace: string; readonly name: string }
    readonly [member: string]: unknown
  }
  const of = pool === undefined ? '' : ` of ${pool.namespace}/${pool.name}`
  return `${operation}${of} ${JSON.stringify(asked)}`
}

/** A call has no effect later than `callSeconds`, and is answered by then. */
function troubleOf(dice: Dice): Trouble<ExternalResult> {
  const limitMs = CALL_SECONDS * 1000
  const failed = (message: string, more = {}): ExternalResult => ({
    ok: false,
    failure: { message, retryable: true, ...more },
  })
  const [soonMs, lateMs] = [100 + dice.below(1000), dice.below(limitMs - 500)]
  return dice.pick<Trouble<ExternalResult>>([
    { name: 'refused, nothing done', answer: { afterMs: soonMs, value: failed('too many', { nothingDone: true }) } },
    { name: 'refused', answer: { afterMs: soonMs, value: failed('the service is not available') } },
    { name: 'done, and not answered', arrivesMs: soonMs, answer: { afterMs: limitMs, value: failed('no answer') } },
    { name: 'not done, and not answered', answer: { afterMs: limitMs, value: failed('no answer') } },
    { name: 'broken off, and done later', arrivesMs: lateMs, answer: { afterMs: 50, value: failed('broken off') } },
    {
      name: 'done late, and not answered',
      arrivesMs: lateMs,
      answer: { afterMs: limitMs, value: failed('no answer') },
    },
    { name: 'slow', arrivesMs: dice.below(limitMs - 2 * MOST_MS) },
  ])
}

import type { AnyCall } from '../../plan/effect.js'
import type { AnyResult } from '../../plan/planner.js'
import type { AnyCaller } from '../../run/plan/run-plan.js'
import { SimulatedCrash } from '../crashing-store.js'
import { type Fault, type FaultSource, STANDING } from './faulty-store.js'
import type { Network } from './network.js'
import type { Scheduler } from './scheduler.js'

/**
 * What can happen to a call to an external system, which keeps what it does under the marker of the
 * call.
 */
const OF_OUTSIDE: ReadonlySet<Fault> = new Set([
  'crash-before',
  'crash-after',
  'lost-answer',
  'lost-call',
  'down',
  'external-late-call',
  'external-late-answer',
  'external-no-answer',
  'external-twice',
  'external-stale-list',
])

/** How old what a list shows can be. */
const MAX_LIST_DELAY_MS = 5000

export interface ExternalWorld {
  readonly scheduler: Scheduler
  readonly network: Network
  readonly now: () => number
  /** The operations that only read. */
  readonly reads: readonly string[]
  /** The answers to those, for all writers. */
  readonly answers: Map<string, { readonly answer: AnyResult['answer']; readonly atMs: number }[]>
}

/**
 * An external system as one writer sees it: as the store, every call takes two turns and may go
 * wrong on the way.
 */
export function faultyExternal(
  external: AnyCaller,
  actor: string,
  { scheduler, network, now, reads, answers }: ExternalWorld,
  source: Pick<FaultSource, 'dice' | 'faults' | 'isDead' | 'happened'>,
): AnyCaller {
  const draw = (isRead: boolean): Fault | undefined => {
    const { kinds, probability } = source.faults()
    const candidates = kinds.filter((kind) => OF_OUTSIDE.has(kind) && (isRead || kind !== 'external-stale-list'))
    if (candidates.length === 0 || !source.dice.chance(probability)) return undefined
    return source.dice.pick(candidates)
  }
  const wait = async (label: string) => {
    for (let left = source.dice.pick(STANDING); left > 0; left--) await scheduler.turn(actor, `${label}: waits`)
    if (source.isDead()) throw new SimulatedCrash(`was dead before the answer to ${label}`)
  }
  /** Carries a call out, and notes what a read has found. */
  const done = async (call: AnyCall): Promise<AnyResult['answer']> => {
    const answer = await external(call)
    if (!reads.includes(call.operation)) return answer
    const known = answers.get(questionOf(call)) ?? []
    answers.set(questionOf(call), [...known, { answer, atMs: now() }])
    return answer
  }
  /** The oldest answer to a question that may still be given. */
  const stale = (call: AnyCall): AnyResult['answer'] | undefined =>
    answers.get(questionOf(call))?.find(({ atMs }) => now() - atMs <= MAX_LIST_DELAY_MS)?.answer

  return async (call: AnyCall) => {
    const label = `external: ${call.operation} ${call.key}`
    const object = `external ${call.key}`
    await scheduler.turn(actor, label)
    if (source.isDead()) throw new SimulatedCrash(`was dead before ${label}`)
    const fault = draw(reads.includes(call.operation))
    if (fault !== undefined) {
      scheduler.note(actor, `  ${fault}`)
      source.happened(fault)
    }
    if (fault === 'crash-before') throw new SimulatedCrash(`crashed before ${label}`)
    if (fault === 'down' || fault === 'lost-call') return unanswered(fault)
    if (fault === 'external-late-call') {
      network.delay({ actor, object, label, arrive: async () => void (await done(call)) })
      return unanswered(fault)
    }
    await network.passes(object)
    if (fault === 'external-no-answer') {
      if (source.dice.chance(0.5)) await done(call)
      await wait(label)
      return unanswered(fault)
    }
    if (fault === 'external-twice') await done(call)
    const answer = (fault === 'external-stale-list' ? stale(call) : undefined) ?? (await done(call))
    if (fault === 'crash-after') throw new SimulatedCrash(`crashed after ${label}`)
    if (fault === 'lost-answer') return unanswered(fault)
    if (fault === 'external-late-answer') await wait(label)
    await scheduler.turn(actor, `${label}: ${answer.ok ? 'ok' : answer.failure.message}`)
    if (source.isDead()) throw new SimulatedCrash(`was dead after ${label}`)
    return answer
  }
}

function questionOf({ operation, key, input }: AnyCall): string {
  return `${operation} ${key} ${JSON.stringify(input)}`
}

function unanswered(message: string): AnyResult['answer'] {
  return { ok: false, failure: { message, retryable: true } }
}

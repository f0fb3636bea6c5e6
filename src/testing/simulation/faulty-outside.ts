import type { OutsideAnswer, OutsideCall } from '../../plan/index.js'
import type { OutsideCaller } from '../../run/index.js'
import { SimulatedCrash } from '../crashing-store.js'
import type { Fault, FaultSource } from './faulty-store.js'
import type { Scheduler } from './scheduler.js'

/** What can happen to a call to an outside system. It keeps what it does under the marker of the call, and so nothing of it comes late. */
const OF_OUTSIDE: ReadonlySet<Fault> = new Set(['crash-before', 'crash-after', 'lost-answer', 'lost-call', 'down'])

/** An outside system as one writer sees it: as the store, every call takes two turns and may go wrong on the way. */
export function faultyOutside(
  outside: OutsideCaller,
  actor: string,
  scheduler: Scheduler,
  source: Pick<FaultSource, 'dice' | 'faults' | 'isDead' | 'happened'>,
): OutsideCaller {
  const draw = (): Fault | undefined => {
    const { kinds, probability } = source.faults()
    const candidates = kinds.filter((kind) => OF_OUTSIDE.has(kind))
    if (candidates.length === 0 || !source.dice.chance(probability)) return undefined
    return source.dice.pick(candidates)
  }
  return async (call: OutsideCall) => {
    const label = `outside: ${call.operation} ${call.key}`
    await scheduler.turn(actor, label)
    if (source.isDead()) throw new SimulatedCrash(`was dead before ${label}`)
    const fault = draw()
    if (fault !== undefined) {
      scheduler.note(actor, `  ${fault}`)
      source.happened()
    }
    if (fault === 'crash-before') throw new SimulatedCrash(`crashed before ${label}`)
    if (fault === 'down' || fault === 'lost-call') return unanswered(fault)
    const answer = await outside(call)
    if (fault === 'crash-after') throw new SimulatedCrash(`crashed after ${label}`)
    if (fault === 'lost-answer') return unanswered(fault)
    await scheduler.turn(actor, `${label}: ${answer.ok ? 'ok' : answer.failure.message}`)
    if (source.isDead()) throw new SimulatedCrash(`was dead after ${label}`)
    return answer
  }
}

function unanswered(message: string): OutsideAnswer {
  return { ok: false, failure: { message, retryable: true } }
}

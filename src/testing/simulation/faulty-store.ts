import { formatRef, type KubeObject, type ObjectRef, refOf } from '../../crd/meta/object.js'
import {
  STORE_ALREADY_EXISTS,
  STORE_CONFLICT,
  STORE_INVALID,
  STORE_IO,
  STORE_OUTCOME_UNKNOWN,
} from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import type { Store, StoreErrorCode } from '../../store/index.js'
import { SimulatedCrash } from '../crashing-store.js'
import { storeOver } from '../store-over.js'
import type { Dice } from './dice.js'
import type { Network } from './network.js'
import type { Scheduler } from './scheduler.js'
import type { Truth } from './truth.js'

/**
 * The faults of a call.
 *
 * - `crash-before`, `crash-after`: the writer dies before the call is done, or after it and before
 *   the answer
 * - `conflict`: the store answers with a conflict, although no other writer has written
 * - `lost-answer`, `lost-call`, `late-call`: a time-out. The write is done, not done, or done
 *   later, up to the next write of that object. The writer gets an unknown outcome
 * - `down`: the store answers that it is not available
 * - `refused`: a webhook denies a write, and it is not done
 * - `stand-still`: the writer is suspended between its check that it may write and the write, for
 *   up to some hundred turns. If there is a leader, another writer leads by then. The write is done
 *   when the writer continues
 * - `stale-list`: an outdated list, but not older than the first lists of the writer: an API server
 *   returns no list that is older than what its client has seen
 *
 * The faults of a call to an external system ({@link EXTERNAL_FAULTS}):
 *
 * - `external-late-call`: a time-out. The call is done later, up to the next call under the same
 *   key
 * - `external-late-answer`: the call is done, and answered up to some hundred turns later
 * - `external-no-answer`: the call is done or not done, and times out after up to some hundred
 *   turns
 * - `external-twice`: the call arrives twice, and the second answer counts
 * - `external-stale-list`: a call that only reads gets an answer that is up to 5 s old
 */
export type Fault =
  | 'crash-before'
  | 'crash-after'
  | 'conflict'
  | 'lost-answer'
  | 'lost-call'
  | 'late-call'
  | 'down'
  | 'refused'
  | 'stand-still'
  | 'stale-list'
  | ExternalFault

export type ExternalFault =
  | 'external-late-call'
  | 'external-late-answer'
  | 'external-no-answer'
  | 'external-twice'
  | 'external-stale-list'

/** The faults that every system has to tolerate, with any ledger. */
export const ALL_FAULTS: readonly Fault[] = [
  'crash-before',
  'crash-after',
  'conflict',
  'lost-answer',
  'lost-call',
  'late-call',
  'down',
  'stale-list',
]

/** The faults of an external system that is slow, repeats calls, or returns outdated lists. */
export const EXTERNAL_FAULTS: readonly ExternalFault[] = [
  'external-late-call',
  'external-late-answer',
  'external-no-answer',
  'external-twice',
  'external-stale-list',
]

/** How many turns a writer stands still, one of these. */
export const STANDING: readonly number[] = [1, 5, 20, 100, 300]

/** What can happen to a call that writes, and to one that reads. */
const OF_WRITES: ReadonlySet<Fault> = new Set([
  'crash-before',
  'crash-after',
  'conflict',
  'lost-answer',
  'lost-call',
  'late-call',
  'down',
  'refused',
  'stand-still',
])
const OF_READS: ReadonlySet<Fault> = new Set(['crash-before', 'crash-after', 'down'])

export interface FaultSource {
  readonly dice: Dice
  /** The faults that happen now, and how probable one is for each call. */
  readonly faults: () => { readonly kinds: readonly Fault[]; readonly probability: number }
  /**
   * Whether the next attempt to create what is perhaps written already is taken for a question, and
   * not done.
   */
  readonly settlesByReading: boolean
  /** How much of the log the writer has seen at least: a stale list is from after that. */
  readonly seen: () => number
  /** Whether the writer has died since: what it still does ends before it is done. */
  readonly isDead: () => boolean
  /** Told when the writer stands still: where one writer rules, another one may from then on. */
  readonly stands?: (() => void) | undefined
  /** Told of each fault: its kind, and more about it. */
  readonly happened: (what: string) => void
  /** How many changes the plan that makes a call was made from. Left out: rules do not ask. */
  readonly knows?: (() => number) | undefined
  /**
   * After each call that may have written.
   *
   * @param isHeldBack whether the writer stood still between its check that it may write and the
   *   write
   * @param knew `knows` when the call was made. The write may arrive when its plan has ended
   */
  readonly written: (isHeldBack: boolean, knew: number) => Promise<void>
}

/** A call: what can happen to it, and the object that it writes, if it writes. */
interface Kind {
  readonly possible: ReadonlySet<Fault>
  readonly object?: string
}

/**
 * The store as one writer sees it: every call takes two turns, one to arrive and one to come back,
 * and may go wrong on the way.
 */
export function faultyStore(
  truth: Truth,
  actor: string,
  { scheduler, network }: { readonly scheduler: Scheduler; readonly network: Network },
  source: FaultSource,
): Store {
  const draw = (possible: ReadonlySet<Fault>): Fault | undefined => {
    const { kinds, probability } = source.faults()
    if (kinds.length === 0) return undefined
    const candidates = kinds.filter((kind) => possible.has(kind))
    if (candidates.length === 0 || !source.dice.chance(probability)) return undefined
    return source.dice.pick(candidates)
  }
  const tell = (words: string) => {
    scheduler.note(actor, `  ${words}`)
    source.happened(words)
  }
  const done = async <T>(action: () => Promise<T>, isWrite: boolean, knew: number, isHeldBack = false): Promise<T> => {
    const answer = await action()
    if (isWrite) await source.written(isHeldBack, knew)
    return answer
  }
  const call = async <T>(
    label: string,
    { possible, object }: Kind,
    action: () => Promise<Result<T, StoreErrorCode>>,
  ): Promise<Result<T, StoreErrorCode>> => {
    await scheduler.turn(actor, label)
    if (source.isDead()) throw new SimulatedCrash(`was dead before ${label}`)
    const knew = source.knows?.() ?? 0
    const fault = draw(possible)
    if (fault !== undefined) tell(fault)
    switch (fault) {
      case 'crash-before':
        throw new SimulatedCrash(`crashed before ${label}`)
      case 'conflict':
        return failWith(STORE_CONFLICT, { object: label, expected: 'luck', actual: 'none' })
      case 'down':
        return failWith(STORE_IO, { operation: label, problem: 'down' })
      case 'refused':
        return failWith(STORE_INVALID, { object: label, path: 'spec', problem: 'a webhook denies it' })
      case 'late-call':
        network.delay({ actor, object: object ?? '', label, arrive: async () => void (await done(action, true, knew)) })
        return failWith(STORE_OUTCOME_UNKNOWN, { operation: label, object: label, problem: 'timed out' })
      case 'lost-call':
        return failWith(STORE_OUTCOME_UNKNOWN, { operation: label, object: label, problem: 'timed out' })
      case 'stand-still':
        source.stands?.()
        for (let left = source.dice.pick(STANDING); left > 0; left--) await scheduler.turn(actor, `${label}: stands`)
        if (source.isDead()) throw new SimulatedCrash(`was dead before ${label}`)
    }
    if (object !== undefined) await network.passes(object)
    const answer = await done(action, object !== undefined, knew, fault === 'stand-still')
    if (fault === 'crash-after') throw new SimulatedCrash(`crashed after ${label}`)
    if (fault === 'lost-answer') {
      return failWith(STORE_OUTCOME_UNKNOWN, { operation: label, object: label, problem: 'timed out' })
    }
    await scheduler.turn(actor, `${label}: ${answer.ok ? 'ok' : answer.failure.code}`)
    if (source.isDead()) throw new SimulatedCrash(`was dead after ${label}`)
    return answer
  }
  const { store } = truth
  const unsure = new Set<string>()
  const write = (operation: string, ref: ObjectRef, action: () => Promise<Result<KubeObject, StoreErrorCode>>) =>
    call(`${operation} ${formatRef(ref)}`, { possible: OF_WRITES, object: formatRef(ref) }, action)
  return storeOver(store, {
    get: (ref) => call(`get ${formatRef(ref)}`, { possible: OF_READS }, () => store.get(ref)),
    list: (query, options) =>
      call(`list ${query.kind}`, { possible: OF_READS }, async () => {
        const { kinds, probability } = source.faults()
        const isStale = kinds.includes('stale-list') && source.dice.chance(probability)
        if (!isStale) return store.list(query, options)
        const behind = source.dice.below(truth.log.length - source.seen() + 1)
        tell(`stale-list: ${behind} changes behind`)
        return { ok: true, value: truth.listAt(query, truth.log.length - behind) }
      }),
    create: async (object) => {
      const name = formatRef(refOf(object))
      if (unsure.delete(name)) return failWith(STORE_ALREADY_EXISTS, { object: name })
      const created = await write('create', refOf(object), () => store.create(object))
      const isUnsure = !created.ok && created.failure.code === 'STORE_OUTCOME_UNKNOWN'
      if (isUnsure && source.settlesByReading) unsure.add(name)
      return created
    },
    update: (object, options) => write('update', refOf(object), () => store.update(object, options)),
    patch: (ref, patch, options) => write('patch', ref, () => store.patch(ref, patch, options)),
    delete: (ref, options) => write('delete', ref, () => store.delete(ref, options)),
  })
}

import { formatRef, type Json, type ObjectRef, objectKey } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { STORE_CONFLICT } from '../../errors/definitions.js'
import { failure } from '../../errors/failure.js'
import { refuse } from '../../errors/refuse.js'
import { type AbsentEffect, type AnyCall, type ExternalEffect, PLAN } from '../../plan/effect.js'
import { assertFieldGuards, isJsonPatch } from '../../plan/field-guards.js'
import type { Change, Effect, EventEffect, ExternalCall, ExternalResult, Plan } from '../../plan/index.js'
import type { AnyResult } from '../../plan/planner.js'
import type { Store, StoreFailure } from '../../store/index.js'
import { STORE } from '../../store/store.js'
import { assertCanWrite, type CanWrite, withheld } from '../can-write.js'
import { changeOf, hasGrace, isHeld, sendPatch } from './send-patch.js'

/**
 * Carries out a call to an external system. The caller knows where that system is. A failure and an
 * unknown outcome are results, too. If it throws, the run ends as if the process had died at that
 * point. A `Controller` reports that as a problem of kind `thrown`, and makes the call again.
 *
 * It must have a time limit of its own, and return a retryable failure after it: the outcome is
 * unknown, and the same call is made again under the same key. A promise that never settles keeps
 * its plan and one of the slots for calls of a `Controller`: 8 for each concurrent plan, or from 1
 * to 8 with an `identity`. When all slots are in use, nothing more is planned. `stop` waits for the
 * call, and the lease is kept until then.
 */
export type ExternalCaller<I = Json, V = Json> = (call: ExternalCall<I>) => Promise<ExternalResult<V>>

/** A caller as a host uses it. */
// biome-ignore lint/suspicious/noExplicitAny: what is asked and answered differs
export type AnyCaller = ExternalCaller<any, any>

export interface RunPlanOptions {
  /**
   * Called directly before every write and every external call. If it returns false, the plan ends
   * there as `failed`: `STORE_WRITE_WITHHELD`. Left out: always true.
   */
  readonly canWrite?: CanWrite | undefined
  /** Carries out `external` effects. Without it a plan with such an effect is refused. */
  readonly external?: AnyCaller | undefined
  /** Receives the result of an `external` effect: pass it to the planner. */
  readonly onCallResult?: ((call: AnyCall, answer: AnyResult['answer']) => void) | undefined
  /**
   * Receives the events of the plan. Left out: events are dropped. They are never the only record.
   */
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Receives each change as soon as its effect is done, before the next effect. Pass it to the
   * planner here, so that no write is missed, even if a later effect throws. The change of an
   * `absent` effect is what was read.
   */
  readonly onChange?: ((change: Change, effect: Effect) => void) | undefined
}

const RUN_PLAN_OPTIONS: KindOf<RunPlanOptions> = {
  canWrite: 'function?',
  external: 'function?',
  onCallResult: 'function?',
  onEvent: 'function?',
  onChange: 'function?',
}

/**
 * How a plan ended. `changes` are the objects that the store answered, also those before a failure,
 * and the confirmed absences. Pass them to the planner.
 *
 * - `done`: every effect is done
 * - `conflict`: the stored objects differ from those of the plan, or the outcome of a write is
 *   unknown. Call `settle`, pass its change to the planner, and plan again
 * - `failed`: the store refused an effect for another reason
 */
export type RunResult = DoneRun | StoppedRun<'conflict'> | StoppedRun<'failed'>

export interface DoneRun {
  readonly kind: 'done'
  readonly changes: readonly Change[]
}

export interface StoppedRun<K extends string> {
  readonly kind: K
  /** The effect that could not be done. */
  readonly effect: Effect
  readonly failure: StoreFailure
  readonly changes: readonly Change[]
}

/**
 * Carries out the effects of a plan on a store, in order, up to the first that fails. Nothing is
 * tried twice, with one exception (field guards, below). An `absent` effect is read from the store,
 * which must not answer from a cache.
 *
 * The fields in the condition of a patch become `test` operations. A store does not tell a failed
 * test from any other refusal, so the object is read after a refusal. A guard that does not hold is
 * a conflict. If all guards hold, the patch is sent once more for the version that was read,
 * because the object may have changed in between. A second refusal is final.
 *
 * A resourceVersion in a precondition is the one that the planner observed. If this run has written
 * the object since, the version of that write is used. An effect without a version that precedes an
 * effect with one on the same object uses that version, too. Otherwise a write in between by
 * another program would go unnoticed.
 *
 * @throws IpamError `INVALID_ARGUMENT` before anything is done, for a plan with an `external`
 * effect that is not its last or for which there is no caller, or with a field guard that cannot be
 * tested
 */
export async function runPlan(plan: Plan, store: Store, options: RunPlanOptions = {}): Promise<RunResult> {
  check<unknown>('runPlan', 'plan', plan, PLAN)
  check('runPlan', 'store', store, STORE)
  check('runPlan', 'options', options, RUN_PLAN_OPTIONS)

  assertPlanners(plan, options)
  for (const effect of plan.effects) if (effect.kind === 'patch') assertFieldGuards(effect)
  assertCanWrite('runPlan', options.canWrite)
  const changes: Change[] = []
  const own = new Map<string, OwnWrite>()
  const versions = versionsOf(plan.effects)
  for (const [index, effect] of plan.effects.entries()) {
    if (effect.kind === 'event') continue
    const notSent = effect.kind === 'absent' ? undefined : withheld(effect, options.canWrite)
    if (notSent !== undefined) return { kind: 'failed', effect, failure: notSent, changes }
    if (effect.kind === 'external') {
      const answer = await options.external!(effect.call)
      options.onCallResult?.(effect.call, answer)
      continue
    }
    const answer = await perform(effect, store, { own, seen: versions[index], canWrite: options.canWrite })
    if (answer.failure !== undefined) {
      const stopped = { effect, failure: answer.failure, changes }
      return isConflict(effect, answer.failure) ? { kind: 'conflict', ...stopped } : { kind: 'failed', ...stopped }
    }
    if (isGuard(effect) || (effect.kind === 'absent' && effect.uid === undefined)) continue
    changes.push(answer.change)
    options.onChange?.(answer.change, effect)
  }
  // events are passed on after all writes: a callback that throws stops nothing
  for (const effect of plan.effects) if (effect.kind === 'event') options.onEvent?.(effect)
  return { kind: 'done', changes }
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertPlanners({ effects }: Plan, { external }: RunPlanOptions): void {
  const index = effects.findIndex(({ kind }) => kind === 'external')
  const effect = effects[index]
  if (effect?.kind !== 'external') return
  const { operation, about } = effect.call
  if (typeof external !== 'function') {
    const expected = `a function that can ${operation} for ${formatRef(about)}: the plan calls an external system`
    refuse('runPlan', 'external', expected, typeof external)
  }
  const after = effects.slice(index + 1).find(({ kind }) => kind !== 'event')
  if (after === undefined) return
  const expected = 'nothing after an external call: it is planned from the answer'
  refuse('runPlan', 'plan', expected, after.kind)
}

/**
 * The versions of the effects: their own, or that of the next effect with one on the same object.
 */
function versionsOf(effects: readonly Effect[]): readonly (string | undefined)[] {
  const next = new Map<string, string>()
  return effects
    .toReversed()
    .map((effect) => {
      if (effect.kind !== 'patch' && effect.kind !== 'delete') return undefined
      const key = objectKey(effect.ref)
      const version = effect.if.resourceVersion ?? next.get(key)
      if (version !== undefined) next.set(key, version)
      return version
    })
    .reverse()
}

/** A write of this run: the version that the planner observed, and the present one. */
interface OwnWrite {
  readonly seen: string | undefined
  readonly now: string | undefined
}

type Answer = { readonly change: Change; readonly failure?: undefined } | { readonly failure: StoreFailure }

interface PerformOptions {
  readonly own: Map<string, OwnWrite>
  readonly seen: string | undefined
  readonly canWrite: CanWrite | undefined
}

async function perform(
  effect: Exclude<Effect, EventEffect | ExternalEffect>,
  store: Store,
  { own, seen, canWrite }: PerformOptions,
): Promise<Answer> {
  if (effect.kind === 'create') {
    const created = await store.create(effect.object)
    return created.ok ? { change: { kind: 'present', object: created.value } } : { failure: created.failure }
  }
  if (effect.kind === 'absent') return look(effect, store)
  const key = objectKey(effect.ref)
  const written = own.get(key)
  const isOwn = seen !== undefined && written?.seen === seen
  const precondition = { uid: effect.if.uid, resourceVersion: isOwn ? written?.now : seen }

  if (effect.kind === 'delete') {
    const { propagation } = effect
    const deleted = await store.delete(
      effect.ref,
      propagation === undefined ? precondition : { ...precondition, propagation },
    )
    if (!deleted.ok) {
      // an object that is already deleted is the wanted result
      if (deleted.failure.code === 'STORE_NOT_FOUND') return { change: confirmedAbsence(effect.ref, effect.if.uid) }
      return { failure: deleted.failure }
    }
    if (!isHeld(deleted.value) && !hasGrace(deleted.value))
      return { change: { kind: 'absent', ref: effect.ref, uid: effect.if.uid } }
    own.set(key, { seen: written?.seen ?? seen, now: deleted.value.metadata.resourceVersion })
    return { change: { kind: 'present', object: deleted.value } }
  }
  const patched = await sendPatch(effect, store, { precondition, canWrite })
  if (!patched.ok) return { failure: patched.failure }
  // a write for any other version than the first has failed
  own.set(key, { seen: written?.seen ?? seen, now: patched.value.metadata.resourceVersion })
  return { change: changeOf(patched.value) }
}

/** Reads an object from the store that must not exist. */
async function look({ ref, uid, uidAnnotation }: AbsentEffect, store: Store): Promise<Answer> {
  const found = await store.get(ref)
  if (!found.ok) {
    return found.failure.code === 'STORE_NOT_FOUND'
      ? { change: confirmedAbsence(ref, uid) }
      : { failure: found.failure }
  }
  const { metadata } = found.value
  const alias = uidAnnotation === undefined ? undefined : metadata.annotations?.[uidAnnotation]
  if (uid !== undefined && metadata.uid !== uid && alias !== uid) return { change: confirmedAbsence(ref, uid) }
  const expected = uid === undefined ? 'no object' : `no object with uid ${uid}`
  const context = { object: formatRef(ref), expected, actual: 'that one' }
  return { failure: failure(STORE_CONFLICT, context) }
}

function confirmedAbsence(ref: ObjectRef, uid: string | undefined): Change {
  return { kind: 'absent', ref, uid, confirmed: true }
}

/** A patch that changes nothing: only its precondition counts. */
function isGuard(effect: Effect): boolean {
  if (effect.kind !== 'patch') return false
  return isJsonPatch(effect) ? effect.patch.every(({ op }) => op === 'test') : Object.keys(effect.patch).length === 0
}

function isConflict(effect: Effect, failure: StoreFailure): boolean {
  switch (failure.code) {
    case 'STORE_CONFLICT':
    case 'STORE_OUTCOME_UNKNOWN':
      return true
    case 'STORE_ALREADY_EXISTS':
      return effect.kind === 'create'
    case 'STORE_NOT_FOUND':
      return effect.kind === 'patch'
    default:
      return false
  }
}

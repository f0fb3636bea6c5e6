import { formatRef, type Json, type ObjectRef, objectKey } from '../../crd/meta/object.js'
import { assertObject, assertParts } from '../../errors/checks.js'
import { failure } from '../../errors/failure.js'
import { refuse } from '../../errors/refuse.js'
import type { AbsentEffect, AnyCall, ExternalEffect } from '../../plan/effect.js'
import { assertFieldGuards, isJsonPatch } from '../../plan/field-guards.js'
import type { Change, Effect, EventEffect, ExternalCall, ExternalResult, Plan } from '../../plan/index.js'
import type { AnyResult } from '../../plan/planner.js'
import type { Store, StoreFailure } from '../../store/index.js'
import { assertCanWrite, type CanWrite, withheld } from '../can-write.js'
import { changeOf, hasGrace, isHeld, sendPatch } from './send-patch.js'

/**
 * Carries a call to an external system out: it is the caller's code that knows where that is. What
 * it cannot do, or does not know the outcome of, is an answer as well; what it throws ends the run
 * as if the process had died at that point. A `Controller` tells that as a problem of kind
 * `thrown`, and makes the call again.
 *
 * It must have a time limit of its own. A promise that never settles keeps its plan, and its place
 * among the calls of a `Controller` (8 for each plan at a time): when all are kept, nothing more is
 * planned. `stop` waits for it, and with that the lease is kept. After the limit it is not known
 * what was done: that is a failure that is retryable, and the same call is made again under the
 * same key.
 */
export type ExternalCaller<I = Json, V = Json> = (call: ExternalCall<I>) => Promise<ExternalResult<V>>

/** A caller as a host uses it. */
// biome-ignore lint/suspicious/noExplicitAny: what is asked and answered differs
export type AnyCaller = ExternalCaller<any, any>

export interface RunPlanOptions {
  /**
   * Asked directly before every write and every external call. A no ends the plan there, as
   * `failed`: `STORE_WRITE_WITHHELD`. Left out: always.
   */
  readonly canWrite?: CanWrite | undefined
  /** Carries out `external` effects. A plan that has one is refused where this is missing. */
  readonly external?: AnyCaller | undefined
  /** Receives the answer to an `external` effect: show it to the planner. */
  readonly onCallResult?: ((call: AnyCall, answer: AnyResult['answer']) => void) | undefined
  /**
   * Receives the events of the plan. Left out: they are dropped, as they are never the only record.
   */
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Receives each change as soon as its effect is done, before the next one is tried: show it to
   * the planner here, and nothing that was written is forgotten, even if a later effect throws. An
   * `absent` effect has written nothing: its change is what was read.
   */
  readonly onChange?: ((change: Change, effect: Effect) => void) | undefined
}

/**
 * How a plan ended. `changes` are the objects as the store answered them, also of the effects that
 * were done before one failed, and which objects it has said are absent: show them to the planner.
 *
 * - `done`: every effect is done
 * - `conflict`: the world is not the one that the plan was made for, or it is not known whether a
 *   write was done. Let `settle` find out what is stored, show it to the planner, and plan again
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
 * Does the effects of a plan on a store, in order, and stops at the first that cannot be done.
 * Nothing is tried twice, with one exception (field guards, below). For an `absent` effect it reads
 * from the store, which has to answer with what is stored now: a store over a cache is none.
 *
 * The fields that the condition of a patch names become `test` operations. A store refuses a patch
 * for a test that does not hold as for anything else, so after a refusal the object is read: a
 * guard that does not hold there is a conflict. If all hold, the patch is sent once more for the
 * version that was read, as the object may have changed in between: what the store refuses then, it
 * does not take.
 *
 * A resourceVersion in a precondition is the one that the planner saw; where this run itself has
 * written the object since, the version it got for that write takes its place. An effect for no
 * version, with one for a version of the same object after it, is done for that version too: else
 * it would not be seen whether others had written in between.
 *
 * @throws IpamError `INVALID_ARGUMENT` before anything is done, for a plan with an `external`
 * effect that is not its last or for which there is no caller, or with a field guard that cannot be
 * tested
 */
export async function runPlan(plan: Plan, store: Store, options: RunPlanOptions = {}): Promise<RunResult> {
  assertParts('runPlan', 'plan', plan, { outcome: 'object', effects: 'objects' })
  assertParts('runPlan', 'store', store, { capabilities: 'object', get: 'function' })
  assertObject('runPlan', 'options', options)

  assertPlanners(plan, options)
  for (const effect of plan.effects) if (effect.kind === 'patch') assertFieldGuards(effect)
  assertCanWrite(options.canWrite)
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
  // people are told when everything is written: what they do with it can then stop nothing
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
    refuse('external', expected, typeof external)
  }
  const after = effects.slice(index + 1).find(({ kind }) => kind !== 'event')
  if (after === undefined) return
  const expected = 'nothing after an external call: it is planned from the answer'
  refuse('plan', expected, after.kind)
}

/**
 * The versions that the effects are for: their own, or that of the next effect on the same object
 * that has one.
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

/** A write of this run: which version the planner had seen, and which one the object has now. */
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
      // that it is gone already is what was wanted
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
  // a write for another version than the first has failed
  own.set(key, { seen: written?.seen ?? seen, now: patched.value.metadata.resourceVersion })
  return { change: changeOf(patched.value) }
}

/** Asks the store itself for an object that must not be there. */
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
  return { failure: failure('STORE_CONFLICT', context) }
}

function confirmedAbsence(ref: ObjectRef, uid: string | undefined): Change {
  return { kind: 'absent', ref, uid, confirmed: true }
}

/** A patch that changes nothing: done for its precondition alone. */
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

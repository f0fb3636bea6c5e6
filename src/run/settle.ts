import { type ObjectRef, refOf } from '../crd/meta/object.js'
import type { Result } from '../errors/index.js'
import type { Change, CreateEffect, Effect } from '../plan/index.js'
import type { Store, StoreErrorCode, StoreFailure } from '../store/index.js'

/** An effect that met a conflict, or of which it is not known whether it was done. */
export interface Unsettled {
  readonly effect: Effect
  readonly failure: StoreFailure
}

/** What is stored of the object of an effect. */
export interface Settlement {
  readonly change: Change
  /** Whether it was written to find out. */
  readonly source: 'written' | 'read'
}

/** How often an object is created to find out, while others remove it again and again. */
const MAX_TRIES = 5

/**
 * What has become of the object that an effect is about: to be shown to the planner after a conflict, *before any other plan is made*. Whether
 * the effect was done may not be known, and an address that may have been written must not be offered to another claim.
 *
 * It reads; and where nothing is found after a `create` of unknown outcome, it creates the object again. For a write whose connection has
 * died may still wait in the server, behind a lock or another server, and be done after the read. Only an answer to a later write of
 * that name says that there is nothing more to come.
 *
 * @returns what is stored, or the failure of the store: then plan nothing, and try this again until it answers
 */
export async function settle(store: Store, unsettled: Unsettled): Promise<Result<Settlement, StoreErrorCode>> {
  const { effect, failure } = unsettled
  const read = await readBack(store, effect)
  const mayStillCome = effect.kind === 'create' && failure.code === 'STORE_OUTCOME_UNKNOWN'
  if (!read.ok || read.value.change.kind === 'present' || !mayStillCome) return read
  return createToKnow(store, effect)
}

async function createToKnow(store: Store, effect: CreateEffect): Promise<Result<Settlement, StoreErrorCode>> {
  for (let left = MAX_TRIES; ; left--) {
    const created = await store.create(effect.object)
    if (created.ok)
      return { ok: true, value: { change: { kind: 'present', object: created.value }, source: 'written' } }
    if (created.failure.code !== 'STORE_ALREADY_EXISTS') return created
    const read = await readBack(store, effect)
    if (!read.ok || read.value.change.kind === 'present') return read
    // it has been there, and is gone again: whether that was this one is not known
    if (left <= 1) return created
  }
}

async function readBack(store: Store, effect: Effect): Promise<Result<Settlement, StoreErrorCode>> {
  const ref = refOfEffect(effect)
  const found = await store.get(ref)
  if (found.ok) return { ok: true, value: { change: { kind: 'present', object: found.value }, source: 'read' } }
  if (found.failure.code !== 'STORE_NOT_FOUND') return found
  const change = { kind: 'absent', ref, uid: uidOfEffect(effect), confirmed: true } as const
  return { ok: true, value: { change, source: 'read' } }
}

/** The object that an effect is about. */
function refOfEffect(effect: Effect): ObjectRef {
  switch (effect.kind) {
    case 'create':
      return refOf(effect.object)
    case 'event':
      return effect.about
    case 'patch':
    case 'delete':
    case 'absent':
      return effect.ref
  }
}

/** The uid that an effect names, if it names one. */
function uidOfEffect(effect: Effect): string | undefined {
  switch (effect.kind) {
    case 'patch':
    case 'delete':
      return effect.if.uid
    case 'absent':
      return effect.uid
    default:
      return undefined
  }
}

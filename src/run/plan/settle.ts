import type { KubeObject } from '../../crd/meta/object.js'
import { check, type Kind, type KindOf } from '../../errors/check.js'
import { type Failure, IpamError, type Result } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import { type CreateEffect, EFFECT, type PatchEffect } from '../../plan/effect.js'
import { failedGuard } from '../../plan/field-guards.js'
import type { Change, Effect } from '../../plan/index.js'
import type { Store, StoreErrorCode, StoreFailure } from '../../store/index.js'
import { STORE } from '../../store/store.js'
import { type CanWrite, withheld } from '../can-write.js'
import { refOfEffect } from './effect-ref.js'
import { changeOf, isDoneOnce, sendPatch } from './send-patch.js'

/** An effect that met a conflict, or whose outcome is unknown. */
export interface Unsettled {
  readonly effect: Effect
  readonly failure: StoreFailure
  /** For a task: the number of its plans that have met a conflict, including this one. */
  readonly conflicts?: number | undefined
}

/**
 * The outcome of a write is unknown. Call {@link settle} before anything else is planned, and
 * before another run begins. The code is that of the write, `STORE_OUTCOME_UNKNOWN`. The cause says
 * why the outcome could not be read. The member `unsettled` distinguishes it from other errors.
 */
export class UnsettledError extends IpamError {
  readonly unsettled: Unsettled

  /** @param failure why the outcome could not be read */
  constructor(failure: StoreFailure, unsettled: Unsettled) {
    super(unsettled?.failure as Failure, new IpamError(failure as Failure))
    this.unsettled = unsettled
  }
}

/** The stored object of an effect. */
export interface Settlement {
  readonly change: Change
  /** Whether the object was written to find out, or only read. */
  readonly source: 'written' | 'read'
}

export interface SettleOptions {
  /**
   * Whether the write can no longer be done, so that a read tells its outcome. That is so if both
   * hold:
   *
   * - The server ends each request within a time limit (`statement_timeout`, the request time-out
   *   of an API server). That time has passed **since the write, and since every `settle` that
   *   answered `STORE_OUTCOME_UNKNOWN`**, because each of those has sent the write once more.
   * - No proxy or connection can still hold the write.
   *
   * For stores that accept no create any more: the namespace is being deleted, a quota is reached,
   * or a webhook denies it. Default false.
   */
  readonly serverHasGivenUp?: boolean | undefined
  /**
   * Whether a write may be sent again: {@link CanWrite}. If it returns false, the write is not
   * sent, and the outcome stays unknown.
   */
  readonly canWrite?: CanWrite | undefined
}

/** What is read of what is unsettled. */
export const UNSETTLED: Kind = ['open', { effect: EFFECT, failure: ['open', { code: 'text' }] }]

const SETTLE_OPTIONS: KindOf<SettleOptions> = { serverHasGivenUp: 'flag?', canWrite: 'function?' }

/**
 * Finds out the stored object of an effect after a conflict or an unknown outcome. Pass it to the
 * planner *before any other plan is made*: an address that may have been written must not be
 * offered to another claim.
 *
 * It reads the object. Two kinds of writes of unknown outcome are sent again: a `create`, and a
 * patch without a resourceVersion that changes a field which its condition names. The reason is
 * that a write whose connection has died may still wait in the server, behind a lock or another
 * server, and be done after the read. An answer to a later write of the same object proves that the
 * first write is not done later, **if writes arrive in the order in which they were sent**. The
 * engines of this package do the writes of one object one after the other. A proxy, a webhook or a
 * slow connection may still delay the first write (docs/adr/0012).
 *
 * @returns the stored object, or the failure of the store. After a failure plan nothing, and call
 *   this again until it succeeds. `STORE_OUTCOME_UNKNOWN`: the write was sent once more, and that
 *   outcome is unknown, too
 * @throws IpamError `INVALID_ARGUMENT`
 */
export async function settle(
  store: Store,
  unsettled: Unsettled,
  options: SettleOptions = {},
): Promise<Result<Settlement, StoreErrorCode>> {
  check('settle', 'store', store, STORE)
  check('settle', 'unsettled', unsettled, 'object')
  check('settle', 'options', options, SETTLE_OPTIONS)
  const { serverHasGivenUp = false, canWrite } = options

  const { effect, failure } = unsettled ?? {}
  if (effect === undefined || failure === undefined) {
    const expected = 'an effect and its failure, as runKey and UnsettledError have them'
    refuse('settle', 'unsettled', expected, 'one of them only, or none')
  }
  check<unknown>('settle', 'unsettled', unsettled, UNSETTLED)
  const mayStillCome = failure.code === 'STORE_OUTCOME_UNKNOWN' && !serverHasGivenUp
  if (!mayStillCome || !isToldByWriting(effect)) return readBack(store, effect)
  const stopped = withheld(effect, canWrite)
  if (stopped !== undefined) return { ok: false, failure: stopped }
  return effect.kind === 'create' ? createToKnow(store, effect) : patchToKnow(store, effect, canWrite)
}

/** Whether the same write, sent again, is done only if the first one was not done. */
function isToldByWriting(effect: Effect): effect is CreateEffect | PatchEffect {
  return effect.kind === 'create' || (effect.kind === 'patch' && isDoneOnce(effect))
}

async function patchToKnow(
  store: Store,
  effect: PatchEffect,
  canWrite: CanWrite | undefined,
): Promise<Result<Settlement, StoreErrorCode>> {
  const patched = await sendPatch(effect, store, { precondition: { uid: effect.if.uid }, canWrite })
  if (patched.ok) return { ok: true, value: { change: changeOf(patched.value), source: 'written' } }
  // two writes may be in flight now
  if (patched.failure.code === 'STORE_OUTCOME_UNKNOWN') return patched
  const read = await readBack(store, effect)
  return read.ok && cannotBeDone(effect, read.value.change) ? read : patched
}

/**
 * Whether a patch has no effect at any later time, because another object has the name, or its
 * guard does not hold.
 */
function cannotBeDone(effect: PatchEffect, change: Change): boolean {
  if (change.kind === 'absent') return true
  const { uid } = effect.if
  return (uid !== undefined && change.object.metadata.uid !== uid) || failedGuard(effect, change.object) !== undefined
}

async function createToKnow(store: Store, effect: CreateEffect): Promise<Result<Settlement, StoreErrorCode>> {
  const created = await store.create(effect.object)
  if (created.ok) {
    return { ok: true, value: { change: { kind: 'present', object: created.value }, source: 'written' } }
  }
  // two writes may be in flight now
  if (created.failure.code === 'STORE_OUTCOME_UNKNOWN') return created
  const read = await readBack(store, effect)
  // the object existed at some time. Or it exists, and cannot be created any more
  const isKnown =
    created.failure.code === 'STORE_ALREADY_EXISTS' || (read.ok && isThere(effect.object, read.value.change))
  return isKnown ? read : created
}

/**
 * Whether an object is the one that was sent, with all of its fields and owners, and not another
 * object of the same name.
 */
function isThere(sent: KubeObject, change: Change): boolean {
  if (change.kind === 'absent') return false
  const { metadata, status, ...fields } = sent
  const owners = new Set((change.object.metadata.ownerReferences ?? []).map(({ uid }) => uid))
  return (metadata.ownerReferences ?? []).every(({ uid }) => owners.has(uid)) && isPartOf(fields, change.object)
}

/** Whether a value has all that another value has. The store may have added defaults. */
function isPartOf(part: unknown, whole: unknown): boolean {
  if (typeof part !== 'object' || part === null) return part === whole
  if (typeof whole !== 'object' || whole === null || Array.isArray(part) !== Array.isArray(whole)) return false
  if (Array.isArray(part) && part.length !== (whole as unknown[]).length) return false
  return Object.entries(part).every(
    ([key, value]) => value === undefined || isPartOf(value, (whole as { readonly [key: string]: unknown })[key]),
  )
}

async function readBack(store: Store, effect: Effect): Promise<Result<Settlement, StoreErrorCode>> {
  const ref = refOfEffect(effect)
  const found = await store.get(ref)
  if (found.ok) return { ok: true, value: { change: { kind: 'present', object: found.value }, source: 'read' } }
  if (found.failure.code !== 'STORE_NOT_FOUND') return found
  const change = { kind: 'absent', ref, uid: uidOfEffect(effect), confirmed: true } as const
  return { ok: true, value: { change, source: 'read' } }
}

/** The uid that an effect names, if any. */
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

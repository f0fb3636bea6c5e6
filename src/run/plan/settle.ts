import type { KubeObject } from '../../crd/meta/object.js'
import { assertObject, assertParts } from '../../errors/checks.js'
import { type Failure, IpamError, type Result } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import type { CreateEffect, PatchEffect } from '../../plan/effect.js'
import { failedGuard } from '../../plan/field-guards.js'
import type { Change, Effect } from '../../plan/index.js'
import type { Store, StoreErrorCode, StoreFailure } from '../../store/index.js'
import { type CanWrite, withheld } from '../can-write.js'
import { refOfEffect } from './effect-ref.js'
import { changeOf, isDoneOnce, sendPatch } from './send-patch.js'

/** An effect that met a conflict, or of which it is not known whether it was done. */
export interface Unsettled {
  readonly effect: Effect
  readonly failure: StoreFailure
  /** Of a task: how many of its plans have met a conflict until then, this one too. */
  readonly conflicts?: number | undefined
}

/**
 * It is not known what has become of a write: {@link settle} has to tell before anything else is
 * planned, or another run begins. The code is that of the write, `STORE_OUTCOME_UNKNOWN`; the cause
 * says why it could not be found out. Told from others by `unsettled`.
 */
export class UnsettledError extends IpamError {
  readonly unsettled: Unsettled

  /** @param failure why it could not be found out */
  constructor(failure: StoreFailure, unsettled: Unsettled) {
    super({ ...unsettled?.failure, cause: new IpamError(failure as Failure) } as Failure)
    this.unsettled = unsettled
  }
}

/** What is stored of the object of an effect. */
export interface Settlement {
  readonly change: Change
  /** Whether it was written to find out. */
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
   * Whether a write may be sent again: {@link CanWrite}. After a no it is not, and nothing is
   * known.
   */
  readonly canWrite?: CanWrite | undefined
}

/**
 * What has become of the object that an effect is about: to be shown to the planner after a
 * conflict, *before any other plan is made*. Whether the effect was done may not be known, and an
 * address that may have been written must not be offered to another claim.
 *
 * It reads; but a `create` of unknown outcome it does again, and so a patch without a
 * resourceVersion that changes a field which its condition names. For a write whose connection has
 * died may still wait in the server, behind a lock or another server, and be done after the read.
 * An answer to a later write of that name says that there is nothing more to come, **if what was
 * sent first also arrives first**: the engines here do the writes of one object one after the
 * other, but a proxy, a webhook or a connection that is slower than the next one may hold the first
 * write back before it gets there (docs/adr/0012).
 *
 * @returns what is stored, or the failure of the store: then plan nothing, and try this again until
 * it answers. `STORE_OUTCOME_UNKNOWN` says that it was written once more, and that it is not known
 * what has become of that either
 * @throws IpamError `INVALID_ARGUMENT`
 */
export async function settle(
  store: Store,
  unsettled: Unsettled,
  options: SettleOptions = {},
): Promise<Result<Settlement, StoreErrorCode>> {
  assertParts('settle', 'store', store, { capabilities: 'object', get: 'function' })
  assertObject('settle', 'unsettled', unsettled)
  assertObject('settle', 'options', options)
  const { serverHasGivenUp = false, canWrite } = options

  const { effect, failure } = unsettled ?? {}
  if (effect === undefined || failure === undefined) {
    const expected = 'an effect and its failure, as runKey and UnsettledError have them'
    refuse('unsettled', expected, 'one of them only, or none')
  }
  const mayStillCome = failure.code === 'STORE_OUTCOME_UNKNOWN' && !serverHasGivenUp
  if (!mayStillCome || !isToldByWriting(effect)) return readBack(store, effect)
  const stopped = withheld(effect, canWrite)
  if (stopped !== undefined) return { ok: false, failure: stopped }
  return effect.kind === 'create' ? createToKnow(store, effect) : patchToKnow(store, effect, canWrite)
}

/** Whether the same write, sent again, is done only if the first one was not. */
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
  // now there may be two on their way
  if (patched.failure.code === 'STORE_OUTCOME_UNKNOWN') return patched
  const read = await readBack(store, effect)
  return read.ok && cannotBeDone(effect, read.value.change) ? read : patched
}

/**
 * Whether a patch does nothing whenever it arrives, because there is another object, or its guard
 * does not hold.
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
  // now there may be two on their way
  if (created.failure.code === 'STORE_OUTCOME_UNKNOWN') return created
  const read = await readBack(store, effect)
  // there was one, whatever has become of it since. Or it is there, and cannot come any more
  const isKnown =
    created.failure.code === 'STORE_ALREADY_EXISTS' || (read.ok && isThere(effect.object, read.value.change))
  return isKnown ? read : created
}

/**
 * Whether an object is the one that was sent, and not another that has got its name: with all of
 * its fields, and its owners.
 */
function isThere(sent: KubeObject, change: Change): boolean {
  if (change.kind === 'absent') return false
  const { metadata, status, ...fields } = sent
  const owners = new Set((change.object.metadata.ownerReferences ?? []).map(({ uid }) => uid))
  return (metadata.ownerReferences ?? []).every(({ uid }) => owners.has(uid)) && isPartOf(fields, change.object)
}

/** Whether a value has all that another one has. The store may have filled in defaults. */
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

import { formatRef, isDeleting, type Json, type KubeObject, refOf } from '../../crd/meta/object.js'
import { readPointer, sameJson } from '../../crd/meta/patch.js'
import { STORE_CONFLICT } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import type { PatchEffect } from '../../plan/effect.js'
import { compilePatch, failedGuard, fieldGuardsOf, isJsonPatch } from '../../plan/field-guards.js'
import type { Change } from '../../plan/index.js'
import type { Store, StoreErrorCode } from '../../store/index.js'
import type { Preconditions } from '../../store/store.js'
import { type CanWrite, withheld } from '../can-write.js'

export interface SendPatchOptions {
  readonly precondition: Preconditions
  readonly canWrite: CanWrite | undefined
}

/**
 * Sends a patch, and distinguishes a field guard that does not hold from a refusal of the store.
 * Without a guard it returns the promise of the store itself: another promise would change the
 * order in which concurrent plans continue.
 */
export function sendPatch(
  effect: PatchEffect,
  store: Store,
  options: SendPatchOptions,
): Promise<Result<KubeObject, StoreErrorCode>> {
  if (fieldGuardsOf(effect).length > 0) return sendGuarded(effect, store, options)
  return store.patch(effect.ref, effect.patch, { ...options.precondition, subresource: effect.subresource })
}

async function sendGuarded(
  effect: PatchEffect,
  store: Store,
  { precondition, canWrite }: SendPatchOptions,
): Promise<Result<KubeObject, StoreErrorCode>> {
  const { ref, subresource } = effect
  const patch = compilePatch(effect)
  const patched = await store.patch(ref, patch, { ...precondition, subresource })
  if (patched.ok || patched.failure.code !== 'STORE_INVALID') return patched
  const read = await store.get(ref)
  if (!read.ok) return read
  const failed = failedGuard(effect, read.value)
  if (failed !== undefined) return failWith(STORE_CONFLICT, { object: formatRef(ref), ...failed })
  if (precondition.resourceVersion !== undefined) return patched
  const notSent = withheld(effect, canWrite)
  if (notSent !== undefined) return { ok: false, failure: notSent }
  const { resourceVersion } = read.value.metadata
  return store.patch(ref, patch, { ...precondition, resourceVersion, subresource })
}

/**
 * Whether a patch that was done keeps the same patch from being done once more, whatever else has
 * changed: it sets or removes a field that its guard names. One with a resourceVersion is told by
 * that.
 */
export function isDoneOnce(effect: PatchEffect): boolean {
  if (!isJsonPatch(effect) || effect.if.resourceVersion !== undefined) return false
  return fieldGuardsOf(effect).some(({ keys, value }) => {
    const last = effect.patch.findLast(({ op, path }) => op !== 'test' && isSamePath(readPointer(path), keys))
    if (last?.op === 'remove') return value !== null
    return (last?.op === 'add' || last?.op === 'replace') && !sameJson(last.value as Json, value)
  })
}

function isSamePath(left: readonly string[] | undefined, right: readonly string[]): boolean {
  return left?.length === right.length && left.every((key, index) => key === right[index])
}

/** An object that is being deleted and that no finalizer holds any more is the last sight of it. */
export function changeOf(object: KubeObject): Change {
  return isDeleting(object) && !isHeld(object) && !hasGrace(object)
    ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
    : { kind: 'present', object }
}

/**
 * Whether an object goes after a while, as a Pod that is given time to end: until then it exists.
 */
export function hasGrace({ metadata }: KubeObject): boolean {
  const { deletionGracePeriodSeconds: seconds } = metadata as { readonly deletionGracePeriodSeconds?: unknown }
  return typeof seconds === 'number' && seconds > 0
}

export function isHeld(object: KubeObject): boolean {
  return (object.metadata.finalizers?.length ?? 0) > 0
}

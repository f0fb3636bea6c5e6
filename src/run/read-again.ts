import { type ObjectRef, refOf } from '../crd/meta/object.js'
import type { Result } from '../errors/index.js'
import type { Change, Effect } from '../plan/index.js'
import type { Store, StoreErrorCode } from '../store/index.js'

/**
 * What has become of the object that an effect is about: to be shown to the planner after a conflict, *before any other plan is made*. Whether
 * the effect was done may not be known, and an address that may have been written must not be offered to another claim.
 *
 * @param knownUid the uid under which the object was known, if it was. Default: the one that the effect names
 * @returns the change, or the failure of the store: then plan nothing until it answers
 */
export async function readAgain(
  store: Store,
  effect: Effect,
  knownUid: string | undefined = uidOfEffect(effect),
): Promise<Result<Change, StoreErrorCode>> {
  const ref = refOfEffect(effect)
  const found = await store.get(ref)
  if (found.ok) return { ok: true, value: { kind: 'present', object: found.value } }
  if (found.failure.code !== 'STORE_NOT_FOUND') return found
  return { ok: true, value: { kind: 'absent', ref, uid: knownUid, confirmed: true } }
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

import { formatRef, type KubeObject, type ObjectRef, refOf } from '../../crd/meta/object.js'
import type { DeleteEffect, PatchEffect } from '../../plan/index.js'

/** What stands before the uid of a missing owner. No object has a uid that begins like that. */
const MISSING = 'missing:'

/**
 * Changes nothing, and stops the plan if there is any object under this name: the reverse of a guard.
 *
 * It is a deletion that can hit nobody. Its precondition is a uid that no object has, so a store answers with a conflict if the name is taken,
 * and what is gone already counts as done. A planner can not look whether an owner exists, and what it was shown may be
 * old: its host does, at the moment that counts.
 *
 * The uid says whom it was about. Who is shown the end of "missing:1234" knows that 1234 did not exist after somebody asked for it.
 */
export function mustBeMissing(place: ObjectRef, uid: string): DeleteEffect {
  const why = `deletes nothing, as no object has that uid: it stops here if there is a ${formatRef(place)}, which may be the owner`
  return { kind: 'delete', ref: place, if: { uid: `${MISSING}${uid}` }, why }
}

/** The uid of the object that was proven missing, if that is what a change tells. */
export function missingUid(uid: string | undefined): string | undefined {
  return uid?.startsWith(MISSING) ? uid.slice(MISSING.length) : undefined
}

/** Changes nothing, and stops the plan if the name is no longer that of this object, in whatever version. */
export function mustBeTaken(occupant: KubeObject): PatchEffect {
  const why = 'the name is that of another object by now, so the owner is gone'
  return { kind: 'patch', ref: refOf(occupant), patch: {}, if: { uid: occupant.metadata.uid }, why }
}

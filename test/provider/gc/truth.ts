import type { KubeObject, OwnerReference } from 'ipam-kit/crd/meta'
import { expect } from 'vitest'
import { kinds } from './world.js'

// What the collector must do, in the way that is obviously right: lists of objects, and loops over
// all of them.

export type Standing = 'solid' | 'waiting' | 'orphaning' | 'unresolved' | 'absent'

/** What a reference comes to, given all objects of the kinds that are watched. */
export function standingOf(ref: OwnerReference, dependent: KubeObject, objects: readonly KubeObject[]): Standing {
  if (objects.some((it) => it.metadata.uid === ref.uid && isHeldBy(it, 'orphan'))) return 'orphaning'
  const kind = kinds.find((it) => it.kind === ref.kind)
  if (kind === undefined) return 'unresolved'
  const { namespace } = dependent.metadata
  if (kind.namespaced && namespace === undefined) return 'unresolved'
  const owner = objects.find(
    (it) =>
      it.kind === ref.kind &&
      it.metadata.name === ref.name &&
      it.metadata.namespace === (kind.namespaced ? namespace : undefined) &&
      it.metadata.uid === ref.uid,
  )
  if (owner === undefined) return 'absent'
  return isHeldBy(owner, 'foregroundDeletion') ? 'waiting' : 'solid'
}

export function ownersOf(object: KubeObject): readonly OwnerReference[] {
  return object.metadata.ownerReferences ?? []
}

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

export function isHeldBy(object: KubeObject, finalizer: string): boolean {
  return isDeleting(object) && (object.metadata.finalizers ?? []).includes(finalizer)
}

/** The other objects that an object waits for when it is deleted in foreground. */
export function blockersOf(object: KubeObject, objects: readonly KubeObject[]): readonly KubeObject[] {
  return objects.filter((it) => it !== object && ownersOf(it).some((ref) => isBlocking(ref, object)))
}

function isBlocking(ref: OwnerReference, owner: KubeObject): boolean {
  return ref.uid === owner.metadata.uid && ref.blockOwnerDeletion === true
}

/** Whether an object that waits for its dependents waits for itself, over whatever way. */
export function isInRing(object: KubeObject, objects: readonly KubeObject[]): boolean {
  const awaited = (it: KubeObject) => (isHeldBy(it, 'foregroundDeletion') ? blockersOf(it, objects) : [])
  const reached = new Set(awaited(object))
  for (const it of reached) for (const next of awaited(it)) reached.add(next)
  return reached.has(object)
}

/** What holds whenever nothing is left to do. */
export function expectQuiet(objects: readonly KubeObject[]): void {
  for (const object of objects) {
    const { name } = object.metadata
    const standings = ownersOf(object).map((ref) => standingOf(ref, object, objects))
    if (!isDeleting(object)) {
      for (const standing of standings) expect(['solid', 'unresolved'], `owner of ${name}`).toContain(standing)
    }
    expect(isHeldBy(object, 'orphan'), `${name} waits to be let go`).toBe(false)
    if (isHeldBy(object, 'foregroundDeletion')) {
      expect(blockersOf(object, objects).length, `what ${name} waits for`).toBeGreaterThan(0)
      expect(isInRing(object, objects), `${name} waits for itself`).toBe(false)
    }
  }
}

export interface Survivors {
  readonly must: ReadonlySet<string>
  readonly may: ReadonlySet<string>
}

/**
 * Who is left, by uid, when the collector has done all it can and nobody else holds anything: who
 * is not deleted, and has no owner or one that is left. Both sets are one, but for dependents of
 * owners that orphan: whether another owner of such a one goes before or after they are let go
 * decides.
 */
export function survivorsOf(objects: readonly KubeObject[]): Survivors {
  const orphans = (object: KubeObject) => object.metadata.finalizers?.includes('orphan') === true
  const mayBeFreed = (object: KubeObject) =>
    ownersOf(object).some((ref) => objects.some((it) => it.metadata.uid === ref.uid && orphans(it)))
  const isFreed = (object: KubeObject) => {
    const standings = ownersOf(object).map((ref) => standingOf(ref, object, objects))
    return standings.includes('orphaning') && standings.every((it) => it === 'orphaning' || it === 'absent')
  }
  return { must: keptBy(objects, isFreed), may: keptBy(objects, mayBeFreed) }
}

/** The largest set of objects of which each is free, has no owner, or has one in the set. */
function keptBy(objects: readonly KubeObject[], isFree: (object: KubeObject) => boolean): ReadonlySet<string> {
  let kept = objects.filter((object) => !isDeleting(object))
  for (;;) {
    const still = kept.filter((object) => {
      const owners = ownersOf(object)
      if (owners.length === 0 || isFree(object)) return true
      return owners.some((ref) => ['solid', 'unresolved'].includes(standingOf(ref, object, kept)))
    })
    if (still.length === kept.length) return new Set(kept.map((it) => it.metadata.uid as string))
    kept = still
  }
}

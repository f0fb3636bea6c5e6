import { formatRef, type KubeObject, kindKey, type ObjectRef, refOf } from '../crd/meta/object.js'
import { type Change, isOlderVersion } from '../plan/index.js'

/** What a cache shows of a kind. */
export interface CachedList {
  readonly items: readonly KubeObject[]
  /** Up to which version the cache has seen everything: of the list, or of the last event. */
  readonly resourceVersion: string
}

/**
 * The own writes, and what was read after them, that a cache does not show yet, for writers who plan from lists of a cache that lags behind. Without it the address that was
 * just given away looks free. (A {@link Planner} needs none: it is shown each write at once.)
 *
 * An object is assumed to be as it was written until the cache has got as far: then the cache is right, also about what others have done to it
 * since. O(own writes that are still ahead) a list, and as much memory.
 *
 * An own deletion is remembered until a cache that has got as far as the last noted write of the object no longer shows it. If none was noted: until a
 * cache does not show it.
 *
 * Versions have to be whole numbers, as those of Kubernetes and of every store here are.
 *
 * @example
 * const kind = { apiVersion: 'example.com/v1', kind: 'Address' }
 * const assumed = new Assumed()
 * // as runPlan tells by onChange
 * assumed.note({ kind: 'present', object: { ...kind, metadata: { name: 'web-1', resourceVersion: '7' } } })
 * assumed.overlay(kind, { items: [], resourceVersion: '6' }).map(({ metadata }) => metadata.name) // ['web-1']
 */
export class Assumed {
  /** By kind, then by key. */
  readonly #writes = new Map<string, Map<string, Write>>()

  /** How many own writes the cache has not shown yet. */
  get size(): number {
    let size = 0
    for (const writes of this.#writes.values()) size += writes.size
    return size
  }

  /**
   * Takes an own write in, as `runPlan` reports it or as the store answered, and all that `runKey` and `settle` show: what was read after a
   * conflict may be an own write whose answer was lost, and is newer than the cache in any case.
   *
   * Only {@link overlay} forgets, kind by kind: leave out kinds that are never overlaid, or they are kept for ever.
   */
  note(change: Change): void {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const kind = kindKey(ref)
    const writes = this.#writes.get(kind) ?? new Map<string, Write>()
    this.#writes.set(kind, writes)
    const key = formatRef(ref)
    const before = writes.get(key)
    const now = change.kind === 'present' ? afterWrite(before, change.object) : afterRemoval(before, change.uid)
    if (now === undefined) writes.delete(key)
    else writes.set(key, now)
  }

  /**
   * The objects of a kind as they are with the own writes; those that the cache has caught up with are forgotten.
   *
   * Objects that only the own writes know come last.
   */
  overlay(kind: Pick<ObjectRef, 'apiVersion' | 'kind'>, cached: CachedList): readonly KubeObject[] {
    const writes = this.#writes.get(kindKey(kind))
    if (writes === undefined || writes.size === 0) return cached.items
    const shown: KubeObject[] = []
    const seen = new Set<string>()
    for (const object of cached.items) {
      const key = formatRef(refOf(object))
      seen.add(key)
      const write = writes.get(key)
      const now = write === undefined ? object : merged(object, write)
      if (now === object) writes.delete(key)
      if (now !== undefined) shown.push(now)
    }
    for (const [key, write] of writes) {
      if (seen.has(key)) continue
      // the cache is as far as the write, or further, and does not have the object: it is gone by now
      if (!isOlderVersion(cached.resourceVersion, versionOf(write))) writes.delete(key)
      else if (write.kind === 'written') shown.push(write.object)
    }
    return shown
  }

  /** Forgets all of them: before a fresh list. */
  clear(): void {
    this.#writes.clear()
  }
}

/** The last own write of an object. */
type Write =
  | { readonly kind: 'written'; readonly object: KubeObject }
  /** Those with these uids were removed, after a write with this version; `undefined`: after writes that were not noted. */
  | { readonly kind: 'removed'; readonly uids: ReadonlySet<string>; readonly version: string | undefined }

function versionOf(write: Write): string | undefined {
  return write.kind === 'written' ? write.object.metadata.resourceVersion : write.version
}

// answers may be taken in out of order

function afterWrite(before: Write | undefined, object: KubeObject): Write {
  const { uid, resourceVersion: version } = object.metadata
  if (before !== undefined && isOlderVersion(version, versionOf(before))) return before
  const isGone = before?.kind === 'removed' && uid !== undefined && before.uids.has(uid)
  return isGone ? { ...before, version } : { kind: 'written', object }
}

/** @returns `undefined` if it is not known who has gone: nobody can be hidden for that */
function afterRemoval(before: Write | undefined, uid: string | undefined): Write | undefined {
  if (before?.kind === 'removed')
    return uid === undefined ? before : { ...before, uids: new Set([...before.uids, uid]) }
  const written = before?.object.metadata.uid
  // the end of one that had the name before is not that of the one that was written
  if (uid !== undefined && written !== undefined && uid !== written) return before
  const gone = uid ?? written
  if (gone === undefined) return undefined
  return { kind: 'removed', uids: new Set([gone]), version: before?.object.metadata.resourceVersion }
}

/** What there is: the object of the cache, or the one that was written after it. `undefined`: it was removed. */
function merged(cached: KubeObject, write: Write): KubeObject | undefined {
  const { uid, resourceVersion } = cached.metadata
  const isBehind = isOlderVersion(resourceVersion, versionOf(write))
  if (write.kind === 'written') return isBehind ? write.object : cached
  return isBehind || (uid !== undefined && write.uids.has(uid)) ? undefined : cached
}

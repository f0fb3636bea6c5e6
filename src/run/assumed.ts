import { formatRef, groupOf, type KubeObject, type ObjectRef, refOf } from '../crd/meta/object.js'
import { type Change, isOlderVersion } from '../plan/index.js'

/** What a cache shows of a kind. */
export interface CachedList {
  readonly items: readonly KubeObject[]
  /** Up to which version the cache has seen everything: of the list, or of the last event. */
  readonly resourceVersion: string
}

/**
 * The own writes that a cache does not show yet, for writers who plan from lists of a cache that lags behind. Without it the address that was
 * just given away looks free. (A {@link Planner} needs none: it is shown each write at once.)
 *
 * An object is assumed to be as it was written until the cache has got as far: then the cache is right, also about what others have done to it
 * since. O(own writes that are still ahead) a list, and as much memory.
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

  /** Takes an own write in: as `runPlan` reports it, or as the store answered. */
  note(change: Change): void {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const kind = kindKey(ref)
    const writes = this.#writes.get(kind) ?? new Map<string, Write>()
    this.#writes.set(kind, writes)
    const key = formatRef(ref)
    const before = writes.get(key)
    if (change.kind === 'present') {
      const version = change.object.metadata.resourceVersion
      const known = before?.object?.metadata.resourceVersion
      // answers may be taken in out of order
      if (before?.object === undefined || !isOlderVersion(version, known)) writes.set(key, { object: change.object })
    } else {
      const written = before?.object?.metadata.uid
      // the end of one that had the name before is not that of the one that was written
      if (change.uid !== undefined && written !== undefined && change.uid !== written) return
      writes.set(key, { object: undefined, goneUid: change.uid ?? written })
    }
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
    for (const [key, { object }] of writes) {
      if (seen.has(key)) continue
      // gone, and the cache does not have it either; or the cache is further than the write, and so it is gone by now
      const isPast = object === undefined || !isOlderVersion(cached.resourceVersion, object.metadata.resourceVersion)
      if (isPast) writes.delete(key)
      else shown.push(object)
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
  | { readonly object: KubeObject }
  /** It was removed. */
  | { readonly object: undefined; readonly goneUid: string | undefined }

/** What there is: the object of the cache, or the one that was written after it. `undefined`: it was removed. */
function merged(cached: KubeObject, write: Write): KubeObject | undefined {
  if (write.object === undefined) {
    const isThatOne = write.goneUid === undefined || write.goneUid === cached.metadata.uid
    return isThatOne ? undefined : cached
  }
  const isBehind = isOlderVersion(cached.metadata.resourceVersion, write.object.metadata.resourceVersion)
  return isBehind ? write.object : cached
}

function kindKey({ apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>): string {
  return `${groupOf(apiVersion)}/${kind}`
}

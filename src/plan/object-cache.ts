import { HAS_META, type KubeObject, kindKey, nameKey, type ObjectRef, REF, refOf } from '../crd/meta/object.js'
import { check, type KindOf } from '../errors/check.js'
import {
  type AnyWatch,
  type CachedObjects,
  type Delta,
  ParsedObjects,
  type TrimmedWatch,
  type Watch,
} from './cached-objects.js'
import type { Change } from './change.js'
import { isSelected, isSelective, type Selection, type TrimmedObject } from './selection.js'
import { PIECE, sortedByAge } from './sorted-by-age.js'

/** How many objects of a selection are remembered after they were deleted. */
const MAX_DELETED = 10_000

/** What a change has done to a cache. */
export interface Applied {
  readonly change: Change
  /**
   * Whether the change is newer than the cache: false for the event of an own write, and for an
   * older version.
   */
  readonly isNewer: boolean
  /**
   * Whether the change is an absence that was read before the object was observed. The object may
   * exist.
   */
  readonly isStale: boolean
  /** How an object has changed for a watch. `undefined`: no change. */
  deltaFor<T>(watch: AnyWatch<T>): Delta<T> | undefined
}

const CHANGE: KindOf<Change> = [
  'by',
  'kind',
  { present: ['open', { object: HAS_META }], absent: ['open', { ref: REF, uid: 'text?' }] },
]

export interface ApplyOptions {
  /**
   * The selection whose watch delivers the change. Left out: a write or a read of that object,
   * which applies to all selections of the kind.
   */
  readonly selection?: Selection | undefined
  /**
   * Whether the object is already trimmed to what the selection keeps ({@link ObjectCache.keep}).
   * Only with `selection`.
   */
  readonly isKept?: boolean | undefined
  /**
   * For a read: {@link ObjectCache.clock} when the request was sent. A response to a request from
   * before the last change does not replace that change. Left out: now.
   */
  readonly since?: number | undefined
}

const SELECTION: KindOf<Selection> = ['open', { apiVersion: 'text', kind: 'text', plural: 'text', keep: 'function?' }]

const APPLY: KindOf<ApplyOptions> = {
  selection: ['open?', { apiVersion: 'text', kind: 'text', keep: 'function?' }],
  isKept: 'flag?',
  since: 'number?',
}

/** What {@link ObjectCache.changesOf} finds in a list. */
export type ListChanges = { readonly kind: 'changes'; readonly changes: readonly Change[] } | WentBack

/** A list is older than the cache: the database of the store was restored to an earlier state. */
export interface WentBack {
  readonly kind: 'went-back'
  readonly ref: ObjectRef
  readonly how: 'older' | 'deleted'
}

/**
 * The objects that the planners of one process share. Informers, own writes and single reads apply
 * changes to it.
 *
 * The cache decides once for all planners whether a change is newer. A host applies the responses
 * of its own writes at once, so the cache is ahead of the informers. The event of each write
 * arrives later, and is not newer by then.
 *
 * - A deleted object does not come back: a uid is never used again.
 * - Of two versions of one object, and of two objects with one name, the newer version counts.
 *   Versions are compared if both are whole numbers, as in Kubernetes. Others count in the order in
 *   which they arrive.
 * - The deletion of an object does not apply to another object with its name. A deletion without a
 *   uid applies until the object is observed again.
 * - An absence does not count if it was requested before the object was observed.
 * - An object does not count if it was requested before the last change, unless its version is
 *   newer.
 * - An object that leaves a selection is not deleted.
 *
 * The cache remembers the last 10,000 deleted objects of each selection. If the database of the
 * store is restored to an earlier state, versions and uids are no longer valid: call `clear()`, and
 * list again.
 *
 * A change takes O(selections of its kind x their indexes), for any number of objects.
 */
export class ObjectCache {
  readonly #onAnnounced: ((applied: Applied) => void) | undefined
  /** By kind, then by selection. */
  readonly #kinds = new Map<string, Map<string, Collection>>()
  readonly #functions = new Map<object, number>()
  #clock = 0

  /**
   * @param options `onAnnounced` is set by the host. It receives each change that another part of
   *   the process has applied ({@link announce}), and passes it to the planners of the host
   */
  constructor(options: { readonly onAnnounced?: ((applied: Applied) => void) | undefined } = {}) {
    check('ObjectCache', 'options', options, 'object')
    const { onAnnounced } = options
    this.#onAnnounced = onAnnounced
  }

  /** The number of changes that were applied: a point in time, for {@link ApplyOptions.since}. */
  get clock(): number {
    return this.#clock
  }

  /** The objects of a watch. Each call with the same watch returns the same value. */
  open<T>(watch: Watch<T>): CachedObjects<T>
  open<T>(watch: TrimmedWatch<T>): CachedObjects<T, TrimmedObject>
  open<T>(watch: AnyWatch<T>): CachedObjects<T>
  open<T>(watch: AnyWatch<T>): CachedObjects<T> {
    check('ObjectCache.open', 'watch', watch, ['open', { apiVersion: 'text', kind: 'text', parse: 'function' }])
    // a trimmed object is read as a whole one: only the compiler knows the difference
    return this.#collection(watch).read(watch as Watch<T>)
  }

  /** Applies a change. */
  apply(change: Change, options: ApplyOptions = {}): Applied {
    check('ObjectCache.apply', 'change', change, CHANGE)
    check('ObjectCache.apply', 'options', options, APPLY)
    const { selection, isKept = false, since = this.#clock } = options

    // the cache keeps it, and each delta has it
    const ref = Object.freeze(change.kind === 'present' ? refOf(change.object) : { ...change.ref })
    const collections =
      selection === undefined ? [...(this.#kinds.get(kindKey(ref))?.values() ?? [])] : [this.#collection(selection)]
    const deltas = new Map<object, Delta<never>>()
    let isNewer = collections.length === 0
    let isStale = false
    const at = this.#clock + 1
    for (const collection of collections) {
      const taken = collection.take(change, ref, { at, since, isOwn: selection !== undefined, isKept }, deltas)
      if (taken === 'newer') isNewer = true
      if (taken === 'stale') isStale = true
    }
    this.#clock = at
    return {
      change,
      isNewer,
      isStale,
      deltaFor<T>(watch: AnyWatch<T>) {
        return deltas.get(watch) as Delta<T> | undefined
      },
    }
  }

  /**
   * Passes a change that another part of the process has applied to the host, such as the write of
   * a task. The event of a watch that follows is not newer, so the host would not learn of it.
   */
  announce(applied: Applied): void {
    this.#onAnnounced?.(applied)
  }

  /**
   * The changes from the cache to a list of a selection: objects that have changed, the oldest
   * first, and objects that do not exist any more. Apply them.
   *
   * @param since {@link clock} when the list was requested
   */
  changesOf(
    selection: Selection,
    list: { readonly items: readonly KubeObject[]; readonly resourceVersion: string },
    since: number,
  ): ListChanges {
    assertList('ObjectCache.changesOf', selection, list, since)

    const changes: Change[] = []
    const steps = this.#collection(selection).compare(list, since)
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value ?? { kind: 'changes', changes }
      if (step.value !== undefined) changes.push(step.value)
    }
  }

  /**
   * The same as {@link changesOf}, one change after the other, for a host that gives way to the
   * event loop in between. Apply each change before the next step: a present object with `since`,
   * because the cache may have changed between two steps.
   *
   * @yields a change; `undefined`: no change yet, and the host may give way
   * @returns `undefined` if the list is not older than the cache
   */
  compare(
    selection: Selection,
    list: { readonly items: readonly KubeObject[]; readonly resourceVersion: string },
    since: number,
  ): Generator<Change | undefined, WentBack | undefined> {
    assertList('ObjectCache.compare', selection, list, since)

    return this.#collection(selection).compare(list, since)
  }

  /** The part of an object that the cache keeps for a selection. */
  keep(selection: Selection, object: KubeObject): KubeObject {
    check('ObjectCache.keep', 'selection', selection, SELECTION)
    check('ObjectCache.keep', 'object', object, HAS_META)

    return selection.keep?.(object) ?? object
  }

  /** Whether the cache has no object. */
  get isEmpty(): boolean {
    return [...this.#kinds.values()].every((collections) => [...collections.values()].every(({ isEmpty }) => isEmpty))
  }

  /**
   * Marks a selection as complete: an object of it that the cache does not have does not exist.
   *
   * @param resourceVersion that of the list: the cache has what was stored at that version
   */
  complete(selection: Selection, resourceVersion?: string): void {
    check('ObjectCache.complete', 'selection', selection, SELECTION)
    if (resourceVersion !== undefined) check('ObjectCache.complete', 'resourceVersion', resourceVersion, 'text')

    const collection = this.#collection(selection)
    collection.isComplete = true
    collection.reach(resourceVersion)
  }

  /**
   * Removes everything: before a fresh list, and after the database of the store was restored to an
   * earlier state.
   */
  clear(): void {
    for (const collections of this.#kinds.values()) for (const collection of collections.values()) collection.clear()
  }

  #collection(selection: Selection): Collection {
    const kind = kindKey(selection)
    const collections = this.#kinds.get(kind) ?? new Map<string, Collection>()
    this.#kinds.set(kind, collections)
    const key = this.selectionKey(selection)
    const known = collections.get(key)
    if (known !== undefined) return known
    const collection = new Collection(selection)
    collections.set(key, collection)
    return collection
  }

  /**
   * Names a selection: two with the same name select the same objects of a kind, and remember the
   * same part of them.
   */
  selectionKey(selection: Selection): string {
    check('ObjectCache.selectionKey', 'selection', selection, SELECTION)

    const { namespace, labels, labelExpressions, fields, keep } = selection
    const what = [namespace, sorted(labels), labelExpressions, sorted(fields), keep && this.#numberOf(keep)]
    const isAll = what.every((part) => part === undefined)
    return isAll ? kindKey(selection) : `${kindKey(selection)} ${JSON.stringify(what.map((part) => part ?? null))}`
  }

  #numberOf(part: object): number {
    const known = this.#functions.get(part) ?? this.#functions.size
    this.#functions.set(part, known)
    return known
  }
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertList(of: string, selection: Selection, list: unknown, since: number): void {
  check(of, 'selection', selection, SELECTION)
  check(of, 'list', list, ['open', { items: ['list', 'object'], resourceVersion: 'text' }])
  check(of, 'since', since, 'number')
}

/** Whether one resourceVersion is older than another. Never, where either is no whole number. */
export function isOlderVersion(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined || !/^\d+$/.test(version) || !/^\d+$/.test(than)) return false
  const [a, b] = [version.replace(/^0+/, ''), than.replace(/^0+/, '')]
  return a.length === b.length ? a < b : a.length < b.length
}

/** The newest version of an object that was seen. */
interface Seen {
  readonly ref: ObjectRef
  readonly uid: string | undefined
  readonly version: string | undefined
  /** When an object of this name came that was not there before. */
  readonly cameAt: number
  /** When something was told of it last. */
  readonly toldAt: number
  /**
   * What the selection keeps of it. Left out: it was said not to exist, and not which one; the same
   * version or a newer one is believed.
   */
  readonly object: KubeObject | undefined
}

/**
 * Whether an object that was asked for at some time is older than what is known of it. Where the
 * versions do not say, the times do.
 */
function isOutdated({ metadata: { resourceVersion } }: KubeObject, seen: Seen, since: number): boolean {
  if (isOlderVersion(resourceVersion, seen.version)) return true
  const isSame = seen.object !== undefined && resourceVersion === seen.version
  return since < seen.toldAt && !isSame && !isOlderVersion(seen.version, resourceVersion)
}

/** What a change is to a collection. */
type Taken = 'newer' | 'echo' | 'stale'

interface TakeOptions {
  readonly at: number
  readonly since: number
  /**
   * The list or watch of the selection tells it: the object is one of those that are selected, or
   * has left them.
   */
  readonly isOwn: boolean
  /** The object is what the selection keeps of it. */
  readonly isKept: boolean
}

/** The objects of one selection, and everything that reads them. */
class Collection {
  readonly #selection: Selection
  readonly #seen = new Map<string, Seen>()
  /** Deleted objects, by name and uid, and when that was known. */
  readonly #deleted = new Map<string, number>()
  /** Those of which the store has said so when it was asked. */
  readonly #proven = new Map<string, true>()
  readonly #absent = new Map<string, true>()
  /** Objects that have left the selection, by name. */
  readonly #left = new Map<string, { readonly uid: string | undefined; readonly version: string | undefined }>()
  readonly #readers = new Map<object, ParsedObjects<unknown>>()
  /**
   * Everything that the list and the watch of the selection tell is known up to this version. Own
   * writes are ahead of it.
   */
  #reached: string | undefined
  isComplete = false

  constructor(selection: Selection) {
    this.#selection = selection
  }

  get isEmpty(): boolean {
    return this.#seen.size === 0
  }

  read<T>(watch: Watch<T>): CachedObjects<T> {
    const known = this.#readers.get(watch)
    if (known !== undefined) return known as ParsedObjects<T>
    const reader = new ParsedObjects(watch, {
      isKnownAbsent: (key) => this.#absent.has(key) || (this.isComplete && !isSelective(this.#selection)),
      absentNames: () => this.#absent.keys(),
      isProvenAbsent: (key, uid) => this.#proven.has(`${key} ${uid}`),
      hasReached: (version) => this.#reached !== undefined && !isOlderVersion(this.#reached, version),
    })
    this.#readers.set(watch, reader as ParsedObjects<unknown>)
    for (const [key, { ref, object }] of this.#seen) if (object !== undefined) reader.set(key, ref, object, false)
    return reader
  }

  /** A list or the watch has told everything up to a version. */
  reach(version: string | undefined): void {
    if (version !== undefined && !isOlderVersion(version, this.#reached)) this.#reached = version
  }

  /** Takes a change in, and adds what has changed for each reader. */
  take(change: Change, ref: ObjectRef, options: TakeOptions, deltas: Map<object, Delta<never>>): Taken {
    const key = nameKey(ref)
    if (change.kind === 'absent') return this.#takeAbsence(change, key, options, deltas)
    if (!options.isOwn && !isSelected(this.#selection, change.object)) {
      return this.#seen.has(key) ? this.#leave(key, change.object, ref, deltas) : 'echo'
    }
    const { uid, resourceVersion: version } = change.object.metadata
    // the objects of a list come in no order of versions
    if (options.isOwn && !options.isKept && this.isComplete) this.reach(version)
    const seen = this.#seen.get(key)
    if (uid !== undefined && this.#deleted.has(`${key} ${uid}`)) return 'echo'
    if (seen !== undefined && isOutdated(change.object, seen, options.since)) return 'echo'
    const left = this.#left.get(key)
    // what was written before it left the selection comes late
    if (left !== undefined && left.uid === uid && !isOlderVersion(left.version, version)) return 'echo'
    this.#left.delete(key)
    const isThere = seen?.object !== undefined
    const isOther = uid !== undefined && seen?.uid !== undefined && seen.uid !== uid
    const isSame = isThere && version !== undefined && version === seen.version && uid === seen.uid
    if (isOther) remember(this.#deleted, `${key} ${seen.uid}`, options.at)
    const keep = options.isKept ? undefined : this.#selection.keep
    const object =
      isSame && seen.object?.apiVersion === change.object.apiVersion
        ? seen.object
        : (keep?.(change.object) ?? change.object)
    this.#seen.set(key, {
      ref,
      uid: uid ?? seen?.uid,
      version,
      cameAt: isThere && !isOther ? seen.cameAt : options.at,
      toldAt: options.at,
      object,
    })
    const wasKnown = isThere || this.#absent.delete(key)
    this.#show(key, ref, object, deltas, wasKnown)
    return isSame ? 'echo' : 'newer'
  }

  *compare(
    list: { readonly items: readonly KubeObject[]; readonly resourceVersion: string },
    since: number,
  ): Generator<Change | undefined, WentBack | undefined> {
    const { items, resourceVersion } = list
    const listed = new Set<string>()
    const changed: KubeObject[] = []
    for (const object of items) {
      if (listed.size % PIECE === 0) yield undefined
      const ref = refOf(object)
      const key = nameKey(ref)
      listed.add(key)
      const { uid, resourceVersion: version } = object.metadata
      const seen = this.#seen.get(key)
      const known = seen?.version
      // what became known while the list was under way need not be in it
      const isOlder = isOlderVersion(version, known) && !isOlderVersion(resourceVersion, known)
      if (isOlder) return { kind: 'went-back', ref, how: 'older' }
      const deletedAt = this.#deleted.get(`${key} ${uid}`)
      if (deletedAt !== undefined && deletedAt <= since) return { kind: 'went-back', ref, how: 'deleted' }
      const isKnown =
        version === undefined
          ? JSON.stringify(seen?.object) === JSON.stringify(object)
          : seen?.object !== undefined && version === known && uid === seen.uid
      if (!isKnown && !(seen !== undefined && isOutdated(object, seen, since))) changed.push(object)
    }
    for (const object of yield* sortedByAge(changed)) yield { kind: 'present', object }
    let checked = 0
    for (const [key, { ref, uid, version, object, cameAt }] of this.#seen) {
      if (checked++ % PIECE === 0) yield undefined
      if (object === undefined || listed.has(key)) continue
      // what was written after the list was made is not in it; where the versions do not say when,
      // what came after it was asked for
      if (isOlderVersion(resourceVersion, version)) continue
      const isOfList = cameAt <= since || isOlderVersion(version, resourceVersion) || version === resourceVersion
      if (isOfList) yield { kind: 'absent', ref, uid }
    }
    return undefined
  }

  clear(): void {
    this.#seen.clear()
    this.#deleted.clear()
    this.#proven.clear()
    this.#absent.clear()
    this.#left.clear()
    this.#reached = undefined
    this.isComplete = false
    for (const reader of this.#readers.values()) reader.clear()
  }

  #takeAbsence(
    { ref, uid, confirmed }: Extract<Change, { kind: 'absent' }>,
    key: string,
    { at, since, isOwn }: TakeOptions,
    deltas: Map<object, Delta<never>>,
  ): Taken {
    const seen = this.#seen.get(key)
    if (confirmed === true && uid !== undefined) remember(this.#proven, `${key} ${uid}`, true)
    const isOther = uid !== undefined && seen?.uid !== undefined && seen.uid !== uid
    if (isOwn && isSelective(this.#selection)) {
      return isOther ? 'echo' : this.#leave(key, seen?.object, ref, deltas)
    }
    // it came after it was looked for
    if (seen?.object !== undefined && seen.cameAt > since && !isOther) return 'stale'
    if (uid !== undefined) remember(this.#deleted, `${key} ${uid}`, at)
    // the deletion of an earlier object says nothing of the one that has its name now
    if (isOther) return 'echo'
    const wasThere = seen?.object !== undefined
    if (uid !== undefined) this.#seen.delete(key)
    else if (seen !== undefined) this.#seen.set(key, { ...seen, toldAt: at, object: undefined })
    const wasKnown = wasThere || this.#absent.has(key)
    if (!this.isComplete) remember(this.#absent, key, true)
    this.#show(key, ref, undefined, deltas, wasKnown)
    return wasThere ? 'newer' : 'echo'
  }

  /** @param last the object as it was when it left, or when it was last seen */
  #leave(key: string, last: KubeObject | undefined, ref: ObjectRef, deltas: Map<object, Delta<never>>): Taken {
    const wasThere = this.#seen.delete(key)
    if (last !== undefined) {
      const { uid, resourceVersion: version } = last.metadata
      remember(this.#left, key, { uid, version })
    }
    this.#show(key, ref, undefined, deltas, wasThere)
    return wasThere ? 'newer' : 'echo'
  }

  #show(
    key: string,
    ref: ObjectRef,
    object: KubeObject | undefined,
    deltas: Map<object, Delta<never>>,
    wasKnown: boolean,
  ): void {
    for (const [watch, reader] of this.#readers)
      deltas.set(watch, reader.set(key, ref, object, wasKnown) as Delta<never>)
  }
}

/** Sets a name as the newest, and forgets the oldest one of too many. */
function remember<V>(names: Map<string, V>, name: string, value: V): void {
  names.delete(name)
  names.set(name, value)
  if (names.size > MAX_DELETED) names.delete(names.keys().next().value as string)
}

function sorted(
  map: { readonly [key: string]: string } | undefined,
): readonly (readonly [string, string])[] | undefined {
  return map && Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1))
}

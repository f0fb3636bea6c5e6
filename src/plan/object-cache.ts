import { type KubeObject, kindKey, type ObjectRef, refOf } from '../crd/meta/object.js'
import { assertKube, assertNumber, assertObject, assertParts, assertString } from '../errors/checks.js'
import {
  type AnyWatch,
  byAge,
  type CachedObjects,
  type Delta,
  nameKey,
  ParsedObjects,
  type TrimmedWatch,
  type Watch,
} from './cached-objects.js'
import type { Change } from './change.js'
import { isSelected, isSelective, type Selection, type TrimmedObject } from './selection.js'

/** How many objects of a selection are remembered after they were deleted. */
const MAX_DELETED = 10_000

/** What a change has done to a cache. */
export interface Applied {
  readonly change: Change
  /**
   * Whether it told anything that was not known: false for the echo of a write, and for what is
   * older than what is known.
   */
  readonly isNews: boolean
  /** It is an absence that was asked for before the object came: the object may well be there. */
  readonly isStale: boolean
  /** How an object has changed for a watch; `undefined`: nothing has changed for it. */
  deltaFor<T>(watch: AnyWatch<T>): Delta<T> | undefined
}

export interface ApplyOptions {
  /**
   * The selection whose watch tells of the change. Left out: a write or a read of that object,
   * which tells something to all selections of the kind.
   */
  readonly selection?: Selection | undefined
  /**
   * The object is what the selection keeps of it already ({@link ObjectCache.keep}). Only with
   * `selection`.
   */
  readonly isKept?: boolean | undefined
  /**
   * {@link ObjectCache.clock} when the object was asked for, if it was read. What was asked for
   * before the last change is not believed over that. Left out: now.
   */
  readonly since?: number | undefined
}

/** What {@link ObjectCache.changesOf} finds in a list. */
export type ListChanges =
  | { readonly kind: 'changes'; readonly changes: readonly Change[] }
  /**
   * The list shows what cannot be after what is known: what is stored has gone back to an earlier
   * state.
   */
  | { readonly kind: 'went-back'; readonly ref: ObjectRef; readonly how: 'older' | 'deleted' }

/**
 * The objects that the planners of one process know, fed by changes: of informers, of own writes,
 * of single reads.
 *
 * It decides once for all planners what is news and what is an echo. A host shows the answers of
 * its own writes at once, and so is ahead of its informers: each write comes again later, older
 * than what is known by then.
 *
 * - A deleted object does not come back: a uid is never used again.
 * - Of one object, and of two of one name, the newer version counts. Versions are compared where
 *   both are whole numbers, as they are in Kubernetes; others are taken as they come.
 * - The deletion of an object says nothing of another object with its name. One without a uid is
 *   believed until the object is seen again.
 * - An absence that was asked for before the object came is not believed; nor is an object that was
 *   asked for before the last change, unless its version is newer.
 * - An object that leaves a selection is not deleted.
 *
 * The last 10,000 deleted objects of a selection are remembered. After the database below was
 * restored to an earlier state, versions and uids are no longer true: `clear()`, and list again.
 *
 * A change costs O(selections of its kind x their indexes), whatever the number of objects.
 */
export class ObjectCache {
  readonly #onAnnounced: ((applied: Applied) => void) | undefined
  /** By kind, then by selection. */
  readonly #kinds = new Map<string, Map<string, Collection>>()
  readonly #functions = new Map<object, number>()
  #clock = 0

  /**
   * @param options `onAnnounced` is set by the host: it passes what another part of the process has
   *   found out, and applied, to the planners of the host ({@link announce})
   */
  constructor(options: { readonly onAnnounced?: ((applied: Applied) => void) | undefined } = {}) {
    assertObject('ObjectCache', 'options', options)
    const { onAnnounced } = options
    this.#onAnnounced = onAnnounced
  }

  /** How many changes were taken in: a moment, for {@link ApplyOptions.since}. */
  get clock(): number {
    return this.#clock
  }

  /** The objects of a watch. The same for each call with the same watch. */
  open<T>(watch: Watch<T>): CachedObjects<T>
  open<T>(watch: TrimmedWatch<T>): CachedObjects<T, TrimmedObject>
  open<T>(watch: AnyWatch<T>): CachedObjects<T>
  open<T>(watch: AnyWatch<T>): CachedObjects<T> {
    assertParts('ObjectCache.open', 'watch', watch, { apiVersion: 'text', kind: 'text', parse: 'function' })
    // a part of an object is read as it is: that it is one is known to the compiler alone
    return this.#collection(watch).read(watch as Watch<T>)
  }

  /** Takes a change in. */
  apply(change: Change, options: ApplyOptions = {}): Applied {
    assertParts('ObjectCache.apply', 'change', change, { kind: 'text' })
    assertObject('ObjectCache.apply', 'options', options)
    const { selection, isKept = false, since = this.#clock } = options

    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const collections = this.#of(ref, selection)
    const deltas = new Map<object, Delta<never>>()
    let isNews = collections.length === 0
    let isStale = false
    const at = this.#clock + 1
    for (const collection of collections) {
      const taken = collection.take(change, ref, { at, since, isOwn: selection !== undefined, isKept }, deltas)
      if (taken === 'news') isNews = true
      if (taken === 'stale') isStale = true
    }
    this.#clock = at
    return { change, isNews, isStale, deltaFor: <T>(watch: AnyWatch<T>) => deltas.get(watch) as Delta<T> | undefined }
  }

  /**
   * Tells the host of a change that another part of the process has applied, such as a task at its
   * write: the watch that tells it later tells nothing new.
   */
  announce(applied: Applied): void {
    this.#onAnnounced?.(applied)
  }

  /**
   * What a list of a selection tells that is not known: which objects have changed, the oldest
   * first, and which do not exist any more. Apply them.
   *
   * @param since {@link clock} when the list was asked for
   */
  changesOf(
    selection: Selection,
    list: { readonly items: readonly KubeObject[]; readonly resourceVersion: string },
    since: number,
  ): ListChanges {
    assertParts('ObjectCache.changesOf', 'selection', selection, { apiVersion: 'text', kind: 'text', plural: 'text' })
    assertParts('ObjectCache.changesOf', 'list', list, { items: 'objects', resourceVersion: 'text' })
    assertNumber('ObjectCache.changesOf', 'since', since)

    return this.#collection(selection).changesOf(list, since)
  }

  /** What is remembered of an object of a selection. */
  keep(selection: Selection, object: KubeObject): KubeObject {
    assertParts('ObjectCache.keep', 'selection', selection, { apiVersion: 'text', kind: 'text', plural: 'text' })
    assertKube('ObjectCache.keep', 'object', object)

    return selection.keep?.(object) ?? object
  }

  /** Whether no object is known. */
  get isEmpty(): boolean {
    return [...this.#kinds.values()].every((collections) => [...collections.values()].every(({ isEmpty }) => isEmpty))
  }

  /**
   * All objects of a selection are known from now on: what is not, does not exist.
   *
   * @param resourceVersion that of the list: what was stored by then is known
   */
  complete(selection: Selection, resourceVersion?: string): void {
    assertParts('ObjectCache.complete', 'selection', selection, { apiVersion: 'text', kind: 'text', plural: 'text' })
    if (resourceVersion !== undefined) assertString('ObjectCache.complete', 'resourceVersion', resourceVersion)

    const collection = this.#collection(selection)
    collection.isComplete = true
    collection.reach(resourceVersion)
  }

  /**
   * Forgets everything: before a fresh list, and after what is stored was restored to an earlier
   * state.
   */
  clear(): void {
    for (const collections of this.#kinds.values()) for (const collection of collections.values()) collection.clear()
  }

  #of(ref: ObjectRef, selection: Selection | undefined): readonly Collection[] {
    if (selection !== undefined) return [this.#collection(selection)]
    return [...(this.#kinds.get(kindKey(ref))?.values() ?? [])]
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
    assertParts('ObjectCache.selectionKey', 'selection', selection, {
      apiVersion: 'text',
      kind: 'text',
      plural: 'text',
    })

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
type Taken = 'news' | 'echo' | 'stale'

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
  readonly #proven = new Set<string>()
  readonly #absent = new Set<string>()
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
      absentNames: () => this.#absent,
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
    // the objects of a first list come in no order of versions
    if (options.isOwn && this.isComplete) this.reach(version)
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
    if (isOther) this.#noteDeleted(key, seen.uid as string, options.at)
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
    return isSame ? 'echo' : 'news'
  }

  changesOf(
    list: { readonly items: readonly KubeObject[]; readonly resourceVersion: string },
    since: number,
  ): ListChanges {
    const { items, resourceVersion } = list
    const listed = new Set<string>()
    const changed: KubeObject[] = []
    for (const object of items) {
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
          ? isSameContent(seen?.object, object)
          : seen?.object !== undefined && version === known && uid === seen.uid
      if (!isKnown && !(seen !== undefined && isOutdated(object, seen, since))) changed.push(object)
    }
    const absent = [...this.#seen].filter(([key, { version, object, cameAt }]) => {
      if (object === undefined || listed.has(key)) return false
      // what was written after the list was made is not in it; where the versions do not say when,
      // what came after it was asked for
      if (isOlderVersion(resourceVersion, version)) return false
      return cameAt <= since || isOlderVersion(version, resourceVersion) || version === resourceVersion
    })
    return {
      kind: 'changes',
      changes: [
        ...changed.sort(byAge).map((object): Change => ({ kind: 'present', object })),
        ...absent.map(([, { ref, uid }]): Change => ({ kind: 'absent', ref, uid })),
      ],
    }
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
    if (confirmed === true && uid !== undefined) remember(this.#proven, `${key} ${uid}`)
    const isOther = uid !== undefined && seen?.uid !== undefined && seen.uid !== uid
    if (isOwn && isSelective(this.#selection)) {
      return isOther ? 'echo' : this.#leave(key, seen?.object, ref, deltas)
    }
    // it came after it was looked for
    if (seen?.object !== undefined && seen.cameAt > since && !isOther) return 'stale'
    if (uid !== undefined) this.#noteDeleted(key, uid, at)
    // the deletion of an earlier object says nothing of the one that has its name now
    if (isOther) return 'echo'
    const wasThere = seen?.object !== undefined
    if (uid !== undefined) this.#seen.delete(key)
    else if (seen !== undefined) this.#seen.set(key, { ...seen, toldAt: at, object: undefined })
    const wasKnown = wasThere || this.#absent.has(key)
    if (!this.isComplete) remember(this.#absent, key)
    this.#show(key, ref, undefined, deltas, wasKnown)
    return wasThere ? 'news' : 'echo'
  }

  /** @param last the object as it was when it left, or when it was last seen */
  #leave(key: string, last: KubeObject | undefined, ref: ObjectRef, deltas: Map<object, Delta<never>>): Taken {
    const wasThere = this.#seen.delete(key)
    if (last !== undefined) {
      const { uid, resourceVersion: version } = last.metadata
      this.#left.delete(key)
      this.#left.set(key, { uid, version })
      if (this.#left.size > MAX_DELETED) this.#left.delete(first(this.#left.keys()))
    }
    this.#show(key, ref, undefined, deltas, wasThere)
    return wasThere ? 'news' : 'echo'
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

  #noteDeleted(key: string, uid: string, at: number): void {
    const name = `${key} ${uid}`
    this.#deleted.delete(name)
    this.#deleted.set(name, at)
    if (this.#deleted.size > MAX_DELETED) this.#deleted.delete(first(this.#deleted.keys()))
  }
}

/** Whether two objects without a version are alike. */
function isSameContent(left: KubeObject | undefined, right: KubeObject): boolean {
  return left !== undefined && JSON.stringify(left) === JSON.stringify(right)
}

/** Adds a name, and forgets the oldest one of too many. */
function remember(names: Set<string>, name: string): void {
  names.delete(name)
  names.add(name)
  if (names.size > MAX_DELETED) names.delete(first(names))
}

function first(keys: Iterable<string>): string {
  for (const key of keys) return key
  return ''
}

function sorted(
  map: { readonly [key: string]: string } | undefined,
): readonly (readonly [string, string])[] | undefined {
  return map && Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1))
}

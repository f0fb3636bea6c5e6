import type { Model } from '../crd/meta/model.js'
import { HAS_META, type KubeObject, type NameRef, nameKey, type ObjectRef } from '../crd/meta/object.js'
import { check } from '../errors/check.js'
import type { Selection, TrimmedObject } from './selection.js'

/** An object that can be read, or why it cannot. `object` is what the selection keeps of it. */
export type Parsed<T, O extends KubeObject = KubeObject> =
  | { readonly ok: true; readonly value: T; readonly object: O }
  | { readonly ok: false; readonly problem: string; readonly object: O }

/** A selection of whole objects, what a planner reads them as, and how it looks them up. */
export interface Watch<T> extends ReadAs<T, KubeObject> {
  readonly keep?: undefined
}

/** A {@link Watch} that remembers a part of each object: {@link Selection.keep}. */
export interface TrimmedWatch<T> extends ReadAs<T, TrimmedObject> {
  readonly keep: NonNullable<Selection['keep']>
}

/** A watch of either sort. */
export type AnyWatch<T> = Watch<T> | TrimmedWatch<T>

export interface ReadAs<T, O extends KubeObject> extends Selection {
  /**
   * Reads an object. It is called once for each version, must be pure, and must not throw.
   *
   * @param before the version before, if that could be read: what it computed may be used again
   */
  readonly parse: (object: O, before: T | undefined) => ParseResult<T>
  /**
   * For each index the keys under which an object is found: {@link CachedObjects.by}. They must be
   * pure.
   */
  readonly indexes?: { readonly [name: string]: (value: T, object: O) => readonly string[] } | undefined
}

/**
 * What `parse` of a watch answers: the value, or one sentence that says why the object cannot be
 * read.
 */
export type ParseResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string }

/** A watch of the objects of a model. */
export function modelWatch<T extends KubeObject>(
  model: Model<T>,
  options: Partial<Omit<Watch<T>, 'parse'>> = {},
): Watch<T> {
  check('modelWatch', 'model', model, ['open', { info: 'object', reads: 'list', is: 'function' }])
  check('modelWatch', 'options', options, 'object')

  return {
    ...model.info,
    ...options,
    parse: (object) => {
      const read = model.safeParse(object)
      return read.ok ? read : { ok: false, problem: read.failure.message }
    },
  }
}

/**
 * How one object of a watch has changed. Both are left out for an object that was not known and
 * does not exist.
 */
export interface Delta<T, O extends KubeObject = KubeObject> {
  readonly ref: ObjectRef
  readonly before: Parsed<T, O> | undefined
  /** Whether anything was known of the object before, also that it did not exist. */
  readonly wasKnown: boolean
  readonly now: Parsed<T, O> | undefined
}

/**
 * The objects of one watch, as far as they are known. A name is a reference, or `namespace/name`.
 * Lookups cost O(answer); those with several answers give the oldest object first.
 */
export interface CachedObjects<T, O extends KubeObject = KubeObject> extends Iterable<T> {
  /** How many objects there are, those that cannot be read included. */
  readonly size: number
  /** The object of a name, if it is known and can be read. */
  get(ref: NameRef | string): T | undefined
  /** The same with the object that it was made from, also of one that cannot be read. */
  entry(ref: NameRef | string): Parsed<T, O> | undefined
  /**
   * Whether there is an object of this name: `unknown` where the cache is filled by single reads,
   * and has not read this one. A cache that lists and watches knows all.
   */
  presence(ref: NameRef | string): 'present' | 'absent' | 'unknown'
  /** Under a key of an index. */
  by(index: string, key: string): readonly T[]
  /** The same in no particular order, one by one: for sums, and for a look at the first few. */
  each(index: string, key: string): Iterable<T>
  /** How many there are under a key of an index. O(1). */
  countBy(index: string, key: string): number
  /**
   * The names of which anything is known: of the objects, and in a cache that is filled by single
   * reads also of what was found to be absent.
   */
  names(): IterableIterator<string>
  /** The objects that cannot be read. O(1) if there are none. */
  unreadable(): readonly Extract<Parsed<T, O>, { ok: false }>[]
  /** Whether the store has said that no object of this uid exists under a name. */
  isProvenAbsent(ref: NameRef | string, uid: string): boolean
  /**
   * Whether the list or the watch has told everything that was stored of the selection up to a
   * resourceVersion of its kind. What the host has written itself is known sooner, and does not
   * count. False in a cache that is filled by single reads.
   */
  hasReached(version: string): boolean
}

/** Sorts objects: the oldest first, of the same age by namespace and name. */
export function byAge(left: KubeObject, right: KubeObject): number {
  check('byAge', 'left', left, HAS_META)
  check('byAge', 'right', right, HAS_META)

  return compareAge(left, right)
}

/** {@link byAge} for objects of the cache. */
export function compareAge(left: KubeObject, right: KubeObject): number {
  return (
    compareText(left.metadata.creationTimestamp ?? '', right.metadata.creationTimestamp ?? '') ||
    compareText(nameKey(left.metadata), nameKey(right.metadata))
  )
}

/** The order of code units. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** One way to read the objects of a collection, with its indexes. */
export class ParsedObjects<T> implements CachedObjects<T> {
  readonly #watch: Watch<T>
  readonly #facts: CollectionFacts
  readonly #entries = new Map<string, Parsed<T>>()
  readonly #unreadable = new Map<string, Extract<Parsed<T>, { ok: false }>>()
  readonly #indexes: ReadonlyMap<string, Index<T>>

  constructor(watch: Watch<T>, facts: CollectionFacts) {
    this.#watch = watch
    this.#facts = facts
    this.#indexes = new Map(Object.entries(watch.indexes ?? {}).map(([name, keysOf]) => [name, new Index(keysOf)]))
  }

  get size(): number {
    return this.#entries.size
  }

  get(ref: NameRef | string): T | undefined {
    const entry = this.#entries.get(nameKey(ref))
    return entry?.ok === true ? entry.value : undefined
  }

  entry(ref: NameRef | string): Parsed<T> | undefined {
    return this.#entries.get(nameKey(ref))
  }

  presence(ref: NameRef | string): 'present' | 'absent' | 'unknown' {
    if (this.#entries.has(nameKey(ref))) return 'present'
    return this.#facts.isKnownAbsent(nameKey(ref)) ? 'absent' : 'unknown'
  }

  by(index: string, key: string): readonly T[] {
    return this.#indexes.get(index)?.values(key) ?? []
  }

  each(index: string, key: string): Iterable<T> {
    return this.#indexes.get(index)?.each(key) ?? []
  }

  countBy(index: string, key: string): number {
    return this.#indexes.get(index)?.count(key) ?? 0
  }

  *names(): IterableIterator<string> {
    yield* this.#entries.keys()
    yield* this.#facts.absentNames()
  }

  unreadable(): readonly Extract<Parsed<T>, { ok: false }>[] {
    return [...this.#unreadable.values()]
  }

  isProvenAbsent(ref: NameRef | string, uid: string): boolean {
    return this.#facts.isProvenAbsent(nameKey(ref), uid)
  }

  hasReached(version: string): boolean {
    return this.#facts.hasReached(version)
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const entry of this.#entries.values()) if (entry.ok) yield entry.value
  }

  /** Takes in what is known of an object now. */
  set(key: string, ref: ObjectRef, object: KubeObject | undefined, wasKnown: boolean): Delta<T> {
    const before = this.#entries.get(key)
    if (object !== undefined && before !== undefined && isSameVersion(before.object, object)) {
      return { ref, before, wasKnown, now: before }
    }
    const read = object && this.#watch.parse(object, before?.ok === true ? before.value : undefined)
    const now = read && Object.freeze({ ...read, object } as Parsed<T>)
    if (now === undefined) this.#entries.delete(key)
    else this.#entries.set(key, now)
    if (now?.ok === false) this.#unreadable.set(key, now)
    else this.#unreadable.delete(key)
    for (const index of this.#indexes.values()) index.replace(key, before, now)
    return { ref, before, wasKnown, now }
  }

  clear(): void {
    this.#entries.clear()
    this.#unreadable.clear()
    for (const index of this.#indexes.values()) index.clear()
  }
}

/** What a collection knows beside its objects. */
export interface CollectionFacts {
  isKnownAbsent(key: string): boolean
  absentNames(): Iterable<string>
  isProvenAbsent(key: string, uid: string): boolean
  hasReached(version: string): boolean
}

/**
 * Whether two objects of one name are the same version of the same object. One without a version
 * never is.
 */
function isSameVersion(left: KubeObject, right: KubeObject): boolean {
  const { uid, resourceVersion } = left.metadata
  return (
    resourceVersion !== undefined &&
    resourceVersion === right.metadata.resourceVersion &&
    uid === right.metadata.uid &&
    left.apiVersion === right.apiVersion
  )
}

type Readable<T> = Extract<Parsed<T>, { ok: true }>

/**
 * Objects by the keys that a function gives. The only one of a key is stored as it is: most indexes
 * have thousands of keys with one object each.
 */
class Index<T> {
  readonly #keysOf: (value: T, object: KubeObject) => readonly string[]
  readonly #places = new Map<string, Readable<T> | Bucket<T>>()

  constructor(keysOf: (value: T, object: KubeObject) => readonly string[]) {
    this.#keysOf = keysOf
  }

  values(key: string): readonly T[] {
    const place = this.#places.get(key)
    if (place === undefined) return []
    return place instanceof Bucket ? place.values() : [place.value]
  }

  each(key: string): Iterable<T> {
    const place = this.#places.get(key)
    return place instanceof Bucket ? place.each() : this.values(key)
  }

  count(key: string): number {
    const place = this.#places.get(key)
    return place instanceof Bucket ? place.size : Number(place !== undefined)
  }

  replace(name: string, before: Parsed<T> | undefined, now: Parsed<T> | undefined): void {
    const had = before?.ok === true ? this.#keysOf(before.value, before.object) : []
    const has = now?.ok === true ? this.#keysOf(now.value, now.object) : []
    const kept = had.length === 0 ? undefined : new Set(has)
    for (const key of had) if (kept?.has(key) !== true) this.#remove(key, name)
    if (now?.ok === true) for (const key of has) this.#add(key, name, now)
  }

  #add(key: string, name: string, entry: Readable<T>): void {
    const place = this.#places.get(key)
    if (place instanceof Bucket) place.set(name, entry)
    else if (place === undefined || nameKey(place.object.metadata) === name) this.#places.set(key, entry)
    else this.#places.set(key, bucketOf(place, entry))
  }

  #remove(key: string, name: string): void {
    const place = this.#places.get(key)
    if (place instanceof Bucket) place.delete(name)
    if (!(place instanceof Bucket) || place.size === 0) this.#places.delete(key)
  }

  clear(): void {
    this.#places.clear()
  }
}

function bucketOf<T>(...entries: readonly Readable<T>[]): Bucket<T> {
  const bucket = new Bucket<T>()
  for (const entry of entries) bucket.set(nameKey(entry.object.metadata), entry)
  return bucket
}

/** Objects under one key, sorted when asked for, and only if some came since. */
class Bucket<T> {
  readonly #entries = new Map<string, Readable<T>>()
  /** The names in the order of {@link byAge}. */
  #names: readonly string[] | undefined
  #sorted: readonly T[] | undefined

  get size(): number {
    return this.#entries.size
  }

  set(name: string, entry: Readable<T>): void {
    const before = this.#entries.get(name)
    // another version of an object has the age of the first
    if (before === undefined || compareAge(before.object, entry.object) !== 0) this.#names = undefined
    this.#entries.set(name, entry)
    this.#sorted = undefined
  }

  delete(name: string): void {
    if (!this.#entries.delete(name)) return
    this.#names = undefined
    this.#sorted = undefined
  }

  *each(): IterableIterator<T> {
    for (const { value } of this.#entries.values()) yield value
  }

  values(): readonly T[] {
    if (this.#sorted === undefined) {
      const objectOf = (name: string) => this.#entries.get(name)!.object
      this.#names ??= [...this.#entries.keys()].sort((a, b) => compareAge(objectOf(a), objectOf(b)))
      this.#sorted = Object.freeze(this.#names.map((name) => this.#entries.get(name)!.value))
    }
    return this.#sorted
  }
}

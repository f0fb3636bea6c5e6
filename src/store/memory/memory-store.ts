import { formatRef, groupOf, type KindInfo, type KubeObject, type ObjectRef } from '../../crd/meta/object.js'
import { fail, failure, ok, quote, type Result } from '../../errors/index.js'
import type {
  ListQuery,
  MergePatch,
  ObjectList,
  Preconditions,
  Store,
  StoreErrorCode,
  StoreResult,
  Subresource,
  WatchEvent,
  WatchOptions,
} from '../store.js'
import {
  assertFunction,
  assertInteger,
  assertObject,
  assertPreconditions,
  assertQuery,
  assertRef,
  assertSubresource,
  assertWatchOptions,
  mistake,
} from './arguments.js'
import { asJson, type Draft, type DraftResult, readDraft, type StoredObject } from './draft.js'
import { History } from './history.js'
import { isObject, type JsonObject, mergePatch, type Problem, toJson, utf8Length } from './json.js'
import { type Kind, Kinds } from './kinds.js'
import { failedWatch, matches, Watcher } from './watcher.js'
import {
  conflict,
  created,
  creationProblem,
  deleted,
  type KindRules,
  scopeProblem,
  subresourceProblem,
  updated,
} from './writes.js'

export interface MemoryStoreOptions {
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number
  /**
   * The kinds that are known: their scope is checked. A kind that is not listed has a status subresource, and each of its objects
   * is namespaced if it has a namespace. All versions of a group are one kind: one of them is enough.
   */
  readonly kinds?: readonly KindInfo[] | undefined
  /** The uid of the nth object that is created, from 1. Default: `00000000-0000-4000-8000-000000000001` and so on. */
  readonly uid?: ((n: number) => string) | undefined
  /** The size of the largest object in bytes of UTF-8 JSON, up to 64 MiB. Default 1.5 MiB, as much as etcd takes. */
  readonly maxObjectBytes?: number | undefined
  /** How many events of all kinds together a watch can start behind. Default 10,000. */
  readonly history?: number | undefined
}

/** So that the JSON text of an object, where a character can become six, fits into a string. */
const LARGEST_OBJECT_BYTES = 64 * 1024 * 1024
const DEFAULT_OBJECT_BYTES = 1.5 * 1024 * 1024
const DEFAULT_HISTORY = 10_000

/** Of a store that nothing was written to. Not 0, which says "none" or "any" to an API server. */
const FIRST_VERSION = 1

/** The year 10000, which RFC 3339 can not write. */
const END_OF_TIME_MS = 253_402_300_800_000

/** A failed result fits wherever a result of the store is expected. */
type Failed = Result<never, StoreErrorCode>

interface WriteOptions {
  readonly subresource?: Subresource | undefined
}

/**
 * A store in memory with the semantics of a Kubernetes API server: the reference for the other adapters, and the store of tests,
 * demos and dry runs. Deterministic: the same calls under the same clock give the same objects.
 *
 * An operation is done when the call returns, the promise only hands its outcome over. A write costs microseconds, `get` is O(1),
 * `list` O(n) in the objects of the kind. Objects are deep-frozen and handed out without a copy; what was given is not kept.
 * A watch takes its place when it is called, buffers without a bound and is dropped with its iterator.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options. The methods reject with it for arguments of the wrong type, and only then
 * @example
 * const store = memoryStore({ now: () => Date.UTC(2026, 0, 2) })
 * const made = await store.create({ apiVersion: 'example.com/v1', kind: 'Pool', metadata: { name: 'blue' } })
 * made.ok && made.value.metadata.creationTimestamp // '2026-01-02T00:00:00Z'
 */
export function memoryStore(options: MemoryStoreOptions): Store {
  return new MemoryStore(options)
}

/**
 * Each method first does all that runs code of the caller (reading objects, the clock, the uid), then looks at what is stored and
 * changes it, without a pause in between: that makes it atomic.
 */
class MemoryStore implements Store {
  readonly #now: () => number
  readonly #uid: (n: number) => string
  readonly #maxObjectBytes: number
  readonly #historyLimit: number
  readonly #history: History
  readonly #kinds: Kinds
  #version = FIRST_VERSION
  #created = 0

  constructor(options: MemoryStoreOptions) {
    assertObject('options', options)
    const { now, kinds = [], uid = defaultUid } = options
    const { maxObjectBytes = DEFAULT_OBJECT_BYTES, history = DEFAULT_HISTORY } = options
    assertFunction('options.now', now)
    assertFunction('options.uid', uid)
    assertInteger('options.maxObjectBytes', maxObjectBytes, { min: 1, max: LARGEST_OBJECT_BYTES })
    assertInteger('options.history', history, { min: 0, max: Number.MAX_SAFE_INTEGER })
    this.#now = now
    this.#uid = uid
    this.#maxObjectBytes = maxObjectBytes
    this.#historyLimit = history
    this.#history = new History(history)
    this.#kinds = new Kinds(kinds)
  }

  async get(ref: ObjectRef): StoreResult<KubeObject> {
    assertRef(ref)
    return this.#find(ref)
  }

  async list(query: ListQuery): StoreResult<ObjectList> {
    assertQuery(query)
    const { rules, table } = this.#kinds.find(query)
    const problem = queryProblem(rules, query)
    if (problem !== undefined) return invalid(formatText(query.kind), problem)
    const items: KubeObject[] = []
    for (const object of table.values()) {
      if (matches(object, query)) items.push(object)
    }
    return ok({ items, resourceVersion: String(this.#version) })
  }

  async create(object: KubeObject): StoreResult<KubeObject> {
    assertObject('object', object)
    const read = this.#readObject(object)
    if (!read.ok) return read
    const draft = read.value
    const shown = formatRef(draft)
    const { rules } = this.#kinds.find(draft)
    const problem = scopeProblem(rules, draft.namespace) ?? creationProblem(draft)
    if (problem !== undefined) return invalid(shown, problem)
    const creationTimestamp = this.#timestamp()
    const uid = this.#uid(this.#created + 1)
    if (typeof uid !== 'string' || uid === '') throw mistake('options.uid', 'a function that gives a text', uid)

    const kind = this.#kinds.keep(draft)
    const isTaken = kind.table.get(draft.namespace, draft.name) !== undefined
    if (isTaken) return fail('STORE_ALREADY_EXISTS', { object: shown })
    const after = created(draft, rules, { uid, creationTimestamp, resourceVersion: this.#nextVersion() })
    const tooLarge = this.#sizeFailure(after, shown)
    if (tooLarge !== undefined) return tooLarge
    this.#created++
    this.#commit(kind, undefined, after)
    return ok(after)
  }

  async update(object: KubeObject, options: WriteOptions = {}): StoreResult<KubeObject> {
    assertObject('object', object)
    assertSubresource(options)
    const { subresource } = options
    const read = this.#readObject(object)
    return read.ok ? this.#write(read.value, subresource) : read
  }

  async patch(ref: ObjectRef, patch: MergePatch, options: Preconditions & WriteOptions = {}): StoreResult<KubeObject> {
    assertRef(ref)
    assertObject('patch', patch)
    assertPreconditions(options)
    assertSubresource(options)
    const { uid, resourceVersion, subresource } = options
    const shown = formatName(ref)
    const body = this.#readJson(patch, () => shown)
    if (!body.ok) return body

    const found = this.#find(ref)
    if (!found.ok) return found
    const stale = conflict(found.value, { uid, resourceVersion }, shown)
    if (stale !== undefined) return stale
    const merged = readMerged(found.value, body.value)
    return merged.ok ? this.#write(merged.draft, subresource) : invalid(shown, merged.at)
  }

  async delete(ref: ObjectRef, preconditions: Preconditions = {}): StoreResult<KubeObject> {
    assertRef(ref)
    assertPreconditions(preconditions)
    const { uid, resourceVersion } = preconditions
    const deletionTimestamp = this.#timestamp()

    const found = this.#find(ref)
    if (!found.ok) return found
    const before = found.value
    const stale = conflict(before, { uid, resourceVersion }, formatName(ref))
    if (stale !== undefined) return stale
    const { after, answer } = deleted(before, this.#nextVersion(), deletionTimestamp)
    this.#commit(this.#kinds.find(ref), before, after)
    return ok(answer)
  }

  watch(query: ListQuery, options: WatchOptions = {}): AsyncIterable<WatchEvent> {
    assertQuery(query)
    assertWatchOptions(options)
    const { apiVersion, kind, namespace, labels } = query
    const kept: ListQuery = { apiVersion, kind, namespace, labels: labels && { ...labels } }
    const { rules, chain } = this.#kinds.keep(kept)
    const problem = queryProblem(rules, kept)
    if (problem !== undefined) return failedWatch(failure('STORE_INVALID', { object: formatText(kind), ...problem }))

    const { resourceVersion } = options
    if (resourceVersion === undefined) {
      return new Watcher(chain, kept, { place: chain.after(this.#version), bookmark: undefined })
    }
    // a version is one event, of whatever kind
    const oldest = Math.max(0, this.#version - this.#historyLimit)
    const version = readVersion(resourceVersion)
    if (version === undefined || version < oldest || version > this.#version) {
      return failedWatch(failure('STORE_VERSION_GONE', { resourceVersion, oldest: String(oldest) }))
    }
    return new Watcher(chain, kept, { place: chain.after(version), bookmark: this.#version })
  }

  /** Writes the object, or of it the status, over the one of the same name. */
  #write(draft: Draft, subresource: Subresource | undefined): Result<StoredObject, StoreErrorCode> {
    const shown = formatRef(draft)
    const kind = this.#kinds.find(draft)
    const problem = scopeProblem(kind.rules, draft.namespace) ?? subresourceProblem(kind.rules, subresource)
    if (problem !== undefined) return invalid(shown, problem)
    const before = kind.table.get(draft.namespace, draft.name)
    if (before === undefined) return fail('STORE_NOT_FOUND', { object: shown })
    const context = { rules: kind.rules, subresource, resourceVersion: this.#nextVersion(), shown }
    const write = updated(before, draft, context)
    if (!write.ok) return write
    const { after, answer } = write.value
    const tooLarge = after === undefined ? undefined : this.#sizeFailure(after, shown)
    if (tooLarge !== undefined) return tooLarge
    this.#commit(kind, before, after)
    return ok(answer)
  }

  /** The only place where what is stored changes. */
  #commit({ table, chain }: Kind, before: StoredObject | undefined, after: StoredObject | undefined): void {
    if (after === before) return
    this.#version++
    if (after !== undefined) table.set(after)
    else if (before !== undefined) table.delete(before.metadata.namespace, before.metadata.name)
    this.#history.append(chain, { version: this.#version, before, after, next: undefined })
  }

  #find(ref: ObjectRef): Result<StoredObject, StoreErrorCode> {
    const { rules, table } = this.#kinds.find(ref)
    const problem = scopeProblem(rules, ref.namespace || undefined)
    if (problem !== undefined) return invalid(formatName(ref), problem)
    const object = table.get(ref.namespace, ref.name)
    return object === undefined ? fail('STORE_NOT_FOUND', { object: formatName(ref) }) : ok(object)
  }

  #readObject(object: KubeObject): Result<Draft, StoreErrorCode> {
    const json = this.#readJson(object, () => formatInput(object))
    if (!json.ok) return json
    const read = readDraft(json.value)
    return read.ok ? ok(read.draft) : invalid(formatInput(json.value), read.at)
  }

  #readJson(value: object, shown: () => string): Result<JsonObject, StoreErrorCode> {
    const maxBytes = this.#maxObjectBytes
    const read = toJson(value, maxBytes)
    if (read.kind === 'too-large') {
      return fail('STORE_OBJECT_TOO_LARGE', { object: shown(), sizeBytes: read.bytes, maxBytes })
    }
    if (read.kind === 'refused') return invalid(shown(), read.at, read.cause)
    if (!isObject(read.value)) throw mistake('object', 'an object', read.value)
    return ok(read.value)
  }

  #sizeFailure(object: StoredObject, shown: string): Failed | undefined {
    const maxBytes = this.#maxObjectBytes
    const text = JSON.stringify(object)
    // a UTF-16 unit is three bytes at most: mostly there is no need to count
    const sizeBytes = text.length * 3 <= maxBytes ? 0 : utf8Length(text)
    return sizeBytes <= maxBytes ? undefined : fail('STORE_OBJECT_TOO_LARGE', { object: shown, sizeBytes, maxBytes })
  }

  /** The resourceVersion of the next write that changes something. */
  #nextVersion(): string {
    return String(this.#version + 1)
  }

  #timestamp(): string {
    const nowMs = this.#now()
    const isTime = typeof nowMs === 'number' && nowMs >= 0 && nowMs < END_OF_TIME_MS
    if (!isTime) throw mistake('options.now', 'a clock in milliseconds', nowMs)
    return `${new Date(nowMs).toISOString().slice(0, 19)}Z`
  }
}

/** The object as a patch would have it. The patch must not make it another one; a namespace that it removes comes back. */
function readMerged(before: StoredObject, patch: JsonObject): DraftResult {
  const merged = mergePatch(asJson(before), patch) as JsonObject
  const metadata = merged.metadata
  const { namespace, name } = before.metadata
  const isNamespaceGone = namespace !== undefined && isObject(metadata) && !metadata.namespace
  const read = readDraft(isNamespaceGone ? { ...merged, metadata: { ...metadata, namespace } } : merged)
  if (!read.ok) return read
  const { draft } = read
  const path = [
    groupOf(draft.apiVersion) !== groupOf(before.apiVersion) && 'apiVersion',
    draft.kind !== before.kind && 'kind',
    draft.name !== name && 'metadata.name',
    draft.namespace !== namespace && 'metadata.namespace',
  ].find((changed) => changed !== false)
  return path === undefined ? read : { ok: false, at: { path, problem: 'can not be changed by a patch' } }
}

/** A namespace is not needed here: all of them are asked for without one. */
function queryProblem(rules: KindRules, { namespace }: ListQuery): Problem | undefined {
  return namespace === undefined || namespace === '' ? undefined : scopeProblem(rules, namespace)
}

function readVersion(text: string): number | undefined {
  return /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined
}

function defaultUid(n: number): string {
  return `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`
}

function invalid(object: string, { path, problem }: Problem, cause?: unknown): Failed {
  return fail('STORE_INVALID', { object, path, problem }, cause)
}

/** As `formatRef`, for a name that may be anything. */
function formatName({ kind, namespace, name }: Omit<ObjectRef, 'apiVersion'>): string {
  const ref = { kind: formatText(kind), name: formatText(name) }
  return formatRef(namespace === undefined || namespace === '' ? ref : { ...ref, namespace: formatText(namespace) })
}

function formatText(text: string): string {
  return /^[\w.:-]{1,253}$/.test(text) ? text : quote(text)
}

/** What an object of the caller says that it is. Reading it can fail in any way. */
function formatInput(object: object): string {
  try {
    const { kind, metadata } = object as { readonly kind?: unknown; readonly metadata?: { [key: string]: unknown } }
    const text = (value: unknown) => (typeof value === 'string' ? value : '')
    return formatName({ kind: text(kind), namespace: text(metadata?.namespace), name: text(metadata?.name) })
  } catch {
    return 'object'
  }
}

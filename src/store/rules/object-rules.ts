import { utf8Length } from '../../bytes/utf8.js'
import type { StoreKind } from '../../crd/meta/model.js'
import { formatRef, groupOf, type KubeObject, type ObjectRef } from '../../crd/meta/object.js'
import { mergePatch } from '../../crd/meta/patch.js'
import { STORE_ALREADY_EXISTS, STORE_NOT_FOUND, STORE_OBJECT_TOO_LARGE } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import type {
  DeleteOptions,
  JsonPatch,
  ListQuery,
  MergePatch,
  Preconditions,
  StoreErrorCode,
  WriteOptions,
} from '../store.js'
import {
  assertDeleteOptions,
  assertFunction,
  assertInteger,
  assertObject,
  assertPreconditions,
  assertQuery,
  assertRef,
  assertSubresource,
  mistake,
} from './arguments.js'
import { asJson, type Draft, type DraftResult, identityProblem, readDraft, type StoredObject } from './draft.js'
import { formatInput, formatName, formatText } from './format.js'
import { assertPatch, conditionsIn, invalid, readJson } from './input.js'
import { isObject, type JsonObject, mostBytes, type Problem } from './json.js'
import { applyJsonPatch, readJsonPatch } from './json-patch.js'
import { type KindRules, KnownKinds } from './kind-rules.js'
import { schemaProblem } from './schema-rules.js'
import { copyOf, isWhole, type Matcher, matcherOf, queryProblem } from './selectors.js'
import {
  conflict,
  created,
  creationProblem,
  deleted,
  scopeProblem,
  subresourceProblem,
  updated,
  updateProblem,
  type Write,
} from './writes.js'

export interface ObjectRulesOptions {
  /** The clock, in milliseconds since 1970. Only for people: nothing is decided by it. */
  readonly now: () => number
  /** A uid that is never used again, on any machine: `crypto.randomUUID()`. */
  readonly uid: () => string
  /**
   * The kinds that are known: their scope is checked. A kind that is not listed has a status
   * subresource, and each of its objects is namespaced if it has a namespace. All versions of a
   * group are one kind: one of them is enough. A model is accepted in place of its `info`.
   */
  readonly kinds?: readonly StoreKind[] | undefined
  /**
   * Whether `create`, `update` and `patch` check objects against the schema of their kind, as an
   * API server does, for the kinds that are given as models. An object that breaks its schema is
   * refused as `STORE_INVALID`, with the path and the words of an API server. A problem that the
   * stored object has already does not refuse an update. Unlike an API server, the store keeps
   * unknown fields and fills in no defaults. Costs O(size of the object) a write. Default false.
   */
  readonly checksSchemas?: boolean | undefined
  /**
   * The size of the largest object in bytes of UTF-8 JSON, up to 64 MiB. Default 1.5 MiB, as much
   * as etcd takes.
   */
  readonly maxObjectBytes?: number | undefined
}

/** Names the place where an object is kept: one for all versions of its group. */
export interface ObjectPlace {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string | undefined
  readonly name: string
}

/**
 * A write that was asked for, read and checked as far as it can be without the object that is
 * there.
 */
export interface Intent {
  readonly place: ObjectPlace
  /** The object in words, for failures. */
  readonly shown: string
  /**
   * What comes of it. Has no other effect, so that it can be done again for an object that has
   * changed meanwhile.
   *
   * @param before the object that is there
   * @param resourceVersion what the write gets if it changes something
   */
  apply(before: StoredObject | undefined, resourceVersion: string): Result<Write, StoreErrorCode>
}

/** A checked query. */
export interface Selection {
  readonly query: ListQuery
  readonly matches: Matcher
  /** Every object of the kind, or of the namespace, matches. */
  readonly isWhole: boolean
}

/** So that the JSON text of an object, where a character can become six, fits into a string. */
const LARGEST_OBJECT_BYTES = 64 * 1024 * 1024
const DEFAULT_OBJECT_BYTES = 1.5 * 1024 * 1024

/** The year 10000, which RFC 3339 cannot write. */
const END_OF_TIME_MS = 253_402_300_800_000

/** A failed result fits wherever a result of the store is expected. */
type Failed = Result<never, StoreErrorCode>

/**
 * What a Kubernetes API server does with a request before and after it looks at what is stored, as
 * functions without I/O: stores that keep documents on an engine of their own share it. All code of
 * the caller (objects with getters, the clock, the uid) runs here, before anything is read from the
 * engine.
 */
export class ObjectRules {
  readonly maxObjectBytes: number
  readonly checksSchemas: boolean
  readonly #now: () => number
  readonly #uid: () => string
  readonly #kinds: KnownKinds

  /** @throws IpamError `INVALID_ARGUMENT` */
  constructor(options: ObjectRulesOptions) {
    const { now, uid, kinds = [], checksSchemas = false, maxObjectBytes = DEFAULT_OBJECT_BYTES } = options
    assertFunction('options.now', now)
    assertFunction('options.uid', uid)
    assertInteger('options.maxObjectBytes', maxObjectBytes, { min: 1, max: LARGEST_OBJECT_BYTES })
    this.#now = now
    this.#uid = uid
    this.maxObjectBytes = maxObjectBytes
    this.checksSchemas = checksSchemas
    this.#kinds = new KnownKinds(kinds, checksSchemas)
  }

  /** Where an object is to be looked for. */
  place(ref: ObjectRef): Result<ObjectPlace, StoreErrorCode> {
    assertRef(ref)
    const namespace = ref.namespace || undefined
    const problem = scopeProblem(this.#kinds.rulesOf(ref), namespace)
    if (problem !== undefined) return invalid(formatName(ref), problem)
    return ok({ apiVersion: ref.apiVersion, kind: ref.kind, namespace, name: ref.name })
  }

  /** Whether an object can be of that name at all: a store need not look for others. */
  isNameable({ apiVersion, kind, namespace, name }: ObjectPlace): boolean {
    return identityProblem({ apiVersion, kind, namespace, name }) === undefined
  }

  /** The failure to find what {@link place} has found a place for. */
  notFound(place: ObjectPlace): Failed {
    return failWith(STORE_NOT_FOUND, { object: formatName(place) })
  }

  select(query: ListQuery): Result<Selection, StoreErrorCode> {
    assertQuery(query)
    // a watch continues for long: nothing of it may change under its feet
    const kept = copyOf(query)
    const problem = queryProblem(this.#kinds.rulesOf(kept), kept)
    return problem === undefined
      ? ok({ query: kept, matches: matcherOf(kept), isWhole: isWhole(kept) })
      : invalid(formatText(query.kind), problem)
  }

  create(object: KubeObject): Result<Intent, StoreErrorCode> {
    assertObject('object', object)
    const read = this.#readObject(object)
    if (!read.ok) return read
    const draft = read.value
    const shown = formatRef(draft)
    const rules = this.#kinds.rulesOf(draft)
    const problem = scopeProblem(rules, draft.namespace) ?? creationProblem(draft)
    if (problem !== undefined) return invalid(shown, problem)
    const creationTimestamp = this.#timestamp()
    const uid = this.#uid()
    if (typeof uid !== 'string' || uid === '') throw mistake('options.uid', 'a function that gives a text', uid)
    const apply: Intent['apply'] = (before, resourceVersion) => {
      if (before !== undefined) return failWith(STORE_ALREADY_EXISTS, { object: shown })
      const after = created(draft, rules, { uid, creationTimestamp, resourceVersion })
      return this.#refusal(undefined, after, rules, shown) ?? ok({ after, answer: after })
    }
    return ok({ place: placeOf(draft), shown, apply })
  }

  update(object: KubeObject, options: WriteOptions): Result<Intent, StoreErrorCode> {
    assertObject('object', object)
    assertSubresource(options)
    const { subresource } = options
    const read = this.#readObject(object)
    if (!read.ok) return read
    const draft = read.value
    const shown = formatRef(draft)
    const rules = this.#kinds.rulesOf(draft)
    const problem =
      scopeProblem(rules, draft.namespace) ?? subresourceProblem(rules, subresource) ?? updateProblem(draft)
    if (problem !== undefined) return invalid(shown, problem)
    const apply: Intent['apply'] = (before, resourceVersion) => {
      if (before === undefined) return failWith(STORE_NOT_FOUND, { object: shown })
      return this.#checked(before, updated(before, draft, { rules, subresource, resourceVersion, shown }), rules, shown)
    }
    return ok({ place: placeOf(draft), shown, apply })
  }

  patch(
    ref: ObjectRef,
    patch: MergePatch | JsonPatch,
    options: Preconditions & WriteOptions,
  ): Result<Intent, StoreErrorCode> {
    const placed = this.place(ref)
    assertPatch(patch)
    assertPreconditions(options)
    assertSubresource(options)
    const { uid, resourceVersion: seen, subresource } = options
    const shown = formatName(ref)
    const read = this.#readPatch(patch, shown)
    if (!read.ok) return read
    if (!placed.ok) return placed
    const { apply: patched, conditions } = read.value
    const rules = this.#kinds.rulesOf(ref)
    const apply: Intent['apply'] = (before, resourceVersion) => {
      if (before === undefined) return failWith(STORE_NOT_FOUND, { object: shown })
      const stale = conflict(before, { uid, resourceVersion: seen }, shown) ?? conflict(before, conditions, shown)
      if (stale !== undefined) return stale
      const problem = subresourceProblem(rules, subresource)
      if (problem !== undefined) return invalid(shown, problem)
      const value = patched(asJson(before))
      if ('path' in value) return invalid(shown, value)
      const merged = readPatched(before, value.value, rules)
      if (!merged.ok) return invalid(shown, merged.at)
      const write = updated(before, merged.draft, { rules, subresource, resourceVersion, shown })
      return this.#checked(before, write, rules, shown)
    }
    return ok({ place: placed.value, shown, apply })
  }

  delete(ref: ObjectRef, options: DeleteOptions): Result<Intent, StoreErrorCode> {
    const placed = this.place(ref)
    assertDeleteOptions(options)
    const { uid, resourceVersion: seen, propagation } = options
    const deletionTimestamp = this.#timestamp()
    if (!placed.ok) return placed
    const shown = formatName(ref)
    const apply: Intent['apply'] = (before, resourceVersion) => {
      if (before === undefined) return failWith(STORE_NOT_FOUND, { object: shown })
      const stale = conflict(before, { uid, resourceVersion: seen }, shown)
      return stale ?? ok(deleted(before, { propagation, resourceVersion, deletionTimestamp }))
    }
    return ok({ place: placed.value, shown, apply })
  }

  #readPatch(patch: MergePatch | JsonPatch, shown: string): Result<PatchInput, StoreErrorCode> {
    const json = readJson({ argument: 'patch', value: patch, shown: () => shown }, this.maxObjectBytes)
    if (!json.ok) return json
    const { value } = json
    if (isObject(value)) {
      return ok({ apply: (before) => ({ value: mergePatch(before, value) }), conditions: conditionsIn(value) })
    }
    const operations = readJsonPatch(value)
    if (!operations.ok) return invalid(shown, operations.at)
    return ok({ apply: (before) => applyJsonPatch(before, operations.value, this.maxObjectBytes), conditions: {} })
  }

  #readObject(object: KubeObject): Result<Draft, StoreErrorCode> {
    const json = readJson({ argument: 'object', value: object, shown: () => formatInput(object) }, this.maxObjectBytes)
    if (!json.ok) return json
    if (!isObject(json.value)) throw mistake('object', 'an object', json.value)
    const read = readDraft(json.value)
    return read.ok ? ok(read.draft) : invalid(formatInput(json.value), read.at)
  }

  #checked(
    before: StoredObject,
    write: Result<Write, StoreErrorCode>,
    rules: KindRules,
    shown: string,
  ): Result<Write, StoreErrorCode> {
    const after = write.ok ? write.value.after : undefined
    if (after === undefined || after === before) return write
    return this.#refusal(before, after, rules, shown) ?? write
  }

  /** Why what a write would store is refused, if it is. */
  #refusal(
    before: StoredObject | undefined,
    after: StoredObject,
    { schemaCheck }: KindRules,
    shown: string,
  ): Failed | undefined {
    const problem = schemaCheck === undefined ? undefined : schemaProblem(schemaCheck, before, after)
    return problem === undefined ? this.#sizeFailure(after, shown) : invalid(shown, problem)
  }

  #sizeFailure(object: StoredObject, shown: string): Failed | undefined {
    const maxBytes = this.maxObjectBytes
    // mostly there is no need to count
    const sizeBytes = mostBytes(asJson(object)) <= maxBytes ? 0 : utf8Length(JSON.stringify(object))
    return sizeBytes <= maxBytes ? undefined : failWith(STORE_OBJECT_TOO_LARGE, { object: shown, sizeBytes, maxBytes })
  }

  #timestamp(): string {
    const nowMs = this.#now()
    const isTime = typeof nowMs === 'number' && nowMs >= 0 && nowMs < END_OF_TIME_MS
    if (!isTime) throw mistake('options.now', 'a clock in milliseconds', nowMs)
    return `${new Date(nowMs).toISOString().slice(0, 19)}Z`
  }
}

/** What a patch made of an object, or why it does not fit. */
type Patched = { readonly value: unknown } | Problem

interface PatchInput {
  readonly apply: (before: JsonObject) => Patched
  /** Those that it carries itself. */
  readonly conditions: Preconditions
}

/**
 * The object as a patch would have it. The patch must not make it another one; a namespace that it
 * removes comes back, and one that it gives to an object of a cluster-scoped kind is not looked at.
 */
function readPatched(before: StoredObject, value: unknown, { namespaced }: KindRules): DraftResult {
  const merged = value as JsonObject
  const { namespace, name, uid } = before.metadata
  const isKept = isObject(merged.metadata) && (namespaced === false || !merged.metadata.namespace)
  const read = readDraft(
    isKept ? { ...merged, metadata: inNamespace(merged.metadata as JsonObject, namespace) } : merged,
  )
  if (!read.ok) return read
  const { draft } = read
  const path = [
    groupOf(draft.apiVersion) !== groupOf(before.apiVersion) && 'apiVersion',
    draft.kind !== before.kind && 'kind',
    draft.name !== name && 'metadata.name',
    draft.namespace !== namespace && 'metadata.namespace',
    (draft.metadata.uid ?? uid) !== uid && 'metadata.uid',
  ].find((changed) => changed !== false)
  return path === undefined ? read : { ok: false, at: { path, problem: 'cannot be changed by a patch' } }
}

function inNamespace({ namespace: _, ...metadata }: JsonObject, namespace: string | undefined): JsonObject {
  return namespace === undefined ? metadata : { ...metadata, namespace }
}

function placeOf({ apiVersion, kind, namespace, name }: Draft): ObjectPlace {
  return { apiVersion, kind, namespace, name }
}

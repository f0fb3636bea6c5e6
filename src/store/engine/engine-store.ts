import type { KubeObject } from '../../crd/meta/object.js'
import { errorText } from '../../errors/cause.js'
import { check, type KindOf } from '../../errors/check.js'
import {
  STORE_CONFLICT,
  STORE_INVALID,
  STORE_IO,
  STORE_OBJECT_TOO_LARGE,
  STORE_OUTCOME_UNKNOWN,
  STORE_VERSION_GONE,
} from '../../errors/definitions.js'
import { failure, failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { assertObject } from '../rules/arguments.js'
import type { StoredObject } from '../rules/draft.js'
import {
  type Intent,
  type ObjectPlace,
  ObjectRules,
  type ObjectRulesOptions,
  type Selection,
} from '../rules/object-rules.js'
import { formatContinue, type Page, placeOf } from '../rules/pages.js'
import { type Keeper, type Operation, ruledStore } from '../rules/ruled-store.js'
import { failedWatch } from '../rules/selectors.js'
import { withVersion } from '../rules/writes.js'
import type { ObjectList, Store, StoreErrorCode, StoreResult, WatchEvent } from '../store.js'
import { decodeDocument, encodeDocument, keyOf, scopeOf } from './document.js'
import type { DocumentScope, StoredDocument, StoreEngine } from './engine.js'
import { EngineWatch } from './watch.js'

/** The options of a store over an engine. */
export interface EngineStoreOptions extends ObjectRulesOptions {}

const ENGINE_STORE_OPTIONS: KindOf<EngineStoreOptions> = {
  now: 'function',
  uid: 'function',
  kinds: ['list?', 'object'],
  checksSchemas: 'flag?',
  maxObjectBytes: 'number?',
}

/** Those of the options of a store that every store over an engine has. */
export function engineOptionsOf(options: EngineStoreOptions): EngineStoreOptions {
  const { now, uid, kinds, checksSchemas, maxObjectBytes } = options
  return { now, uid, kinds, checksSchemas, maxObjectBytes }
}

/**
 * How often a write without a version is tried again because another writer has changed the object
 * in between. More conflicts in a row are a defect.
 */
const MAX_ATTEMPTS = 100

/** The largest number of documents that are read at once to find a page of selected objects. */
const MAX_STEP = 1_000

/** Holds nothing, on any engine: kinds begin with a letter. */
const NOWHERE: DocumentScope = { group: '', kind: '-' }

/** The version of an object that is not written yet: no engine returns it. */
const UNWRITTEN = 'unwritten'

/**
 * A store with the semantics of a Kubernetes API server over any database that can compare and swap
 * a text. The engine stores documents, and this store decides what they become. Any number of
 * processes may use one engine.
 *
 * A write reads the object, decides, and replaces exactly what it has read. If another writer has
 * changed the object in between, it decides again. `create` is one call of the engine, other writes
 * are two. `list` with labels or fields reads all objects of the kind or namespace, and leaves out
 * those that do not match.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options. The methods reject with it for arguments
 * of the wrong type, and only then
 */
export function engineStore(engine: StoreEngine, options: EngineStoreOptions): Store {
  assertObject('engine', engine)
  check('engineStore', 'options', options, ENGINE_STORE_OPTIONS)
  const rules = new ObjectRules(options)
  return ruledStore(rules, new Documents(engine, rules))
}

class Documents implements Keeper {
  readonly #engine: StoreEngine
  readonly #rules: ObjectRules

  constructor(engine: StoreEngine, rules: ObjectRules) {
    this.#engine = engine
    this.#rules = rules
  }

  async get(place: ObjectPlace): StoreResult<KubeObject> {
    // an invalid name would be another key, or one that the engine rejects
    if (!this.#rules.isNameable(place)) return this.#rules.notFound(place)
    return this.#reading('get', async () => {
      const document = await this.#engine.read(keyOf(place))
      return document === undefined ? this.#rules.notFound(place) : ok(decodeDocument(document))
    })
  }

  list(selection: Selection, page: Page): StoreResult<ObjectList> {
    return this.#reading('list', () => this.#list(selection, page))
  }

  watch(selection: Selection, resourceVersion: string | undefined): AsyncIterable<WatchEvent> {
    if (resourceVersion !== undefined && !/^(0|[1-9]\d{0,18})$/.test(resourceVersion)) {
      return failedWatch(failure(STORE_VERSION_GONE, { resourceVersion, oldest: '0' }))
    }
    const { matches, isWhole } = selection
    const scope = this.#scopeOf(selection)
    return new EngineWatch({
      follow: (stop) => this.#engine.follow(scope, resourceVersion, stop),
      matches,
      isWhole,
      failureOf: (error) => failure(STORE_IO, this.#trouble('watch', error), error),
      resourceVersion,
    })
  }

  /** An invalid namespace would be another scope, or one that the engine rejects. */
  #scopeOf({ query }: Selection): DocumentScope {
    const scope = scopeOf(query)
    return this.#rules.isNameable({ ...query, namespace: scope.namespace, name: 'any' }) ? scope : NOWHERE
  }

  async #list(selection: Selection, page: Page): StoreResult<ObjectList> {
    const scope = this.#scopeOf(selection)
    if (scope === NOWHERE) {
      const { revision } = await this.#engine.scan(scope, { limit: 1 })
      return ok({ items: [], resourceVersion: page.version ?? revision })
    }
    const items: StoredObject[] = []
    const { limit } = page
    let { after, version } = page
    // where a selector matches few objects, more are read at once each time
    for (let step = limit; ; step = Math.max(step, Math.min(2 * step, MAX_STEP))) {
      const part = await this.#engine.scan(scope, { after, limit: Number.isFinite(step) ? step : undefined })
      version ??= part.revision
      for (const [index, document] of part.documents.entries()) {
        const object = decodeDocument(document)
        after = placeOf(object)
        if (!selection.matches(object)) continue
        items.push(object)
        const isLast = index === part.documents.length - 1 && !part.hasMore
        if (items.length < limit || isLast) continue
        return ok({ items, resourceVersion: version, continue: formatContinue(version, after) })
      }
      if (!part.hasMore || part.documents.length === 0) return ok({ items, resourceVersion: version })
    }
  }

  async write(operation: Operation, intent: Intent): StoreResult<KubeObject> {
    if (!this.#rules.isNameable(intent.place))
      return intent.apply(undefined, UNWRITTEN) as Result<never, StoreErrorCode>
    // a new object rarely exists already: the engine reports it if it does
    let isSure = operation !== 'create'
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const found = isSure ? await this.#find(operation, intent) : ok(undefined)
      if (!found.ok) return found
      const written = await this.#attempt(operation, intent, found.value)
      if (written !== 'stale') return written
      isSure = true
    }
    const context = { object: intent.shown, expected: 'an object at rest', actual: `${MAX_ATTEMPTS} changes in a row` }
    return failWith(STORE_CONFLICT, context)
  }

  /** One attempt, on what was found. */
  async #attempt(
    operation: Operation,
    { place, shown, apply }: Intent,
    found: Found | undefined,
  ): Promise<Result<KubeObject, StoreErrorCode> | 'stale'> {
    const write = apply(found?.object, UNWRITTEN)
    if (!write.ok) return write
    const { after, answer } = write.value
    if (after === found?.object) return ok(answer)
    const text = after === undefined ? undefined : encodeDocument(after)
    const change = { key: keyOf(place), before: found?.document, after: text }
    try {
      const commit = await this.#engine.commit(change)
      switch (commit.kind) {
        case 'done':
          return ok(answer.metadata.resourceVersion === UNWRITTEN ? withVersion(answer, commit.revision) : answer)
        case 'stale':
          return 'stale'
        case 'too-large': {
          const { sizeBytes, maxBytes } = commit
          return failWith(STORE_OBJECT_TOO_LARGE, { object: shown, sizeBytes, maxBytes })
        }
        case 'invalid':
          return failWith(STORE_INVALID, { object: shown, path: 'document', problem: commit.problem }, commit.cause)
        case 'refused':
          return failWith(STORE_IO, { operation: this.#named(operation), problem: commit.problem }, commit.cause)
      }
    } catch (error) {
      return failWith(STORE_OUTCOME_UNKNOWN, { ...this.#trouble(operation, error), object: shown }, error)
    }
  }

  #find(operation: Operation, { place }: Intent): StoreResult<Found | undefined> {
    return this.#reading(operation, async () => {
      const document = await this.#engine.read(keyOf(place))
      return ok(document === undefined ? undefined : { document, object: decodeDocument(document) })
    })
  }

  /** Runs an operation that only reads: if it fails, nothing was written. */
  async #reading<T>(operation: Operation, read: () => StoreResult<T>): StoreResult<T> {
    try {
      return await read()
    } catch (error) {
      return failWith(STORE_IO, this.#trouble(operation, error), error)
    }
  }

  #trouble(operation: Operation, error: unknown) {
    return { operation: this.#named(operation), problem: errorText(error) }
  }

  #named(operation: Operation): string {
    return `${operation} (${this.#engine.name})`
  }
}

interface Found {
  readonly document: StoredDocument
  readonly object: StoredObject
}

import type { StoreKind } from '../../crd/meta/model.js'
import type { KubeObject, ObjectRef } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { STORE_CONFLICT, STORE_NOT_FOUND } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { quote } from '../../errors/quote.js'
import {
  assertDeleteOptions,
  assertFunction,
  assertInteger,
  assertListOptions,
  assertMatch,
  assertObject,
  assertPreconditions,
  assertQuery,
  assertRef,
  assertSubresource,
  assertWatchOptions,
  within,
} from '../rules/arguments.js'
import { formatName } from '../rules/format.js'
import { invalid } from '../rules/input.js'
import type { JsonObject } from '../rules/json.js'
import { comparePlaces, placeOf } from '../rules/pages.js'
import { copyOf } from '../rules/selectors.js'
import { conflict, scopeProblem, subresourceProblem } from '../rules/writes.js'
import type {
  DeleteOptions,
  JsonPatch,
  ListOptions,
  ListQuery,
  MergePatch,
  ObjectList,
  Preconditions,
  Propagation,
  Store,
  StoreCapabilities,
  StoreErrorCode,
  StoreResult,
  Subresource,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../store.js'
import { readList, readObject } from './answers.js'
import type { KubernetesClient } from './client.js'
import { conditionsOf, formatConditions, isVersion } from './conditions.js'
import { patchBody, readObjectInput, readPatchInput } from './input.js'
import { collectionPath, nameProblem, namespaceProblem, objectPath, queryOf } from './paths.js'
import { RecentWrites } from './recent-writes.js'
import { type About, type Asking, Requests } from './requests.js'
import { type Resource, Resources } from './resources.js'
import { type Selection, selectionOf } from './selection.js'
import { KubernetesWatch } from './watch.js'

export interface KubernetesStoreOptions {
  /** Waits before a watch is resumed: `(ms) => new Promise((done) => setTimeout(done, ms))`. */
  readonly sleep: (milliseconds: number) => Promise<unknown>
  /**
   * Kinds that are not looked up on the server. Any other kind is looked up once, for its name in
   * the path and its scope. A model is accepted in place of its `info`.
   */
  readonly kinds?: readonly StoreKind[] | undefined
  /** The name of the writer of a field in `managedFields`. Default `ipam-kit`. */
  readonly fieldManager?: string | undefined
  /**
   * The size of the largest object that is sent, in bytes of UTF-8 JSON, up to 64 MiB. Default 1.5
   * MiB, the limit of etcd.
   */
  readonly maxObjectBytes?: number | undefined
  /**
   * The time after which the API server gives up an unfinished write, in whole seconds from 1 to
   * 60. Such a write does not reach etcd any more. Left out: the limit of the server, by default 60
   * s. A leader with a lease needs a value below the time that other candidates wait after the
   * leader has stepped down.
   */
  readonly writeTimeoutSeconds?: number | undefined
}

const KUBERNETES_STORE_OPTIONS: KindOf<KubernetesStoreOptions> = {
  sleep: 'function',
  kinds: ['list?', 'object'],
  fieldManager: 'text?',
  maxObjectBytes: 'number?',
  writeTimeoutSeconds: 'number?',
}

const DEFAULT_OBJECT_BYTES = 1.5 * 1024 * 1024
const LARGEST_OBJECT_BYTES = 64 * 1024 * 1024

/**
 * How often a write that depends on a read is tried again because the object has changed in
 * between.
 */
const MAX_ATTEMPTS = 100

/**
 * A store on a Kubernetes API server. The server makes the rules. The store checks only what the
 * server would misread.
 *
 * `get`, `list`, `create` and `update` take one request. `patch` takes one, or two if it is
 * refused, or if it merges a status with a uid and the version is not one that this store has
 * recently written. `delete` takes two: it reads the object, and deletes exactly that object. Pages
 * of a list of all namespaces are ordered within each page, and follow the order of the server.
 *
 * A watch first requests the current version, and continues by itself when its connection ends.
 *
 * - It ends with `STORE_IO` after ten failures in a row without an event in between, which takes
 *   about half a minute plus the time of the connections. It ends at once if the server refuses it.
 * - It reconnects every 25 s. The server then sends its current version, so that a watch without
 *   changes does not expire. Behind a proxy that buffers whole answers, events arrive late.
 * - A connection without any data, not even its end, is closed after 40 s. That is a failure, as is
 *   any end except the silent end of a connection that was established.
 *
 * Patches are JSON patches or merge patches, never strategic merge patches. Without `propagation`
 * the server decides about the dependents of a deleted object: for nearly all kinds as with
 * `Background`.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options. The methods reject with it for arguments
 * of the wrong type, and only then
 * @example
 * import { KubeConfig, Watch } from '@kubernetes/client-node'
 *
 * const config = new KubeConfig()
 * config.loadFromDefault()
 * const client = fromClientNode(config, new Watch(config), { signal: () => AbortSignal.timeout(30_000) })
 * const store = kubernetesStore(client, { sleep: (ms) => new Promise((done) => setTimeout(done, ms)) })
 * const listed = await store.list({ apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress' })
 * listed.ok // true
 */
export function kubernetesStore(client: KubernetesClient, options: KubernetesStoreOptions): Store {
  return within('kubernetesStore', () => {
    return new KubernetesStore(client, options)
  })
}

/** An object by its path. */
interface Target {
  readonly ref: ObjectRef
  readonly resource: Resource
  readonly shown: string
}

class KubernetesStore implements Store {
  readonly capabilities: StoreCapabilities
  readonly #client: KubernetesClient
  readonly #requests: Requests
  readonly #resources: Resources
  readonly #options: KubernetesStoreOptions
  readonly #fieldManager: string
  /** As the server reads it. */
  readonly #writeTimeout: string | undefined
  readonly #maxBytes: number
  readonly #recentWrites = new RecentWrites()

  constructor(client: KubernetesClient, options: KubernetesStoreOptions) {
    assertObject('client', client)
    assertFunction('client.request', client.request)
    assertFunction('client.watch', client.watch)
    check('kubernetesStore', 'options', options, KUBERNETES_STORE_OPTIONS)
    assertFunction('options.sleep', options.sleep)
    const { kinds = [], fieldManager = 'ipam-kit', maxObjectBytes = DEFAULT_OBJECT_BYTES } = options
    const { writeTimeoutSeconds } = options
    assertInteger('options.maxObjectBytes', maxObjectBytes, { min: 1, max: LARGEST_OBJECT_BYTES })
    if (writeTimeoutSeconds !== undefined) {
      assertInteger('options.writeTimeoutSeconds', writeTimeoutSeconds, { min: 1, max: 60 })
    }
    const expected = 'a text of at most 128 ASCII characters'
    assertMatch('options.fieldManager', fieldManager, /^[\x21-\x7e]{1,128}$/, expected)
    this.#client = client
    this.#options = options
    this.#fieldManager = fieldManager
    this.#writeTimeout = writeTimeoutSeconds === undefined ? undefined : `${writeTimeoutSeconds}s`
    this.#maxBytes = maxObjectBytes
    this.#requests = new Requests(client, maxObjectBytes)
    this.#resources = new Resources(kinds, (path, shown) =>
      this.#requests.read({ method: 'GET', path }, { operation: 'list', shown }, (json) => json),
    )
    this.capabilities = Object.freeze({
      collectsGarbage: true,
      checksSchemas: true,
      convertsVersions: true,
      maxObjectBytes,
    })
  }

  async get(ref: ObjectRef): StoreResult<KubeObject> {
    assertRef(ref)
    const target = await this.#find(ref)
    return target.ok ? this.#read(target.value) : target
  }

  async list(query: ListQuery, options: ListOptions = {}): StoreResult<ObjectList> {
    assertQuery(query)
    assertListOptions(options)
    const { limit, continue: token } = options
    const selected = await selectionOf(this.#resources, copyOf(query))
    if (!selected.ok) return selected
    const { resource, path, parameters, shown } = selected.value
    const about = { operation: 'list', shown, from: token ?? '0' } as const
    const asked = `${path}${queryOf({ ...parameters, limit, continue: token || undefined })}`
    const list = await this.#requests.read({ method: 'GET', path: asked }, about, (json) => readList(json, resource))
    return list.ok ? ok({ ...list.value, items: ordered(list.value.items) }) : list
  }

  async create(object: KubeObject): StoreResult<KubeObject> {
    const input = readObjectInput(object, this.#maxBytes)
    if (!input.ok) return input
    const { ref, resourceVersion, json } = input.value
    const shown = formatName(ref)
    if (resourceVersion !== undefined) {
      return invalid(shown, { path: 'metadata.resourceVersion', problem: 'must not be set on an object to be created' })
    }
    const name = nameProblem(ref.name)
    if (name !== undefined) return invalid(shown, { path: 'metadata.name', problem: name })
    const namespace = namespaceProblem(ref.namespace)
    if (namespace !== undefined) return invalid(shown, { path: 'metadata.namespace', problem: namespace })
    const target = await this.#find(ref)
    if (!target.ok) return target
    const path = `${collectionPath(target.value.resource, ref.namespace)}${this.#asManager()}`
    return this.#write({ method: 'POST', path, body: json }, { operation: 'create', shown })
  }

  async update(object: KubeObject, options: WriteOptions = {}): StoreResult<KubeObject> {
    const input = readObjectInput(object, this.#maxBytes)
    assertSubresource(options)
    const { subresource } = options
    if (!input.ok) return input
    const { ref, uid, resourceVersion, metadata, json } = input.value
    const shown = formatName(ref)
    if (ref.name === '') return invalid(shown, { path: 'metadata.name', problem: 'is required' })
    // of some kinds the server would take that for a write that does not mind what is there
    if (resourceVersion === undefined) {
      return invalid(shown, { path: 'metadata.resourceVersion', problem: 'must be specified for an update' })
    }
    const found = await this.#find(ref, subresource)
    if (!found.ok) return found
    const target = found.value
    const put = (body: object) => {
      const about = { operation: 'update', shown, expected: `resourceVersion ${quote(resourceVersion)}` } as const
      return this.#write({ method: 'PUT', path: this.#writePath(target, subresource), body }, about)
    }
    if (!isVersion(resourceVersion)) return this.#refuse(target, { resourceVersion })
    if (uid !== undefined) return put(json)
    // of some kinds the server creates what is not there, unless it is to be that very object
    return this.#onRead(target, { resourceVersion }, (before) =>
      put({ ...json, metadata: { ...metadata, uid: before.metadata.uid } }),
    )
  }

  async patch(
    ref: ObjectRef,
    patch: MergePatch | JsonPatch,
    options: Preconditions & WriteOptions = {},
  ): StoreResult<KubeObject> {
    assertRef(ref)
    assertPreconditions(options)
    assertSubresource(options)
    const { uid, resourceVersion, subresource } = options
    const conditions = { uid, resourceVersion }
    const read = readPatchInput(patch, formatName(ref), this.#maxBytes)
    if (!read.ok) return read
    const found = await this.#find(ref, subresource)
    if (!found.ok) return found
    const target = found.value
    const wanted = conditionsOf(conditions, read.value)
    // what cannot hold, the server may take for no condition at all
    if (wanted === undefined) return this.#refuse(target, conditions)
    const send = (guards: Preconditions) => this.#patch(target, patchBody(read.value, guards), subresource, guards)
    // in a merge patch of a status the server does not look at the uid
    const looksAway = read.value.kind === 'merge' && subresource === 'status'
    if (looksAway && wanted.uid !== undefined && !this.#recentWrites.isOf(target.shown, ref.apiVersion, wanted)) {
      return this.#onRead(target, wanted, ({ metadata: { resourceVersion } }) => send({ resourceVersion }))
    }
    const written = await send(looksAway ? { resourceVersion: wanted.resourceVersion } : wanted)
    return written.ok ? written : this.#explain(written, target, wanted)
  }

  async delete(ref: ObjectRef, options: DeleteOptions = {}): StoreResult<KubeObject> {
    assertRef(ref)
    assertDeleteOptions(options)
    const { uid, resourceVersion, propagation } = options
    const target = await this.#find(ref)
    if (!target.ok) return target
    const conditions = { uid, resourceVersion }
    return this.#onRead(target.value, conditions, (before) => this.#delete(target.value, before, propagation))
  }

  watch(query: ListQuery, options: WatchOptions = {}): AsyncIterable<WatchEvent> {
    assertQuery(query)
    assertWatchOptions(options)
    const kept = copyOf(query)
    return new KubernetesWatch({
      client: this.#client,
      sleep: this.#options.sleep,
      resourceVersion: options.resourceVersion,
      select: () => selectionOf(this.#resources, kept),
      version: (selection) => this.#version(selection),
    })
  }

  /** Where an object is, if there can be one of that name. */
  async #find(ref: ObjectRef, subresource?: Subresource): StoreResult<Target> {
    const { apiVersion, kind, name } = ref
    const namespace = ref.namespace || undefined
    const shown = formatName(ref)
    const resource = await this.#resources.find({ apiVersion, kind }, shown)
    if (!resource.ok) return resource
    const { rules } = resource.value
    const problem = scopeProblem(rules, namespace) ?? subresourceProblem(rules, subresource)
    if (problem !== undefined) return invalid(shown, problem)
    if (nameProblem(name) !== undefined || namespaceProblem(namespace) !== undefined) {
      return failWith(STORE_NOT_FOUND, { object: shown })
    }
    const place = namespace === undefined ? { apiVersion, kind, name } : { apiVersion, kind, namespace, name }
    return ok({ ref: place, resource: resource.value, shown })
  }

  #read({ resource, ref, shown }: Target): StoreResult<KubeObject> {
    return this.#requests.object({ method: 'GET', path: objectPath(resource, ref) }, { operation: 'get', shown })
  }

  #patch(
    target: Target,
    body: unknown,
    subresource: Subresource | undefined,
    guards: Preconditions,
  ): StoreResult<KubeObject> {
    const contentType = Array.isArray(body) ? 'application/json-patch+json' : 'application/merge-patch+json'
    const path = this.#writePath(target, subresource)
    const about = { operation: 'patch', shown: target.shown, expected: formatConditions(guards) } as const
    return this.#write({ method: 'PATCH', path, contentType, body }, about)
  }

  async #write(asking: Asking, about: About): StoreResult<KubeObject> {
    const answer = await this.#requests.object(asking, about)
    if (answer.ok) this.#recentWrites.note(about.shown, answer.value)
    return answer
  }

  #delete(
    { resource, ref, shown }: Target,
    before: KubeObject,
    propagationPolicy: Propagation | undefined,
  ): StoreResult<KubeObject> {
    const { uid, resourceVersion } = before.metadata
    // a client that sends no body with a DELETE would remove whatever is there: the server looks
    // for the conditions in the query then
    const path = `${objectPath(resource, ref)}${queryOf({ uid, resourceVersion, propagationPolicy, timeout: this.#writeTimeout })}`
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid, resourceVersion }, propagationPolicy }
    const about: About = { operation: 'delete', shown, expected: formatConditions({ uid, resourceVersion }) }
    // what is gone is no longer shown
    const read = (json: JsonObject | undefined) => (json?.kind === 'Status' ? before : readObject(json))
    return this.#requests.read({ method: 'DELETE', path, body }, about, read)
  }

  /** Reads an object, and writes only if it is still what was read. */
  async #onRead(
    target: Target,
    conditions: Preconditions,
    write: (before: KubeObject) => StoreResult<KubeObject>,
  ): StoreResult<KubeObject> {
    let last: string | undefined
    for (let attempt = 1; ; attempt++) {
      const read = await this.#read(target)
      if (!read.ok) return read
      const stale = conflict(read.value, conditions, target.shown)
      if (stale !== undefined) return stale
      const written = await write(read.value)
      if (written.ok || written.failure.code !== 'STORE_CONFLICT') return written
      const { resourceVersion } = read.value.metadata
      // the object has not changed: the conflict is another one
      if (resourceVersion === last || attempt === MAX_ATTEMPTS) return written
      last = resourceVersion
    }
  }

  /** The failure of a write under conditions that cannot hold. */
  async #refuse(target: Target, conditions: Preconditions): StoreResult<never> {
    const read = await this.#read(target)
    if (!read.ok) return read
    const otherwise = { object: target.shown, expected: formatConditions(conditions), actual: 'another one' }
    return conflict(read.value, conditions, target.shown) ?? failWith(STORE_CONFLICT, otherwise)
  }

  /**
   * A patch may be refused because the object is no longer the one that it was made for: of a test
   * that does not hold, and of another uid, the server says only that the patch is invalid, and it
   * looks at the version last. Neither comes back once it is another one.
   */
  async #explain(
    refused: Result<never, StoreErrorCode>,
    target: Target,
    conditions: Preconditions,
  ): StoreResult<never> {
    const { uid, resourceVersion } = conditions
    const isInvalid = !refused.ok && refused.failure.code === 'STORE_INVALID'
    if (!isInvalid || (uid === undefined && resourceVersion === undefined)) return refused
    const read = await this.#read(target)
    if (!read.ok) return read.failure.code === 'STORE_NOT_FOUND' ? read : refused
    return conflict(read.value, conditions, target.shown) ?? refused
  }

  /** The version that the server is at. */
  #version({ path, resource, shown }: Selection): StoreResult<string> {
    const asking = { method: 'GET', path: `${path}${queryOf({ limit: 1 })}` } as const
    const read = (json: JsonObject | undefined) => readList(json, resource)?.resourceVersion
    return this.#requests.read(asking, { operation: 'watch', shown }, read)
  }

  #writePath({ resource, ref }: Target, subresource: Subresource | undefined): string {
    return `${objectPath(resource, ref)}${subresource === 'status' ? '/status' : ''}${this.#asManager()}`
  }

  #asManager(): string {
    return queryOf({ fieldManager: this.#fieldManager, timeout: this.#writeTimeout })
  }
}

/** The server has them in order, but for namespaces of which one begins with another. */
function ordered(items: readonly KubeObject[]): readonly KubeObject[] {
  const compare = (left: KubeObject, right: KubeObject) => comparePlaces(placeOf(left), placeOf(right))
  const isOrdered = items.every((item, index) => index === 0 || compare(items[index - 1]!, item) < 0)
  return isOrdered ? items : [...items].sort(compare)
}

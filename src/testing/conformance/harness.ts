import type { Json, KindInfo, KubeObject, ObjectRef } from '../../crd/meta/object.js'
import type { Failure, Result } from '../../errors/index.js'
import type { JsonPatch, MergePatch, Store, StoreErrorCode } from '../../store/index.js'
import type { DeleteOptions, Preconditions, StoreCapabilities, WriteOptions } from '../../store/store.js'

const GROUP = 'conformance.ipam-kit.dev'

/** A namespaced kind with a status, and `spec.color` to select it by. */
export const POOL: KindInfo = { ...kindOf('Pool', {}), selectableFields: ['spec.color'] }

/** A cluster-scoped kind with a status. */
export const REGION: KindInfo = kindOf('Region', { namespaced: false })

/** A namespaced kind whose status is a field like any other. */
export const PLAIN: KindInfo = kindOf('Plain', { statusSubresource: false })

function kindOf(name: string, { namespaced = true, statusSubresource = true }: Partial<KindInfo>): KindInfo {
  const kind = `Conformance${name}`
  return { apiVersion: `${GROUP}/v1`, kind, plural: `${kind.toLowerCase()}s`, namespaced, statusSubresource }
}

/** The other version under which each kind is known. */
export const OTHER_VERSION = `${GROUP}/v1beta1`

/**
 * The kinds of the suite. The store has to know them. A server with schemas needs schemas that keep
 * unknown fields.
 */
export const conformanceKinds: readonly KindInfo[] = [POOL, REGION, PLAIN]

/** What the suite needs of the store under test. */
export interface ConformanceOptions {
  /**
   * Opens a store on the data under test. Each call opens another client, process or session, if
   * there is such a thing.
   */
  readonly open: () => Store | Promise<Store>
  /** Creates a namespace. Left out: namespaces need not be created. */
  readonly createNamespace?: ((name: string) => Promise<void>) | undefined
  /** Cuts the connections of all watches of the opened stores. Left out: that is not possible. */
  readonly interruptWatches?: (() => Promise<void>) | undefined
  /** `(ms) => new Promise((done) => setTimeout(done, ms))`. It has to take that time. */
  readonly sleep: (milliseconds: number) => Promise<unknown>
  /**
   * A part of every name, so that two runs on the same data do not collide. A DNS label of at most
   * 20 characters. Default `run`.
   */
  readonly run?: string | undefined
  /** The time limit for an event of a watch, and for its end, in milliseconds. Default 10,000. */
  readonly patienceMs?: number | undefined
}

const PAUSE_MS = 100

/** One rule of the contract. */
export interface ConformanceCase {
  /** `section: rule`. */
  readonly name: string
  /** The capability with which the rule does not apply. Then the case is not run. */
  readonly unless?: keyof StoreCapabilities | undefined
  /** Resolves if the rule holds. Rejects with a `ConformanceError` that says what was expected. */
  run(): Promise<void>
}

/** A rule of the contract that does not hold. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError'
}

/** Fails a case. */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (sameValue(actual, expected)) return
  throw new ConformanceError(`${what}: expected ${show(expected)}, got ${show(actual)}`)
}

export function expectTrue(holds: boolean, what: string): asserts holds {
  if (!holds) throw new ConformanceError(what)
}

/** The value of a result that should be one. */
export function expectOk<T>(result: Result<T, StoreErrorCode>, what: string): T {
  if (result.ok) return result.value
  throw new ConformanceError(`${what}: expected no failure, got ${result.failure.code} ${show(result.failure.context)}`)
}

/** The failure of a result that should be one of these. */
export function expectFailure(
  result: Result<unknown, StoreErrorCode>,
  codes: StoreErrorCode | readonly StoreErrorCode[],
  what: string,
): Failure<StoreErrorCode> {
  const wanted = typeof codes === 'string' ? [codes] : codes
  if (!result.ok && wanted.includes(result.failure.code)) return result.failure
  const got = result.ok ? 'no failure' : `${result.failure.code} ${show(result.failure.context)}`
  throw new ConformanceError(`${what}: expected ${wanted.join(' or ')}, got ${got}`)
}

/** Same JSON; undefined fields are none. */
function sameValue(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const [a, b] = [fieldsOf(left), fieldsOf(right)]
  return a.size === b.size && [...a].every(([key, value]) => b.has(key) && sameValue(value, b.get(key)))
}

function fieldsOf(value: object): Map<string, unknown> {
  return new Map(Object.entries(value).filter(([, field]) => field !== undefined))
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/** A copy of an object with other metadata. */
export function withMeta(object: KubeObject, metadata: object): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...metadata } }
}

/** What an object of a case is made of. */
export interface Parts {
  readonly metadata?: object | undefined
  readonly spec?: unknown
  readonly status?: unknown
}

/** One running case: a namespace of its own, and helpers for common operations. */
export class Bench {
  readonly store: Store
  readonly options: ConformanceOptions
  /** Two namespaces that no other case uses. The first sorts before the second. */
  readonly namespace: string
  readonly otherNamespace: string

  constructor(store: Store, options: ConformanceOptions, id: string) {
    this.store = store
    this.options = options
    this.namespace = id
    this.otherNamespace = `${id}-b`
  }

  /** Another store on the same data. */
  async open(): Promise<Store> {
    return this.options.open()
  }

  get pools(): { readonly apiVersion: string; readonly kind: string; readonly namespace: string } {
    return { apiVersion: POOL.apiVersion, kind: POOL.kind, namespace: this.namespace }
  }

  pool(name: string, parts: Parts = {}, kind: KindInfo = POOL): KubeObject {
    const { metadata, ...rest } = parts
    const { apiVersion, kind: kindName } = kind
    return { apiVersion, kind: kindName, ...rest, metadata: { ...this.#place(name, kind), ...metadata } }
  }

  /** Cluster-scoped objects share one space with all other cases. */
  #place(name: string, { namespaced }: KindInfo): { readonly namespace?: string; readonly name: string } {
    return namespaced ? { namespace: this.namespace, name } : { name: `${this.namespace}-${name}` }
  }

  ref(name: string, kind: KindInfo = POOL): ObjectRef {
    return { apiVersion: kind.apiVersion, kind: kind.kind, ...this.#place(name, kind) }
  }

  async create(name: string, parts: Parts = {}, kind: KindInfo = POOL): Promise<KubeObject> {
    return expectOk(await this.store.create(this.pool(name, parts, kind)), `create ${name}`)
  }

  async get(name: string, kind: KindInfo = POOL): Promise<KubeObject> {
    return expectOk(await this.store.get(this.ref(name, kind)), `get ${name}`)
  }

  async patch(
    name: string,
    patch: MergePatch | JsonPatch,
    options: Preconditions & WriteOptions = {},
    kind: KindInfo = POOL,
  ): Promise<KubeObject> {
    return expectOk(await this.store.patch(this.ref(name, kind), patch, options), `patch ${name}`)
  }

  /** Writes only the status. */
  async patchStatus(name: string, status: Json): Promise<KubeObject> {
    return this.patch(name, { status }, { subresource: 'status' })
  }

  async update(object: KubeObject, options: WriteOptions = {}): Promise<KubeObject> {
    return expectOk(await this.store.update(object, options), `update ${object.metadata.name}`)
  }

  async delete(name: string, options: DeleteOptions = {}, kind: KindInfo = POOL): Promise<KubeObject> {
    return expectOk(await this.store.delete(this.ref(name, kind), options), `delete ${name}`)
  }

  /** Fails unless the store has exactly this pool. */
  async expectStored(expected: KubeObject): Promise<void> {
    const { name } = expected.metadata
    expectEqual(await this.get(name), expected, `the stored object ${name}`)
  }

  async expectGone(name: string, kind: KindInfo = POOL): Promise<void> {
    expectFailure(await this.store.get(this.ref(name, kind)), 'STORE_NOT_FOUND', `get ${name}`)
  }

  async names(query: object = {}): Promise<string[]> {
    const listed = expectOk(await this.store.list({ ...this.pools, ...query }), 'list')
    return listed.items.map((object) => object.metadata.name)
  }

  get patienceMs(): number {
    return this.options.patienceMs ?? 10_000
  }

  /** Waits in short pauses: a pause cannot be cancelled, and keeps a process alive. */
  async wait(milliseconds: number, isOver: () => boolean = () => false): Promise<void> {
    for (let left = milliseconds; left > 0 && !isOver(); left -= PAUSE_MS) {
      await this.options.sleep(Math.min(left, PAUSE_MS))
    }
  }

  async version(): Promise<string> {
    return expectOk(await this.store.list(this.pools), 'list').resourceVersion
  }
}

import { type KubeObject, kindKey } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { STORE_VERSION_GONE } from '../../errors/definitions.js'
import { failure } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { assertFunction, assertInteger, within } from '../rules/arguments.js'
import type { StoredObject } from '../rules/draft.js'
import type { KindName } from '../rules/kind-rules.js'
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
import type { ObjectList, Store, StoreErrorCode, WatchEvent } from '../store.js'
import { Chain, History } from './history.js'
import { Table } from './table.js'
import { Watcher } from './watcher.js'

export interface MemoryStoreOptions extends Omit<ObjectRulesOptions, 'uid'> {
  /**
   * The uid of the nth object that is created, from 1. Default: the first time that the store read
   * from its clock, and n, both in hexadecimal: `019b7c01-0400-4000-8000-000000000001`.
   *
   * Two stores whose first times are the same millisecond have the same uids. Where uids leave the
   * store, as in markers of an external system, pass `uid` of `ipam-kit/node`.
   */
  readonly uid?: ((n: number) => string) | undefined
  /** The number of events, of all kinds together, from which a watch can start. Default 10,000. */
  readonly history?: number | undefined
}

const MEMORY_STORE_OPTIONS: KindOf<MemoryStoreOptions> = {
  uid: 'function?',
  history: 'number?',
  now: 'function',
  kinds: ['list?', 'object'],
  checksSchemas: 'flag?',
  maxObjectBytes: 'number?',
}

const DEFAULT_HISTORY = 10_000

/** The version of an empty store. Not 0, which means "none" or "any" to an API server. */
const FIRST_VERSION = 1

/**
 * A store in memory with the semantics of a Kubernetes API server: for tests, demos and dry runs,
 * and the reference for the other stores. It is deterministic: the same calls with the same clock
 * give the same objects.
 *
 * An operation is done when the call returns. A write takes microseconds, `get` O(1), `list` O(n)
 * in the objects of the kind or namespace, from the page on. If an object was created out of the
 * order of names, the objects are sorted first.
 *
 * Objects are deep-frozen and returned without a copy. Arguments are copied. A watch with a version
 * starts when it is called, a watch from now on with its first `next`. It has an unbounded buffer,
 * which is freed with its iterator.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options. The methods reject with it for arguments
 * of the wrong type, and only then
 * @example
 * const store = memoryStore({ now: () => Date.UTC(2026, 0, 2) })
 * const made = await store.create({ apiVersion: 'example.com/v1', kind: 'Pool', metadata: { name: 'blue' } })
 * made.ok && made.value.metadata.creationTimestamp // '2026-01-02T00:00:00Z'
 */
export function memoryStore(options: MemoryStoreOptions): Store {
  return within('memoryStore', () => {
    const memory = new Memory(options)
    return ruledStore(memory.rules, memory)
  })
}

/** It reads and changes what is stored without an await in between, so each call is atomic. */
class Memory implements Keeper {
  readonly rules: ObjectRules
  readonly #historyLimit: number
  readonly #history: History
  /** One for all versions of a group. */
  readonly #kinds = new Map<string, Kind>()
  #version = FIRST_VERSION
  #created = 0

  constructor(options: MemoryStoreOptions) {
    check('memoryStore', 'options', options, MEMORY_STORE_OPTIONS)
    const { now, kinds, checksSchemas, maxObjectBytes, history = DEFAULT_HISTORY } = options
    assertFunction('options.now', now)
    // the rules read the clock before they ask for a uid
    let firstMs: number | undefined
    const clock = () => {
      const nowMs = now()
      if (nowMs >= 0) firstMs ??= nowMs
      return nowMs
    }
    const { uid = (n: number) => defaultUid(firstMs ?? 0, n) } = options
    assertFunction('options.uid', uid)
    assertInteger('options.history', history, { min: 0, max: Number.MAX_SAFE_INTEGER })
    this.rules = new ObjectRules({
      now: clock,
      kinds,
      checksSchemas,
      maxObjectBytes,
      uid: () => uid(this.#created + 1),
    })
    this.#historyLimit = history
    this.#history = new History(history)
  }

  get(place: ObjectPlace): Result<KubeObject, StoreErrorCode> {
    const object = this.#find(place).table.get(place.namespace, place.name)
    return object === undefined ? this.rules.notFound(place) : ok(object)
  }

  list({ query, matches }: Selection, page: Page): Result<ObjectList, StoreErrorCode> {
    const { limit, after, version = String(this.#version) } = page
    const items: StoredObject[] = []
    for (const object of this.#find(query).table.values(query.namespace, after)) {
      if (!matches(object)) continue
      if (items.length === limit) {
        return ok({ items, resourceVersion: version, continue: formatContinue(version, placeOf(items.at(-1)!)) })
      }
      items.push(object)
    }
    return ok({ items, resourceVersion: version })
  }

  watch({ query, matches }: Selection, resourceVersion: string | undefined): AsyncIterable<WatchEvent> {
    const { chain } = this.#keep(query)
    const now = () => ({ place: chain.after(this.#version), bookmark: this.#version })
    if (resourceVersion === undefined) return new Watcher(chain, matches, { now })
    // a version is one event, of whatever kind
    const oldest = Math.max(0, this.#version - this.#historyLimit)
    const version = readVersion(resourceVersion)
    if (version === undefined || version < oldest || version > this.#version) {
      return failedWatch(failure(STORE_VERSION_GONE, { resourceVersion, oldest: String(oldest) }))
    }
    return new Watcher(chain, matches, { now, at: { place: chain.after(version), bookmark: this.#version } })
  }

  /** The only place where what is stored changes. */
  write(operation: Operation, { place, apply }: Intent): Result<KubeObject, StoreErrorCode> {
    const kind = this.#find(place)
    const before = kind.table.get(place.namespace, place.name)
    const write = apply(before, String(this.#version + 1))
    if (!write.ok) return write
    const { after, answer } = write.value
    if (after !== before) this.#commit(before === undefined ? this.#keep(place) : kind, before, after)
    if (operation === 'create') this.#created++
    return ok(answer)
  }

  /** The kind as it is; an empty one, that is not kept, if nothing is known of it. */
  #find(name: KindName): Kind {
    return this.#kinds.get(kindKey(name)) ?? { table: new Table(), chain: new Chain() }
  }

  /** The kind, kept from now on. */
  #keep(name: KindName): Kind {
    const kind = this.#find(name)
    this.#kinds.set(kindKey(name), kind)
    return kind
  }

  #commit({ table, chain }: Kind, before: StoredObject | undefined, after: StoredObject | undefined): void {
    this.#version++
    if (after !== undefined) table.set(after)
    else if (before !== undefined) table.delete(before.metadata.namespace, before.metadata.name)
    this.#history.append(chain, { version: this.#version, before, after, next: undefined })
  }
}

/** All that is kept of one kind. */
interface Kind {
  readonly table: Table
  readonly chain: Chain
}

function readVersion(text: string): number | undefined {
  return /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined
}

/** A UUID of a time up to the year 9999 and a number. */
function defaultUid(atMs: number, n: number): string {
  const [time, count] = [Math.floor(atMs), n].map((part) => part.toString(16).padStart(12, '0'))
  return `${time!.slice(0, 8)}-${time!.slice(8)}-4000-8000-${count}`
}

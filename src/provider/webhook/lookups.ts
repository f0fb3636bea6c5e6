import type { KubeObject, NameRef } from '../../crd/meta/object.js'
import { formatRef } from '../../crd/meta/object.js'
import { STORE_IO } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { unwrap } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import type { CachedObjects, Watch } from '../../plan/index.js'
import type { Store } from '../../store/index.js'

/**
 * The objects that rules look up: a store, or the objects of a controller. The latter cost no
 * request. A planner of the controller has to watch the kind, without a selector. Rules do not see
 * changes that the watch has not delivered yet.
 */
export type ReviewReader = Pick<Store, 'get' | 'list'> | WatchedObjects

export interface WatchedObjects {
  open<T>(watch: Watch<T>): CachedObjects<T>
}

/** Look-ups in a reader. Both methods reject with an IpamError if the look-up fails. */
export interface ReviewLookups {
  /** The object of a name; `undefined`: it does not exist. */
  get<T>(watch: Watch<T>, ref: NameRef): Promise<T | undefined>
  /**
   * The objects with a key in an index of the watch. Unreadable objects are counted.
   *
   * @param namespace the namespace to search; left out: all
   */
  by<T>(watch: Watch<T>, index: string, key: string, namespace?: string | undefined): Promise<FoundObjects<T>>
}

export interface FoundObjects<T> {
  readonly objects: readonly T[]
  /** How many objects of the kind cannot be read: they may have the key too. */
  readonly unreadable: number
}

/** @throws IpamError `INVALID_ARGUMENT` for a value that is not a reader */
export function lookupsOf(reader: ReviewReader): ReviewLookups {
  const { get, list, open } = Object(reader) as Partial<Record<'get' | 'list' | 'open', unknown>>
  if (typeof open === 'function') return lookupsInCache(reader as WatchedObjects)
  if (typeof get === 'function' && typeof list === 'function')
    return lookupsInStore(reader as Pick<Store, 'get' | 'list'>)
  return refuse('answerReview', 'reader', 'a store (get and list), or the objects of a controller (open)', reader)
}

function lookupsInStore(store: Pick<Store, 'get' | 'list'>): ReviewLookups {
  return {
    async get(watch, { name, namespace }) {
      const { apiVersion, kind } = watch
      const found = await store.get({ apiVersion, kind, name, namespace })
      if (!found.ok && found.failure.code === 'STORE_NOT_FOUND') return undefined
      return readAs(watch, unwrap(found))
    },
    async by(watch, index, key, namespace) {
      const { apiVersion, kind } = watch
      const { items } = unwrap(await store.list({ apiVersion, kind, namespace }))
      let unreadable = 0
      const objects = items.flatMap((object) => {
        const read = watch.parse(object, undefined)
        if (!read.ok) unreadable++
        return read.ok && watch.indexes?.[index]?.(read.value, object).includes(key) ? [read.value] : []
      })
      return { objects, unreadable }
    },
  }
}

function lookupsInCache(cache: WatchedObjects): ReviewLookups {
  return {
    async get(watch, ref) {
      const objects = cache.open(watch)
      const entry = objects.entry(ref)
      if (entry !== undefined) return readAs(watch, entry.object)
      return objects.presence(ref) === 'absent' ? undefined : unknown(watch)
    },
    async by(watch, index, key) {
      const objects = cache.open(watch)
      // no object has this name: absent says that the cache knows all objects
      if (objects.presence('') !== 'absent') return unknown(watch)
      return { objects: objects.by(index, key), unreadable: objects.unreadable().length }
    },
  }
}

function readAs<T>(watch: Watch<T>, object: KubeObject): T {
  const read = watch.parse(object, undefined)
  if (read.ok) return read.value
  const name = formatRef({ kind: object.kind, ...object.metadata })
  throw ipamError(STORE_IO, { operation: `read ${name}`, problem: read.problem })
}

function unknown({ kind }: { readonly kind: string }): never {
  const problem = 'the cache does not know all objects of the kind: a running controller has to watch them'
  throw ipamError(STORE_IO, { operation: `look up ${kind}`, problem })
}

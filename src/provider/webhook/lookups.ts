import type { KubeObject } from '../../crd/meta/object.js'
import { formatRef } from '../../crd/meta/object.js'
import { ipamError } from '../../errors/failure.js'
import { unwrap } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import type { NameRef } from '../../plan/cached-objects.js'
import type { ObjectCache, Watch } from '../../plan/index.js'
import type { Store } from '../../store/index.js'

/**
 * Where the rules look up the other objects that they need: a store, or the object cache of a
 * controller. A cache costs no request, and has to know all objects of the kind: its host lists and
 * watches them. What a cache has not seen yet, the rules do not see either.
 */
export type ReviewReader = Pick<Store, 'get' | 'list'> | Pick<ObjectCache, 'open'>

/**
 * The objects of a reader.
 *
 * Both methods reject with an IpamError for what cannot be found out: that is not an answer to a
 * rule.
 */
export interface Lookups {
  /** The object of a name; `undefined`: it does not exist. */
  get<T>(watch: Watch<T>, ref: NameRef): Promise<T | undefined>
  /**
   * The objects that have a key in an index of the watch. Those that cannot be read have none.
   *
   * @param namespace that of all of them, if they have to be of one
   */
  by<T>(watch: Watch<T>, index: string, key: string, namespace?: string | undefined): Promise<readonly T[]>
}

/** @throws IpamError `INVALID_ARGUMENT` for what is not a reader */
export function lookupsOf(reader: ReviewReader): Lookups {
  const { get, list, open } = Object(reader) as Partial<Record<'get' | 'list' | 'open', unknown>>
  if (typeof open === 'function') return lookupsInCache(reader as Pick<ObjectCache, 'open'>)
  if (typeof get === 'function' && typeof list === 'function')
    return lookupsInStore(reader as Pick<Store, 'get' | 'list'>)
  return refuse('reader', 'a store (get and list), or an ObjectCache', reader)
}

function lookupsInStore(store: Pick<Store, 'get' | 'list'>): Lookups {
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
      return items.flatMap((object) => {
        const read = watch.parse(object, undefined)
        return read.ok && watch.indexes?.[index]?.(read.value, object).includes(key) ? [read.value] : []
      })
    },
  }
}

function lookupsInCache(cache: Pick<ObjectCache, 'open'>): Lookups {
  return {
    async get(watch, ref) {
      const objects = cache.open(watch)
      const entry = objects.entry(ref)
      if (entry !== undefined) return readAs(watch, entry.object)
      return objects.presence(ref) === 'absent' ? undefined : unknown(watch)
    },
    async by(watch, index, key) {
      const objects = cache.open(watch)
      // of a name that no object has: whether the cache knows what does not exist
      return objects.presence('') === 'absent' ? objects.by(index, key) : unknown(watch)
    },
  }
}

function readAs<T>(watch: Watch<T>, object: KubeObject): T {
  const read = watch.parse(object, undefined)
  if (read.ok) return read.value
  const name = formatRef({ kind: object.kind, ...object.metadata })
  throw ipamError('STORE_IO', { operation: `read ${name}`, problem: read.problem })
}

function unknown({ kind }: { readonly kind: string }): never {
  const problem = 'the cache does not know all objects of the kind: a planner of its controller has to watch it'
  throw ipamError('STORE_IO', { operation: `look up ${kind}`, problem })
}

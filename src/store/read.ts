import type { Model, ReadResult } from '../crd/meta/model.js'
import type { KubeObject, ObjectRef } from '../crd/meta/object.js'
import { check } from '../errors/check.js'
import { ok, type Result } from '../errors/index.js'
import type { ListQuery, Store, StoreErrorCode } from './store.js'

/** The failures of a typed read: those of the store, and an object that the model rejects. */
export type ReadErrorCode = StoreErrorCode | 'INVALID_OBJECT' | 'OBJECT_KIND_MISMATCH'

/**
 * Reads one object of a store with its model: the typed object, converted from an older version,
 * with the defaults of its kind. Works on every store. The object is requested in the version that
 * the model writes.
 *
 * `STORE_NOT_FOUND` is a failure like any other: `unwrap` of `ipam-kit/errors` throws it.
 *
 * @throws IpamError `INVALID_ARGUMENT` as a rejection, for arguments of the wrong type
 * @example
 * import { IPAddress } from 'ipam-kit/crd/cluster-api'
 * import { memoryStore } from 'ipam-kit/store/memory'
 * const store = memoryStore({ now: () => 0 })
 * const found = await read(store, IPAddress, { namespace: 'default', name: 'web-0' })
 * found.ok || found.failure.code // 'STORE_NOT_FOUND'
 */
export async function read<T extends KubeObject>(
  store: Pick<Store, 'get'>,
  model: Pick<Model<T>, 'info' | 'safeParse'>,
  ref: Pick<ObjectRef, 'namespace' | 'name'>,
): Promise<Result<T, ReadErrorCode>> {
  check('read', 'store', store, ['open', { get: 'function' }])
  check('read', 'model', model, ['open', { info: 'object', safeParse: 'function' }])
  check('read', 'ref', ref, ['open', { name: 'text' }])
  const { apiVersion, kind } = model.info
  const { namespace, name } = ref
  const found = await store.get({ apiVersion, kind, namespace, name })
  return found.ok ? model.safeParse(found.value) : found
}

/**
 * Reads all objects of a kind, or those that a query selects, with their model: {@link read}. One
 * object that the model rejects fails the whole list, so that no caller decides on a part of it. A
 * caller that has to handle such objects calls `list` of the store, and `safeParse` of the model
 * for each object.
 *
 * @throws IpamError `INVALID_ARGUMENT` as a rejection, for arguments of the wrong type
 */
export async function readAll<T extends KubeObject>(
  store: Pick<Store, 'list'>,
  model: Pick<Model<T>, 'info' | 'safeParse'>,
  query: Omit<ListQuery, 'apiVersion' | 'kind'> = {},
): Promise<Result<readonly T[], ReadErrorCode>> {
  check('readAll', 'store', store, ['open', { list: 'function' }])
  check('readAll', 'model', model, ['open', { info: 'object', safeParse: 'function' }])
  check('readAll', 'query', query, 'object')
  const { apiVersion, kind } = model.info
  const listed = await store.list({ ...query, apiVersion, kind })
  if (!listed.ok) return listed
  const objects: T[] = []
  for (const item of listed.value.items) {
    const parsed: ReadResult<T> = model.safeParse(item)
    if (!parsed.ok) return parsed
    objects.push(parsed.value)
  }
  return ok(objects)
}

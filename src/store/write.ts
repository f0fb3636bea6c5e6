import type { Model } from '../crd/meta/model.js'
import type { KubeObject, ObjectRef } from '../crd/meta/object.js'
import { check, type KindOf } from '../errors/check.js'
import type { Result } from '../errors/index.js'
import { refuseIn } from '../errors/refuse.js'
import type { ReadErrorCode } from './read.js'
import type { DeleteOptions, MergePatch, Preconditions, Store, WriteOptions } from './store.js'

/**
 * An object of a kind that is to be created. `apiVersion` and `kind` come from the model. `status`
 * is for kinds without a status subresource alone.
 */
export type NewObject<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'status'> & {
  readonly [K in keyof Pick<T, 'status' & keyof T>]?: T[K]
}

/**
 * A merge patch (RFC 7396) of a type: every field is optional at any depth, and `null` removes it.
 * A list replaces the whole list.
 */
export type MergePatchOf<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: MergePatchOf<Exclude<T[K], undefined>> | null | undefined }
    : T

/**
 * Creates an object in the version that its model writes. Works on every store.
 *
 * The model reads the object before it is sent: `INVALID_OBJECT` and `OBJECT_KIND_MISMATCH` mean
 * that nothing was written, unless the server itself has changed the object so that the model
 * rejects it. Defaults are those of the server: none is filled in before. All other failures are
 * those of `Store.create`.
 *
 * @returns the object as the store answers with it, read by the model
 * @throws IpamError `INVALID_ARGUMENT` as a rejection, for arguments of the wrong type, an
 *   `apiVersion` or `kind` that is not of the model, and a `status` that the store would drop: of a
 *   kind with a status subresource
 * @example
 * import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
 * import { memoryStore } from 'ipam-kit/store/memory'
 * const store = memoryStore({ now: () => 0 })
 * const metadata = { namespace: 'default', name: 'lab' }
 * const made = await create(store, InClusterIPPool, { metadata, spec: { addresses: ['10.0.0.0/28'], prefix: 28 } })
 * made.ok && made.value.apiVersion // 'ipam.cluster.x-k8s.io/v1alpha2'
 */
export async function create<T extends KubeObject>(
  store: Pick<Store, 'create'>,
  model: Pick<Model<T>, 'info' | 'safeParse'>,
  object: NewObject<NoInfer<T>>,
): Promise<Result<T, ReadErrorCode>> {
  check('create', 'store', store, ['open', { create: 'function' }])
  checkModel('create', model)
  check<object>('create', 'object', object, ['open', { metadata: 'object' }])
  const { apiVersion, kind, statusSubresource } = model.info
  const given: Partial<KubeObject> = object
  for (const field of ['apiVersion', 'kind'] as const) {
    const value = given[field]
    if (value !== undefined && value !== model.info[field]) {
      refuseIn('create', `object.${field}`, `${model.info[field]}, or left out`, value)
    }
  }
  if (statusSubresource && given.status !== undefined) {
    refuseIn('create', 'object.status', "left out: patch writes it, with the subresource 'status'", given.status)
  }
  const whole = { ...given, apiVersion, kind } as KubeObject
  const read = model.safeParse(whole)
  return read.ok ? parsed(model, await store.create(whole)) : read
}

/**
 * Changes fields of an object by a merge patch: an absent field stays as it is, `null` removes one,
 * a list replaces the whole list. Works on every store.
 *
 * With `subresource: 'status'` it changes the status, which is then the only field of the patch.
 * The failures are those of `Store.patch`. The model reads the answer: `INVALID_OBJECT` and
 * `OBJECT_KIND_MISMATCH` mean that the write was done, and that the model rejects the object.
 *
 * @param options preconditions: a stale one is `STORE_CONFLICT`
 * @returns the object as the store answers with it, read by the model
 * @throws IpamError `INVALID_ARGUMENT` as a rejection, for arguments of the wrong type, and for
 *   fields that the store would drop: `status` without the subresource, others with it
 * @example
 * import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
 * import { memoryStore } from 'ipam-kit/store/memory'
 * const store = memoryStore({ now: () => 0 })
 * const lab = { namespace: 'default', name: 'lab' }
 * const spec = { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' }
 * await create(store, InClusterIPPool, { metadata: lab, spec })
 * const found = await patch(store, InClusterIPPool, lab, { spec: { gateway: null } })
 * found.ok && found.value.spec // { addresses: ['10.0.0.0/28'], prefix: 28 }
 */
export async function patch<T extends KubeObject>(
  store: Pick<Store, 'patch'>,
  model: Pick<Model<T>, 'info' | 'safeParse'>,
  ref: Pick<ObjectRef, 'namespace' | 'name'>,
  mergePatch: MergePatchOf<NewObject<NoInfer<T>>>,
  options: Preconditions & WriteOptions = {},
): Promise<Result<T, ReadErrorCode>> {
  check('patch', 'store', store, ['open', { patch: 'function' }])
  checkModel('patch', model)
  check('patch', 'ref', ref, ['open', { name: 'text' }])
  check<object>('patch', 'mergePatch', mergePatch, 'object')
  check('patch', 'options', options, PATCH_OPTIONS)
  const ofStatus = options.subresource === 'status'
  for (const [field, value] of Object.entries(mergePatch)) {
    const isDropped = value !== undefined && (field === 'status') !== ofStatus
    if (isDropped && ofStatus) refuseIn('patch', `mergePatch.${field}`, 'left out of a patch of the status', value)
    if (isDropped && model.info.statusSubresource) {
      refuseIn('patch', 'mergePatch.status', "left out, or the only field, with the subresource 'status'", value)
    }
  }
  return parsed(model, await store.patch(refIn(model, ref), mergePatch as MergePatch, options))
}

/**
 * Deletes an object. Works on every store.
 *
 * The failures are those of `Store.delete`. The model reads the answer: `INVALID_OBJECT` and
 * `OBJECT_KIND_MISMATCH` mean that the deletion was done, and that the model rejects the object. To
 * delete objects that the model may reject, call `delete` of the store.
 *
 * @param options preconditions: a stale one is `STORE_CONFLICT`; and what happens to dependents
 * @returns the object with its deletionTimestamp if finalizers hold it, or else its last state
 * @throws IpamError `INVALID_ARGUMENT` as a rejection, for arguments of the wrong type
 */
export async function remove<T extends KubeObject>(
  store: Pick<Store, 'delete'>,
  model: Pick<Model<T>, 'info' | 'safeParse'>,
  ref: Pick<ObjectRef, 'namespace' | 'name'>,
  options: DeleteOptions = {},
): Promise<Result<T, ReadErrorCode>> {
  check('remove', 'store', store, ['open', { delete: 'function' }])
  checkModel('remove', model)
  check('remove', 'ref', ref, ['open', { name: 'text' }])
  check('remove', 'options', options, REMOVE_OPTIONS)
  return parsed(model, await store.delete(refIn(model, ref), options))
}

const PATCH_OPTIONS: KindOf<Preconditions & WriteOptions> = {
  uid: 'text?',
  resourceVersion: 'text?',
  subresource: ['one?', { status: 1 }],
}

const REMOVE_OPTIONS: KindOf<DeleteOptions> = {
  uid: 'text?',
  resourceVersion: 'text?',
  propagation: ['one?', { Background: 1, Foreground: 1, Orphan: 1 }],
}

function checkModel(of: string, model: Pick<Model<KubeObject>, 'info' | 'safeParse'>): void {
  check(of, 'model', model, ['open', { info: 'object', safeParse: 'function' }])
}

function refIn(
  { info }: Pick<Model<KubeObject>, 'info' | 'safeParse'>,
  { namespace, name }: Pick<ObjectRef, 'namespace' | 'name'>,
) {
  return { apiVersion: info.apiVersion, kind: info.kind, namespace, name }
}

function parsed<T extends KubeObject, E extends ReadErrorCode>(
  model: Pick<Model<T>, 'info' | 'safeParse'>,
  answer: Result<KubeObject, E>,
): Result<T, ReadErrorCode> {
  return answer.ok ? model.safeParse(answer.value) : answer
}

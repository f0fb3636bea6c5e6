import type { KubeObject, LabelSelectorRequirement, ObjectRef, Propagation } from '../crd/meta/object.js'
import type { JsonPatch, MergePatch } from '../crd/meta/patch.js'
import type { KindOf } from '../errors/check.js'
import type { ErrorCode, Failure, Result } from '../errors/index.js'

export type { Propagation } from '../crd/meta/object.js'
export type { JsonPatch, MergePatch } from '../crd/meta/patch.js'

/** The failures that a store answers with. */
export type StoreErrorCode = Extract<ErrorCode, `STORE_${string}`>

export type StoreFailure = Failure<StoreErrorCode>

/**
 * The answer of every operation of a store. A store never rejects for a failure that a controller
 * has to handle.
 */
export type StoreResult<T> = Promise<Result<T, StoreErrorCode>>

/** One requirement on a label, as in the `matchExpressions` of Kubernetes. */
export type LabelRequirement = LabelSelectorRequirement

/** A kind of objects in all namespaces or in one. All given conditions must hold. */
export interface ListQuery {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  /** Labels that an object must have with exactly these values. */
  readonly labels?: { readonly [key: string]: string } | undefined
  readonly labelExpressions?: readonly LabelRequirement[] | undefined
  /**
   * Fields that an object must have with exactly these values: `metadata.name`,
   * `metadata.namespace`, and the `selectableFields` of the kind (`spec.poolRef.name`). A field
   * that does not exist is `''`. Any other field is refused as `STORE_INVALID`.
   */
  readonly fields?: { readonly [path: string]: string } | undefined
}

export interface ListOptions {
  /**
   * The largest number of objects in an answer. A store may return fewer even if there are more.
   * Left out: all objects, as of one moment.
   */
  readonly limit?: number | undefined
  /** Where the list continues: `continue` of the previous answer, for the same query. */
  readonly continue?: string | undefined
}

export interface ObjectList {
  /**
   * Ordered by namespace, then name, in code-unit order. For pages of all namespaces the order
   * holds within each page only: an API server orders namespaces differently, `a-b` before `a`.
   */
  readonly items: readonly KubeObject[]
  /**
   * The version of the whole list: a watch from it continues without a gap. All pages of a list
   * have the version of the first page. Later pages may include later changes, and a watch from
   * that version delivers those again.
   */
  readonly resourceVersion: string
  /** There are more objects: pass it as `continue` of the next call. An opaque text. */
  readonly continue?: string | undefined
}

/**
 * The conditions of a write. A write with a stale condition fails with `STORE_CONFLICT` and changes
 * nothing.
 */
export interface Preconditions {
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
}

/**
 * `status`: write only the status. Otherwise write everything except the status, for kinds with a
 * status subresource.
 */
export type Subresource = 'status'

export interface WriteOptions {
  readonly subresource?: Subresource | undefined
}

export interface DeleteOptions extends Preconditions {
  /** Left out: as the finalizers of the object say, or else `Background`. */
  readonly propagation?: Propagation | undefined
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  /** There are no changes up to this version: a watch may continue from it. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  /**
   * The watch cannot continue (`STORE_VERSION_GONE`: list again; `STORE_IO`: watch again from the
   * last version). It is the last event.
   */
  | { readonly type: 'ERROR'; readonly failure: StoreFailure }

export interface WatchOptions {
  /**
   * Events after this version, usually that of a list. Left out: from now on. Now is the first call
   * of `next`, not the call of `watch`, and the first event is a `BOOKMARK` with that version.
   * Writes before that bookmark may or may not be delivered. All writes after it are delivered.
   */
  readonly resourceVersion?: string | undefined
}

/** What a store does in addition to the contract, and its limits. */
export interface StoreCapabilities {
  /**
   * Whether dependents are deleted with their owners. Otherwise run the planner of
   * `ipam-kit/provider/gc`.
   */
  readonly collectsGarbage: boolean
  /**
   * Whether objects are checked against the schemas of their kinds. Fields outside of the schemas
   * may be dropped.
   */
  readonly checksSchemas: boolean
  /**
   * Whether objects are read in the version of the request. Otherwise in the version in which they
   * were written.
   */
  readonly convertsVersions: boolean
  /** The size of the largest object in bytes of UTF-8 JSON, if the store has a limit of its own. */
  readonly maxObjectBytes: number | undefined
}

/**
 * Documents with the semantics of a Kubernetes API server, on any engine.
 *
 * - `create` sets uid, creationTimestamp, generation 1 and a resourceVersion. It fails if the name
 *   is taken
 * - every write that changes something sets a new resourceVersion. A write without a change keeps
 *   it
 * - `update` needs the resourceVersion that it was made from. It fails with `STORE_CONFLICT` if
 *   that is not the current one
 * - generation rises when anything but apiVersion, metadata and status changes, and when a deletion
 *   begins
 * - for kinds with a status subresource, `create`, `update` and `patch` leave the status alone.
 *   With `subresource: 'status'` they change only the status. For other kinds
 *   `subresource: 'status'` is refused as `STORE_INVALID`
 * - `delete` of an object with finalizers sets deletionTimestamp. The object is deleted with its
 *   last finalizer, and no finalizer can be added meanwhile. The write that removes the last
 *   finalizer answers with what was written
 * - a write is done when it is answered, and every later read returns it. `STORE_OUTCOME_UNKNOWN`:
 *   the write may have been done, or may still be done. A read that does not find it proves nothing
 *   until a later write of the same object is answered (`settle` of `ipam-kit/run`). Every other
 *   failure means that nothing was written and nothing will be
 * - an object can be read under all versions of its group
 * - returned objects are shared and must not be changed
 *
 * @throws IpamError `INVALID_ARGUMENT` for arguments of the wrong type. A method rejects with
 *   nothing else
 */
export interface Store {
  readonly capabilities: StoreCapabilities
  get(ref: ObjectRef): StoreResult<KubeObject>
  list(query: ListQuery, options?: ListOptions): StoreResult<ObjectList>
  create(object: KubeObject): StoreResult<KubeObject>
  update(object: KubeObject, options?: WriteOptions): StoreResult<KubeObject>
  patch(ref: ObjectRef, patch: MergePatch | JsonPatch, options?: Preconditions & WriteOptions): StoreResult<KubeObject>
  /**
   * @returns the object with its deletionTimestamp if finalizers hold it, or else its last state
   */
  delete(ref: ObjectRef, options?: DeleteOptions): StoreResult<KubeObject>
  /**
   * Events in order, without loss or repetition. The watch ends when the consumer stops iterating,
   * or with an `ERROR` event.
   */
  watch(query: ListQuery, options?: WatchOptions): AsyncIterable<WatchEvent>
}

/** What a check of an argument holds of a store. */
export const STORE: KindOf<Store> = [
  'open',
  {
    capabilities: 'object',
    get: 'function',
    list: 'function',
    create: 'function',
    update: 'function',
    patch: 'function',
    delete: 'function',
    watch: 'function',
  },
]

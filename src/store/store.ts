import type { KubeObject, ObjectRef } from '../crd/meta/object.js'
import type { ErrorCode, Failure, Result } from '../errors/index.js'

/** The failures that a store answers with. */
export type StoreErrorCode = Extract<ErrorCode, `STORE_${string}`>

export type StoreFailure = Failure<StoreErrorCode>

/** What every operation of a store answers: stores never reject for anything that a controller has to act on. */
export type StoreResult<T> = Promise<Result<T, StoreErrorCode>>

/** A kind of objects, all namespaces or one. */
export interface ListQuery {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  /** Labels that an object must have with exactly these values. */
  readonly labels?: { readonly [key: string]: string } | undefined
}

export interface ObjectList {
  /** Ordered by namespace, then name. */
  readonly items: readonly KubeObject[]
  /** Version of the whole list: where a watch goes on without a gap. */
  readonly resourceVersion: string
}

/** The conditions under which a write is done. A stale one fails with `STORE_CONFLICT` and changes nothing. */
export interface Preconditions {
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
}

/** `status`: write only the status; otherwise write all but the status, for kinds that have it as a subresource. */
export type Subresource = 'status'

/** A JSON merge patch (RFC 7396): `null` removes a field, arrays are replaced whole. */
export type MergePatch = { readonly [key: string]: unknown }

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  /** Nothing happened up to this version: a watch may go on from here. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  /** The watch can not go on (`STORE_VERSION_GONE`: list again). It is the last event. */
  | { readonly type: 'ERROR'; readonly failure: StoreFailure }

export interface WatchOptions {
  /** Events after this version, normally that of a list. Left out: from now on. */
  readonly resourceVersion?: string | undefined
}

/**
 * Documents with the semantics of a Kubernetes API server, on any engine.
 *
 * - `create` gives uid, creationTimestamp, generation 1 and a resourceVersion, and fails if the name is taken
 * - every write that changes something gives a new resourceVersion; one that changes nothing keeps the old one
 * - `update` needs the resourceVersion that it was made from and fails with `STORE_CONFLICT` if it is not the current one
 * - generation rises when anything but apiVersion, metadata and status changes, and when a deletion begins
 * - for kinds with a status subresource `create`, `update` and `patch` leave the status alone unless `subresource` says `status`,
 *   and then they change nothing else. For other kinds `subresource: 'status'` is refused as `STORE_INVALID`
 * - `delete` of an object with finalizers sets deletionTimestamp; the object goes with its last finalizer. No finalizer can be
 *   added after that. The write that removes the last one answers with what was written
 * - objects are kept as they were written: no version is converted. One object is known under all versions of its group
 * - what is returned is shared and must not be changed
 */
export interface Store {
  get(ref: ObjectRef): StoreResult<KubeObject>
  list(query: ListQuery): StoreResult<ObjectList>
  create(object: KubeObject): StoreResult<KubeObject>
  update(object: KubeObject, options?: { readonly subresource?: Subresource | undefined }): StoreResult<KubeObject>
  patch(
    ref: ObjectRef,
    patch: MergePatch,
    options?: Preconditions & { readonly subresource?: Subresource | undefined },
  ): StoreResult<KubeObject>
  /** @returns the object with its deletionTimestamp if finalizers hold it, else as it was when it went */
  delete(ref: ObjectRef, preconditions?: Preconditions): StoreResult<KubeObject>
  /** Events in order, without loss or repetition, until the consumer stops iterating or an `ERROR` event ends it. */
  watch(query: ListQuery, options?: WatchOptions): AsyncIterable<WatchEvent>
}

import type { KubeObject, LabelSelectorRequirement, ObjectRef, Propagation } from '../crd/meta/object.js'
import type { JsonPatch, MergePatch } from '../crd/meta/patch.js'
import type { ErrorCode, Failure, Result } from '../errors/index.js'

export type { Propagation } from '../crd/meta/object.js'
export type { JsonPatch, MergePatch } from '../crd/meta/patch.js'

/** The failures that a store answers with. */
export type StoreErrorCode = Extract<ErrorCode, `STORE_${string}`>

export type StoreFailure = Failure<StoreErrorCode>

/**
 * What every operation of a store answers: stores never reject for anything that a controller has
 * to act on.
 */
export type StoreResult<T> = Promise<Result<T, StoreErrorCode>>

/** One requirement on a label, as in the `matchExpressions` of Kubernetes. */
export type LabelRequirement = LabelSelectorRequirement

/** A kind of objects, all namespaces or one. Everything that is given has to hold. */
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
   * that is not there is `''`. Any other field is refused as `STORE_INVALID`.
   */
  readonly fields?: { readonly [path: string]: string } | undefined
}

export interface ListOptions {
  /**
   * How many objects an answer has at most. A store may give fewer even if there are more. Left
   * out: all of them, as they were at one moment.
   */
  readonly limit?: number | undefined
  /** Where the list continues: `continue` of the answer before, to the same query. */
  readonly continue?: string | undefined
}

export interface ObjectList {
  /**
   * Ordered by namespace, then name, in code-unit order. Of the pages of all namespaces that holds
   * for each, and not from one to the next: an API server has namespaces in another order, `a-b`
   * before `a`.
   */
  readonly items: readonly KubeObject[]
  /**
   * Version of the whole list: where a watch continues without a gap. All pages of a list have that
   * of the first; what changes while pages are read may be in the later ones already, and a watch
   * from that version tells of it again.
   */
  readonly resourceVersion: string
  /** There is more: ask again with it. An opaque text. */
  readonly continue?: string | undefined
}

/**
 * The conditions under which a write is done. A stale one fails with `STORE_CONFLICT` and changes
 * nothing.
 */
export interface Preconditions {
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
}

/**
 * `status`: write only the status; otherwise write all but the status, for kinds that have it as a
 * subresource.
 */
export type Subresource = 'status'

export interface WriteOptions {
  readonly subresource?: Subresource | undefined
}

export interface DeleteOptions extends Preconditions {
  /** Left out: as the finalizers of the object say, else `Background`. */
  readonly propagation?: Propagation | undefined
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  /** Nothing happened up to this version: a watch may continue from here. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  /**
   * The watch cannot continue (`STORE_VERSION_GONE`: list again; `STORE_IO`: watch again from the
   * last version). It is the last event.
   */
  | { readonly type: 'ERROR'; readonly failure: StoreFailure }

export interface WatchOptions {
  /**
   * Events after this version, normally that of a list. Left out: from now on, which is where the
   * first event, a `BOOKMARK`, says. Now is when `next` is called for the first time, not when
   * `watch` is. Of what is written until that bookmark is there, nothing is told for certain; of
   * what comes after it, everything.
   */
  readonly resourceVersion?: string | undefined
}

/** What a store does beyond the contract, and where it ends. */
export interface StoreCapabilities {
  /**
   * Dependents follow their owners by themselves. Otherwise run the planner of
   * `ipam-kit/provider/gc`.
   */
  readonly collectsGarbage: boolean
  /**
   * Objects are checked against the schemas of their kinds, and fields that those do not know may
   * be dropped.
   */
  readonly checksSchemas: boolean
  /**
   * Objects are read in the version that is asked for. Otherwise in the one they were written in.
   */
  readonly convertsVersions: boolean
  /**
   * The size of the largest object in bytes of UTF-8 JSON, if the store has a limit of its own that
   * it knows.
   */
  readonly maxObjectBytes: number | undefined
}

/**
 * Documents with the semantics of a Kubernetes API server, on any engine.
 *
 * - `create` gives uid, creationTimestamp, generation 1 and a resourceVersion, and fails if the
 *   name is taken
 * - every write that changes something gives a new resourceVersion; one that changes nothing keeps
 *   the old one
 * - `update` needs the resourceVersion that it was made from and fails with `STORE_CONFLICT` if it
 *   is not the current one
 * - generation rises when anything but apiVersion, metadata and status changes, and when a deletion
 *   begins
 * - for kinds with a status subresource `create`, `update` and `patch` leave the status alone
 *   unless `subresource` says `status`, and then they change nothing else. For other kinds
 *   `subresource: 'status'` is refused as `STORE_INVALID`
 * - `delete` of an object with finalizers sets deletionTimestamp; the object goes with its last
 *   finalizer. No finalizer can be added after that. The write that removes the last one answers
 *   with what was written
 * - a write is done when it is answered, and every later read returns it. If it is not known
 *   whether a write was done, the answer is `STORE_OUTCOME_UNKNOWN`, and it may still be done
 *   later: a read that does not find it proves nothing, until a later write of the same object is
 *   answered (`settle` of `ipam-kit/run`). Every other failure means that nothing was written, and
 *   nothing will be
 * - one object is known under all versions of its group
 * - what is returned is shared and must not be changed
 *
 * @throws IpamError `INVALID_ARGUMENT`: the only thing that a method rejects with, for arguments of
 * the wrong type
 */
export interface Store {
  readonly capabilities: StoreCapabilities
  get(ref: ObjectRef): StoreResult<KubeObject>
  list(query: ListQuery, options?: ListOptions): StoreResult<ObjectList>
  create(object: KubeObject): StoreResult<KubeObject>
  update(object: KubeObject, options?: WriteOptions): StoreResult<KubeObject>
  patch(ref: ObjectRef, patch: MergePatch | JsonPatch, options?: Preconditions & WriteOptions): StoreResult<KubeObject>
  /**
   * @returns the object with its deletionTimestamp if finalizers hold it, else as it was when it
   * went
   */
  delete(ref: ObjectRef, options?: DeleteOptions): StoreResult<KubeObject>
  /**
   * Events in order, without loss or repetition, until the consumer stops iterating or an `ERROR`
   * event ends it.
   */
  watch(query: ListQuery, options?: WatchOptions): AsyncIterable<WatchEvent>
}

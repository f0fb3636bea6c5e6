/**
 * The interface of a store: what every store does for objects, versions, conflicts and watches.
 * `read` and `readAll` return typed objects of any store. `create`, `patch` and `remove` write
 * typed objects.
 *
 * @module ipam-kit/store
 */

export type { KindInfo, KubeObject, Model, ObjectRef, StoreKind } from '../crd/meta/index.js'
export type { Result } from '../errors/index.js'
export { type ReadErrorCode, read, readAll } from './read.js'
export type {
  DeleteOptions,
  JsonPatch,
  ListOptions,
  ListQuery,
  MergePatch,
  ObjectList,
  Preconditions,
  Store,
  StoreCapabilities,
  StoreErrorCode,
  StoreFailure,
  StoreResult,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './store.js'
export { create, type MergePatchOf, type NewObject, patch, remove } from './write.js'

/**
 * The interface of a store: what every store does for objects, versions, conflicts and watches. It
 * has types only.
 *
 * @module ipam-kit/store
 */
export type {
  JsonPatch,
  ListQuery,
  MergePatch,
  Store,
  StoreErrorCode,
  StoreFailure,
  StoreResult,
  WatchEvent,
} from './store.js'

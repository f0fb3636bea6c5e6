/**
 * The interface of a store: what every store does for objects, versions, conflicts and watches.
 * `read` and `readAll` return typed objects of any store.
 *
 * @module ipam-kit/store
 */
export { read, readAll } from './read.js'
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

export type {
  ListQuery,
  MergePatch,
  ObjectList,
  Preconditions,
  Store,
  StoreErrorCode,
  StoreFailure,
  StoreResult,
  Subresource,
  WatchEvent,
  WatchOptions,
} from './store.js'

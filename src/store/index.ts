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

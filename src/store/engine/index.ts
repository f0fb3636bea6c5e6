export type {
  Commit,
  DocumentChange,
  DocumentKey,
  DocumentPage,
  DocumentScope,
  DocumentWrite,
  EngineEvent,
  ScanPart,
  Stop,
  StoredDocument,
  StoreEngine,
} from './engine.js'
export { type EngineStoreOptions, engineStore } from './engine-store.js'
export { assertPolling, type ChangeLog, type ChangePage, type PollingOptions, pollChanges } from './polling.js'

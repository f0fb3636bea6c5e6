export type * from './engine.js'
export { type EngineStoreOptions, engineStore } from './engine-store.js'
export { assertPolling, type ChangeLog, type ChangePage, type PollingOptions, pollChanges } from './polling.js'

/**
 * A store over any engine that can compare and swap a text: four functions, and `engineStore` does
 * the rest.
 *
 * @module ipam-kit/store/engine
 */
export type * from './engine.js'
export { type EngineStoreOptions, engineStore } from './engine-store.js'
export { assertPolling, type ChangeLog, type ChangePage, type PollingOptions, pollChanges } from './polling.js'

/**
 * A store over any engine that can compare and swap a text: four functions, and `engineStore` does
 * the rest.
 *
 * @module ipam-kit/store/engine
 */

export type { Store, StoreKind } from '../index.js'
export type { ObjectRulesOptions } from '../rules/object-rules.js'
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
export { type ChangeLog, type ChangePage, type PollingOptions, pollChanges } from './polling.js'

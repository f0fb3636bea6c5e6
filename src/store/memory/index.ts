/**
 * A store in memory that behaves as a Kubernetes API server does: for tests, demos and programs of
 * one process.
 *
 * @module ipam-kit/store/memory
 */

export type { Store, StoreKind } from '../index.js'
export type { ObjectRulesOptions } from '../rules/object-rules.js'
export { type MemoryStoreOptions, memoryStore } from './memory-store.js'

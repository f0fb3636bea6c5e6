/**
 * A store in memory that behaves as a Kubernetes API server does: for tests, demos and programs of
 * one process.
 *
 * @module ipam-kit/store/memory
 */
export { memoryStore } from './memory-store.js'

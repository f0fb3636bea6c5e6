/**
 * A store over any engine that can compare and swap a text: four functions, and `engineStore` does
 * the rest.
 *
 * @module ipam-kit/store/engine
 */
export type { DocumentChange, DocumentKey, DocumentWrite, StoredDocument, StoreEngine } from './engine.js'
export { engineStore } from './engine-store.js'
export { pollChanges } from './polling.js'

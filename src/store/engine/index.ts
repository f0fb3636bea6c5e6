export type { DocumentChange, DocumentKey, DocumentWrite, StoredDocument, StoreEngine } from './engine.js'
export { engineStore } from './engine-store.js'
export { pollChanges } from './polling.js'

export { type ReadErrorCode, read, readAll } from './read.js'
export type * from './store.js'

export type * from './server-cloud.js'

export { ipPoolOf } from './as-ip-pool.js'
export { inClusterBlocks } from './provider.js'

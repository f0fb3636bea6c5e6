export { ipPoolOf } from './as-ip-pool.js'
export { type InClusterBlocks, type InClusterBlocksOptions, inClusterBlocks } from './provider.js'

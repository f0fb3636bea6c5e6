/**
 * The in-cluster provider for several active processes: `inClusterBlocks` serves the same pools
 * and keeps its allocations in blocks.
 *
 * @module ipam-kit/provider/in-cluster-blocks
 */
export { ipPoolOf } from './as-ip-pool.js'
export { inClusterBlocks } from './provider.js'

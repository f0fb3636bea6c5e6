/**
 * The in-cluster provider for several active processes: `inClusterBlocks` serves the same pools
 * and keeps its allocations in blocks.
 *
 * @module ipam-kit/provider/in-cluster-blocks
 */

export type { InClusterPool } from '../../crd/in-cluster/index.js'
export type { IPPool, IPPoolSpec, IPPoolStatus } from '../../crd/ipam-kit/index.js'
export type { CrdModel, KubeObject } from '../../crd/meta/index.js'
export type { BlockCall, BlockOutcome, KnownBlocks } from '../blocks/index.js'
export type { PoolLedger, PoolOutcome, Preallocations } from '../in-cluster/index.js'
export { ipPoolOf } from './as-ip-pool.js'
export { type InClusterBlocks, type InClusterBlocksOptions, inClusterBlocks } from './provider.js'

/**
 * The network side of persistent IPs for several active processes: `persistentIPsOnBlocks` serves
 * the same networks as `persistentIPs`, and keeps their addresses in blocks.
 *
 * @module ipam-kit/provider/persistent-ip-blocks
 */

export type { IPPool, IPPoolSpec, IPPoolStatus } from '../../crd/ipam-kit/index.js'
export type { CallTasks, Planner } from '../../plan/index.js'
export type { BlockCall, BlockOutcome, KnownBlocks, OperatorOutcome } from '../blocks/index.js'
export type { NetworkDefinition, PersistentIPsOptions, PersistentIPsOutcome } from '../persistent-ip/index.js'
export { networkPoolOf } from './network-pool.js'
export { type PersistentIPsOnBlocks, type PersistentIPsOnBlocksOptions, persistentIPsOnBlocks } from './planner.js'

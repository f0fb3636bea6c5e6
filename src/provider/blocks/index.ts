/**
 * Pools that any number of writers can allocate from concurrently, without a leader: `allocate`
 * and `release` for agents, `blockClaims` for claims, `blocksOperator` and `blocksSweep` for
 * maintenance.
 *
 * @module ipam-kit/provider/blocks
 */
export { ADDRESS_ANNOTATION, blockClaims, FAMILY_ANNOTATION } from './claims/claims.js'
export { defineBlockProvider } from './claims/provider.js'
export { blocksOperator } from './operator/planner.js'
export { poolsFor } from './pool/eligible.js'
export { blocksSweep } from './sweep/planner.js'
export { adopt, allocate } from './tasks/allocate.js'
export { KnownBlocks } from './tasks/known-blocks.js'
export { release } from './tasks/release.js'
export type { Allocation, BlockOwner } from './tasks/request.js'
export { blocksWatch } from './tasks/watch.js'

/**
 * Pools that any number of writers can allocate from concurrently, without a leader: `allocate`
 * and `release` for agents, `blockClaims` for claims, `blocksOperator` and `blocksSweep` for
 * maintenance.
 *
 * @module ipam-kit/provider/blocks
 */
export {
  ADDRESS_ANNOTATION,
  type BlockClaims,
  type BlockClaimsOptions,
  blockClaims,
  FAMILY_ANNOTATION,
  type PoolSeen,
} from './claims/claims.js'
export type { BlockHolderQuery, BlockProviderDefinition, ClaimRequest } from './claims/definition.js'
export { type BlockProvider, defineBlockProvider } from './claims/provider.js'
export type { OperatorOutcome } from './operator/outcome.js'
export { type BlocksOperatorOptions, blocksOperator } from './operator/planner.js'
export { poolsFor } from './pool/eligible.js'
export { type BlocksSweepOptions, blocksSweep } from './sweep/planner.js'
export { adopt, allocate } from './tasks/allocate.js'
export { KnownBlocks, type KnownBlocksOptions } from './tasks/known-blocks.js'
export type { AllocationOutcome } from './tasks/outcome.js'
export { type ReleaseOutcome, release } from './tasks/release.js'
export type { AdoptionRequest, Allocation, AllocationRequest, BlockOwner, ReleaseRequest } from './tasks/request.js'
export { type BlocksWatch, type BlocksWatchOptions, blocksWatch } from './tasks/watch.js'

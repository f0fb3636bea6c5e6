export { adopt, allocate } from './allocate.js'
export {
  ADDRESS_ANNOTATION,
  type BlockClaims,
  type BlockClaimsOptions,
  blockClaims,
  FAMILY_ANNOTATION,
  type PoolSeen,
} from './claims.js'
export type { BlockHolderQuery, BlockProviderDefinition, ClaimRequest } from './definition.js'
export { poolsFor } from './eligible.js'
export { KnownBlocks, type KnownBlocksOptions } from './known-blocks.js'
export type { OperatorOutcome } from './operator/outcome.js'
export { type BlocksOperatorOptions, blocksOperator } from './operator/planner.js'
export type { AllocationOutcome } from './outcome.js'
export { type BlockProvider, defineBlockProvider } from './provider.js'
export { type ReleaseOutcome, release } from './release.js'
export type { AdoptionRequest, Allocation, AllocationRequest, BlockOwner, ReleaseRequest } from './request.js'
export { type BlocksSweepOptions, blocksSweep } from './sweep/planner.js'
export { type BlocksWatch, type BlocksWatchOptions, blocksWatch } from './watch.js'

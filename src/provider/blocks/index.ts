/**
 * Pools that any number of writers can allocate from concurrently, without a leader: `allocate`
 * and `release` for agents, `blockClaims` for claims, `blocksOperator` and `blocksSweep` for
 * maintenance.
 *
 * @module ipam-kit/provider/blocks
 */

export type { NotReadyReason } from '../../claim/index.js'
export type { IPPool } from '../../crd/ipam-kit/index.js'
export type { KubeObject, ObjectRef } from '../../crd/meta/index.js'
export type {
  AnyWatch,
  AppliedChange,
  ApplyOptions,
  CachedObjects,
  Change,
  ListChanges,
  ObjectCache,
  Outcome,
  Planner,
  Selection,
  Task,
  TrimmedObject,
  TrimmedWatch,
  Watch,
  WentBack,
} from '../../plan/index.js'
export type { ClaimLedger } from '../claims/index.js'
export {
  ADDRESS_ANNOTATION,
  type BlockClaims,
  type BlockClaimsOptions,
  blockClaims,
  FAMILY_ANNOTATION,
  type PoolSeen,
} from './claims/claims.js'
export type {
  BlockHolderQuery,
  BlockPoolPlanInput,
  BlockProviderDefinition,
  ClaimRequest,
} from './claims/definition.js'
export { type BlockProvider, defineBlockProvider } from './claims/provider.js'
export type { OperatorOutcome } from './operator/outcome.js'
export { type BlocksOperator, type BlocksOperatorOptions, blocksOperator } from './operator/planner.js'
export { poolsFor } from './pool/eligible.js'
export { type BlocksSweepOptions, blocksSweep } from './sweep/planner.js'
export { adopt, allocate } from './tasks/allocate.js'
export type { BlockCall, BlockOutcome } from './tasks/calls.js'
export { KnownBlocks, type KnownBlocksOptions, type ObserveOptions } from './tasks/known-blocks.js'
export type { AllocationOutcome as BlockAllocationOutcome } from './tasks/outcome.js'
export { type ReleaseOutcome as BlockReleaseOutcome, release } from './tasks/release.js'
export type {
  AdoptionRequest as BlockAdoptionRequest,
  Allocation,
  AllocationRequest as BlockAllocationRequest,
  BlockOwner,
  Labels,
  ReleaseRequest as BlockReleaseRequest,
  TaskRequest,
} from './tasks/request.js'
export { type BlocksWatch, type BlocksWatchOptions, blocksWatch } from './tasks/watch.js'

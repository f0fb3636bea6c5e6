/**
 * Cluster API's in-cluster provider: `inCluster` serves IPAddressClaims from InClusterIPPools and
 * their relatives. `planClaim` and `planPool` are its rules as pure functions.
 *
 * @module ipam-kit/provider/in-cluster
 */
export type { Random } from '../../allocator/index.js'
export type { Offer } from '../claims/definition.js'
export type { ClaimOutcome, UnreadableOutcome } from '../claims/outcome.js'
export { type ClaimReads, clusterNameOf } from '../claims/references.js'
export { type ClaimInput, claimReads, fulfils, newIPAddress, planClaim, poolRefOf } from './claim.js'
export { type Duplicate, type LedgerAnswer, PoolLedger } from './ledger.js'
export {
  type FormerAddress,
  type InClusterOptions,
  PREALLOCATIONS_ANNOTATION,
  type Preallocations,
  REQUESTED_ADDRESS_ANNOTATION,
  type Sticky,
} from './options.js'
export type { PoolOutcome } from './outcome.js'
export { type InClusterOutcome, type InClusterPlanner, inCluster } from './planner.js'
export { type PoolInput, planPool } from './pool.js'

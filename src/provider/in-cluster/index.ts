/**
 * Cluster API's in-cluster provider: `inCluster` serves IPAddressClaims from the four kinds of
 * in-cluster pools. `planClaim` and `planPool` are its rules as pure functions.
 *
 * @module ipam-kit/provider/in-cluster
 */

export type {
  Ledger,
  LedgerCounts,
  LedgerEntry,
  LedgerHolder,
  LedgerOptions,
  LedgerQuery,
  LedgerSpec,
  Random,
} from '../../allocator/index.js'
export type { PrefixValue, RangeSetValue } from '../../cidr/index.js'
export type { NotReadyReason } from '../../claim/index.js'
export type {
  IPAddress,
  IPAddressClaim,
  IPAddressClaimSpec,
  IPAddressClaimStatus,
  IPAddressSpec,
  IPPoolReference,
} from '../../crd/cluster-api/index.js'
export type {
  GlobalInClusterIPPool,
  GlobalInClusterPrefixPool,
  InClusterIPPool,
  InClusterIPPoolSpec,
  InClusterPool,
  InClusterPoolCounts,
  InClusterPoolStatus,
  InClusterPrefixPool,
  InClusterPrefixPoolSpec,
} from '../../crd/in-cluster/index.js'
export type { CrdModel, KubeObject, ObjectMeta, ObjectRef } from '../../crd/meta/index.js'
export type { Holder, Plan, PlanTime } from '../../plan/index.js'
export type { EventCause } from '../../plan/sent-events.js'
export type {
  AddressAndPrefix,
  AddressLedger,
  AddressOffer,
  ClaimLedger,
  ClaimOutcome,
  ClaimReads,
  HeldFields,
  PoolHoldings,
  PoolObjects,
} from '../claims/index.js'
export { type ClaimInput as InClusterClaimInput, claimReads, planClaim, poolRefOf } from './claim.js'
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
export { type PoolInput as InClusterPoolInput, planPool } from './pool.js'
export type { KeptAddresses } from './preallocations.js'

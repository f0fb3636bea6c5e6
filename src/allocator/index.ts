export type { ReserveRule, SubnetEdges } from '../cidr/edges.js'
export { AddressPool } from './address-pool.js'
export { Bitmap } from './bitmap.js'
export type {
  HoldReason,
  LedgerCounts,
  LedgerEntry,
  LedgerHolder,
  LedgerQuery,
  LedgerSpec,
  Random,
} from './ledger/entry.js'
export { Ledger } from './ledger/ledger.js'
export type { AddressPoolSpec } from './pool-spec.js'
export {
  PrefixAllocator,
  type PrefixCounts,
  type PrefixDelta,
  type PrefixEntry,
  type PrefixHold,
  type PrefixOutcome,
  type PrefixReleaseOutcome,
  type PrefixRequest,
} from './prefix-allocator.js'
export type { PrefixAllocatorSpec } from './prefix-spec.js'
export { PrefixTree } from './prefix-tree.js'
export { RangeTree } from './range-tree.js'
export {
  type ObservedHold,
  type RebuildFinding,
  type Rebuilt,
  rebuildPool,
} from './rebuild.js'
export { explainRefusal } from './refusal.js'
export type {
  Allocated,
  AllocationDelta,
  AllocationOutcome,
  AllocationRequest,
  AtTime,
  Hold,
  LowestFreeOptions,
  Occupation,
  OccupyOptions,
  Owner,
  PoolCounts,
  PoolEntry,
  Released,
  ReleaseOptions,
  ReleaseOutcome,
  StrategyState,
  Want,
} from './request.js'
export {
  confusableAddresses,
  type ReserveRuleName,
  reservedAddresses,
} from './reserved.js'
export type { Rest } from './resting.js'
export type { FreeRunOptions, SlotRange, Slots } from './slots.js'
export { type Strategy, staticBandOf } from './strategy.js'

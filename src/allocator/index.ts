/**
 * Allocators in memory, which decide which address or prefix is next and do no I/O: `AddressPool`,
 * `PrefixAllocator` and `Ledger`. `Bitmap`, `RangeTree` and `PrefixTree` are the structures under
 * them.
 *
 * @module ipam-kit/allocator
 */

export type { Address4, Address6, AddressValue, PrefixValue, RangeSetValue } from '../cidr/index.js'
export type { ReserveRule, SubnetEdges } from '../cidr/internal.js'
export type { Result } from '../errors/index.js'
export type {
  HoldReason,
  LedgerCounts,
  LedgerEntry,
  LedgerHolder,
  LedgerOptions,
  LedgerQuery,
  LedgerSpec,
  LedgerUsage,
  Random,
} from './ledger/entry.js'
export { Ledger } from './ledger/ledger.js'
export { AddressPool } from './pool/address-pool.js'
export type { ReleasedAddress } from './pool/cooldown.js'
export type { Pool as AddressPoolBase } from './pool/pool.js'
export type { AddressPoolSpec } from './pool/pool-spec.js'
export { type ObservedHold, type RebuildFinding, type Rebuilt, rebuildPool } from './pool/rebuild.js'
export { confusableAddresses, type ReserveRuleName, reservedAddresses } from './pool/reserved.js'
export { PrefixAllocator } from './prefixes/prefix-allocator.js'
export type {
  PrefixCounts,
  PrefixDelta,
  PrefixHold,
  PrefixOutcome,
  PrefixReleaseOutcome,
  PrefixRequest,
} from './prefixes/prefix-request.js'
export type { PrefixAllocatorSpec } from './prefixes/prefix-spec.js'
export { PrefixTree } from './prefixes/prefix-tree.js'
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
export { Bitmap } from './slots/bitmap.js'
export { RangeTree } from './slots/range-tree.js'
export type { FreeRunOptions, SlotRange, Slots } from './slots/slots.js'
export { type Strategy, staticBandOf } from './strategy.js'

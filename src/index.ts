/**
 * What most programs need, by name: addresses, `AddressPool`, `PrefixAllocator`, `inCluster`,
 * `Controller`, `runUntilQuiet`, `memoryStore`, `read` and `unwrap`. Everything else is in the
 * entry of its folder. A bundler leaves out what a program does not import.
 *
 * @module ipam-kit
 */
export {
  AddressPool,
  type AddressPoolBase,
  type AddressPoolSpec,
  type AllocationDelta,
  type AllocationOutcome,
  type AllocationRequest,
  type AtTime,
  type Hold,
  type LowestFreeOptions,
  type Occupation,
  type OccupyOptions,
  type Owner,
  type PoolCounts,
  type PoolEntry,
  PrefixAllocator,
  type PrefixAllocatorSpec,
  type PrefixCounts,
  type PrefixDelta,
  type PrefixHold,
  type PrefixOutcome,
  type PrefixReleaseOutcome,
  type PrefixRequest,
  type Released,
  type ReleaseOptions,
  type ReleaseOutcome,
} from './allocator/index.js'
export {
  Address,
  type Address4,
  type Address6,
  type AddressKind,
  type AddressValue,
  type Cover,
  type CoverOptions,
  Prefix,
  type PrefixTextOptions,
  type PrefixValue,
  Range,
  RangeSet,
  type RangeSetBuilder,
  type RangeSetValue,
  type RangeTextOptions,
  type RangeValue,
  type SpecialPurposeEntry,
  type SubnetRange,
  type TextOptions,
  type TextWarning,
  type ZonedAddress,
} from './cidr/index.js'
export type { KubeObject, Model, ObjectRef } from './crd/meta/index.js'
export {
  type ErrorContexts,
  IpamError,
  isIpamError,
  type MalformedText,
  type Result,
  type Unwrapped,
  unwrap,
} from './errors/index.js'
export type { CachedObjects, Outcome, Planner, Watch } from './plan/index.js'
export { type InClusterOptions, type InClusterPlanner, inCluster } from './provider/in-cluster/index.js'
export {
  Controller,
  type ControllerLoad,
  type ControllerOptions,
  type QueueReport,
  type QuietResult,
  type RunUntilQuietOptions,
  runUntilQuiet,
} from './run/index.js'
export {
  create,
  type DeleteOptions,
  type MergePatchOf,
  type NewObject,
  type Preconditions,
  patch,
  type ReadErrorCode,
  read,
  remove,
  type Store,
  type StoreKind,
  type WriteOptions,
} from './store/index.js'
export { type MemoryStoreOptions, memoryStore } from './store/memory/index.js'

/**
 * Allocators in memory, which decide which address or prefix is next and do no I/O: `AddressPool`,
 * `PrefixAllocator` and `Ledger`. `Bitmap`, `RangeTree` and `PrefixTree` are the structures under
 * them.
 *
 * @module ipam-kit/allocator
 */
export type { ReserveRule } from '../cidr/internal.js'
export type { LedgerEntry, LedgerHolder, Random } from './ledger/entry.js'
export { Ledger } from './ledger/ledger.js'
export { AddressPool } from './pool/address-pool.js'
export type { AddressPoolSpec } from './pool/pool-spec.js'
export { rebuildPool } from './pool/rebuild.js'
export { confusableAddresses, reservedAddresses } from './pool/reserved.js'
export { PrefixAllocator } from './prefixes/prefix-allocator.js'
export { PrefixTree } from './prefixes/prefix-tree.js'
export { explainRefusal } from './refusal.js'
export type { AllocationDelta, AllocationOutcome, AllocationRequest, Hold, Owner, Want } from './request.js'
export { Bitmap } from './slots/bitmap.js'
export { RangeTree } from './slots/range-tree.js'
export type { Slots } from './slots/slots.js'
export { type Strategy, staticBandOf } from './strategy.js'

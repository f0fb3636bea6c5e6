// What other folders of this package need of the allocator and its users do not. Not an entry of
// the package.
export type { LedgerCounts, LedgerQuery, LedgerSpec } from './ledger/entry.js'
export type { FreeRunOptions, SlotRange, Slots } from './slots/slots.js'
export { staticBandOf } from './strategy.js'

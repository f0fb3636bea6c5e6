// What other folders of this package need of the allocator and its users do not. Not an entry of
// the package.
export type { LedgerSpec } from './ledger/entry.js'
export { staticBandOf } from './strategy.js'

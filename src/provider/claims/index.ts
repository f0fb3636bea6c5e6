/**
 * A Cluster API provider from a pool kind and three functions: `defineProvider`. The life of
 * claims comes with it: finalizers, owners, conditions, adoption, and calls to external systems.
 *
 * @module ipam-kit/provider/claims
 */
export { type CallSchemas, handleCalls } from './call-schemas.js'
export type { PoolCall, PoolPlan, PoolPlanInput, ProviderDefinition } from './definition.js'
export { MARKER_ANNOTATION } from './external.js'
export { type AddressHolder, AddressLedger } from './ledger.js'
export type { ClaimOutcome } from './outcome.js'
export { defineProvider, type Provider } from './planner.js'
export { protectPool } from './pool.js'
export { DEFAULT_FINALIZERS } from './rules.js'
export { ADDRESS_UNIQUE_CONDITION } from './status.js'

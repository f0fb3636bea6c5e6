/**
 * Cluster API's in-cluster provider: `inCluster` serves IPAddressClaims from the four kinds of
 * in-cluster pools. `planClaim` and `planPool` are its rules as pure functions.
 *
 * @module ipam-kit/provider/in-cluster
 */
export { claimReads, planClaim, poolRefOf } from './claim.js'
export { PoolLedger } from './ledger.js'
export { type InClusterOptions, PREALLOCATIONS_ANNOTATION, REQUESTED_ADDRESS_ANNOTATION } from './options.js'
export { type InClusterOutcome, inCluster } from './planner.js'
export { planPool } from './pool.js'

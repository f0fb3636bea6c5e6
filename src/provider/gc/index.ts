/**
 * Garbage collection by owner references, for stores that do not collect: `gcPlanner`.
 *
 * @module ipam-kit/provider/gc
 */
export type { StoreKind } from '../../crd/meta/index.js'
export type { GcOutcome } from './outcome.js'
export { type GcOptions, type GcPlanner, gcPlanner } from './planner.js'

export type { GcOutcome } from './outcome.js'
export { type GcOptions, type GcPlanner, gcPlanner } from './planner.js'

export type { GcOutcome } from './outcome.js'
export { gcPlanner } from './planner.js'

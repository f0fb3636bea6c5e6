// What other folders of this package need of the sweep. Not an entry of the package.
export type { PodRules } from './decision.js'
export { type WhereaboutsSweepOptions, whereaboutsSweep } from './planner.js'
export type { WhereaboutsSweepOutcome } from './sweep.js'

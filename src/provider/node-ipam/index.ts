export {
  defaultClusterCIDR,
  type FlagRanges,
  type FlagResult,
  flagRange,
  type NodeIPAMFlags,
  readFlags,
} from './flags.js'
export type { NodeIPAMOutcome } from './outcome.js'
export { planNodeIPAM } from './plan.js'
export { type NodeIPAMOptions, type NodeIPAMPlanner, nodeIPAM } from './planner.js'
export { type NodeRange, readRange, type SubnetSpace } from './range.js'
export { compareRanges, rankClusterCIDRs } from './rank.js'

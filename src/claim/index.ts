export { type Condition, type ConditionUpdate, findCondition, setCondition } from './conditions.js'
export { nameOf, type StateName, type Transition, transition, transitions } from './machine.js'
export { type PoolFacts, type PoolReadyReason, poolReady } from './pool-conditions.js'
export {
  type ClaimEffect,
  type ClaimEvent,
  type ClaimState,
  type ClaimStatusLike,
  type NotReadyReason,
  type Phase,
  phaseOf,
  type ReadyReason,
  stateOf,
} from './state.js'

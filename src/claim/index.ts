export { findCondition, setCondition } from './conditions.js'
export { nameOf, transition, transitions } from './machine.js'
export { poolReady } from './pool-conditions.js'
export { type ClaimEvent, type ClaimState, type Phase, phaseOf, stateOf } from './state.js'

export { findCondition, setCondition } from './conditions.js'
export { transition } from './machine.js'
export { poolReady } from './pool-conditions.js'
export { type ClaimEvent, type ClaimState, phaseOf, stateOf } from './state.js'

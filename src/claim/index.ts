/**
 * The life of a claim as a state machine: phases, transitions and conditions. It is the same for
 * IPAddressClaims of Cluster API, IPClaims of metal3 and IPAMClaims of KubeVirt.
 *
 * @module ipam-kit/claim
 */
export { type Condition as ClaimCondition, type ConditionUpdate, findCondition, setCondition } from './conditions.js'
export { nameOf, type StateName, type Transition, transition, transitions } from './machine.js'
export { type PoolFacts, type PoolReadyReason, poolReady } from './pool-conditions.js'
export {
  type ClaimEffect,
  type ClaimEvent,
  type ClaimState,
  type ClaimStatusLike,
  type ConditionLike,
  type NotReadyReason,
  type Phase,
  phaseOf,
  stateOf,
} from './state.js'

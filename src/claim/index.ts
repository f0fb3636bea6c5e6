/**
 * The life of a claim as a state machine: phases, transitions and conditions. It is the same for
 * IPAddressClaims of Cluster API, IPClaims of metal3 and IPAMClaims of KubeVirt.
 *
 * @module ipam-kit/claim
 */
export { findCondition, setCondition } from './conditions.js'
export { nameOf, transition, transitions } from './machine.js'
export { poolReady } from './pool-conditions.js'
export { type ClaimEvent, type ClaimState, type Phase, phaseOf, stateOf } from './state.js'

/**
 * Tools for your own tests: conformance suites for stores and clouds, a deterministic simulation
 * with faults, arbitraries for fast-check, and a cloud in memory. It needs the peer dependency
 * fast-check.
 *
 * @module ipam-kit/testing
 */
export { address, prefix, range, rangeSetIn } from './arbitraries.js'
export { neutronHandler } from './cloud/neutron-handler.js'
export { FakeCloudWorld } from './cloud/world.js'
export { cloudConformance } from './conformance/cloud-conformance.js'
export { conformanceKinds, storeConformance } from './conformance/store-conformance.js'
export { crashingStore, SimulatedCrash } from './crashing-store.js'
export { FakeCloud } from './fake-cloud.js'
export { Dice } from './simulation/dice.js'
export { ALL_FAULTS, EXTERNAL_FAULTS } from './simulation/faulty-store.js'
export { inClusterSystem } from './simulation/in-cluster-system.js'
export { type SimulatedSystem, simulate } from './simulation/simulate.js'
export { simulateBlocks } from './simulation/simulate-blocks.js'
export { standingStore } from './standing-store.js'
export { storeOver } from './store-over.js'

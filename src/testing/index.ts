/**
 * Tools for your own tests: conformance suites for stores and clouds, a deterministic simulation
 * with faults, and a cloud in memory.
 *
 * @module ipam-kit/testing
 */

export type { Json, KindInfo } from '../crd/meta/index.js'
export type { ExternalResult } from '../plan/index.js'
export type {
  Cloud,
  CloudAddress,
  CloudAddresses,
  CloudInput,
  CloudNetwork,
  SeenCloudAddress,
} from '../provider/external/index.js'
export type { ServerCloud, ServerNetwork } from '../provider/openstack/index.js'
export type { AnyCaller, ObjectLocks } from '../run/index.js'
export type { Store } from '../store/index.js'
export { type NeutronHandler, neutronHandler } from './cloud/neutron-handler.js'
export type { FakeUser, NeutronHandlerOptions } from './cloud/neutron-options.js'
export type { FakeAct, FakeFloatingIP, FakeNetwork, FakePort, FakeRouter } from './cloud/objects.js'
export type { CloudTrouble, CloudTroubleKind, FakeOperation } from './cloud/troubles.js'
export { FakeCloudWorld, type FakeCloudWorldOptions, type NewFloatingIP } from './cloud/world.js'
export type { CloudFeature, CloudOperator, CloudUnderTest } from './conformance/cloud-bench.js'
export { type CloudConformanceOptions, cloudConformance } from './conformance/cloud-conformance.js'
export type { ConformanceCase, ConformanceOptions } from './conformance/harness.js'
export { conformanceKinds, storeConformance } from './conformance/store-conformance.js'
export { type CrashingStore, type CrashPoint, crashingStore, SimulatedCrash } from './crashing-store.js'
export { FakeCloud, type FakeCloudOptions } from './fake-cloud.js'
export { Dice } from './simulation/dice.js'
export { ALL_FAULTS, EXTERNAL_FAULTS, type ExternalFault, type Fault } from './simulation/faulty-store.js'
export { type InClusterSystemOptions, inClusterSystem } from './simulation/in-cluster-system.js'
export {
  type ExternalOptions as SimulatedExternalOptions,
  type ObservedWrite,
  type ObservedWriter,
  type SimulatedSystem,
  type SimulationOptions,
  type SimulationResult,
  type SimulationRules,
  simulate,
} from './simulation/simulate.js'
export { type BlocksSimulationOptions, simulateBlocks } from './simulation/simulate-blocks.js'
export { type StandingStore, standingStore } from './standing-store.js'
export { storeOver } from './store-over.js'

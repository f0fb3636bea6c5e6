export { address, address4, address6, prefix, range, rangeSetIn } from './arbitraries.js'
export { type NeutronHandler, neutronHandler } from './cloud/neutron-handler.js'
export type { FakeUser, NeutronHandlerOptions } from './cloud/neutron-options.js'
export type { FakeAct, FakeFloatingIP, FakeNetwork, FakePort, FakeRouter } from './cloud/objects.js'
export {
  type CloudTrouble,
  type CloudTroubleKind,
  FakeCloudError,
  type FakeCloudErrorCode,
  type FakeOperation,
} from './cloud/troubles.js'
export type { FakeCloudWorldOptions, NewFloatingIP } from './cloud/world.js'
export { FakeCloudWorld } from './cloud/world.js'
export {
  type CloudConformanceOptions,
  type CloudFeature,
  type CloudOperator,
  type CloudUnderTest,
  cloudConformance,
} from './conformance/cloud-conformance.js'
export {
  type ConformanceCase,
  ConformanceError,
  type ConformanceOptions,
  conformanceKinds,
  storeConformance,
} from './conformance/store-conformance.js'
export { type CrashingStore, type CrashPoint, crashingStore, SimulatedCrash } from './crashing-store.js'
export { FakeCloud, type FakeCloudOptions } from './fake-cloud.js'
export { ModelLedger } from './model-ledger.js'
export { ModelPool } from './model-pool.js'
export { ModelSlots } from './model-slots.js'
export { blockClaimsSystem } from './simulation/block-claims-system.js'
export { Dice } from './simulation/dice.js'
export { ALL_FAULTS, EXTERNAL_FAULTS, type ExternalFault, type Fault } from './simulation/faulty-store.js'
export { floatingIPsSystem } from './simulation/floating-ips-system.js'
export { inClusterBlocksSystem } from './simulation/in-cluster-blocks-system.js'
export { type InClusterSystemOptions, inClusterSystem } from './simulation/in-cluster-system.js'
export { type NodeIPAMSystemOptions, nodeIPAMSystem } from './simulation/node-ipam-system.js'
export { serviceIPSystem } from './simulation/service-ip-system.js'
export {
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

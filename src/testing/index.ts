export { address, address4, address6, prefix, range, rangeSetIn } from './arbitraries.js'
export {
  type ConformanceCase,
  ConformanceError,
  type ConformanceOptions,
  conformanceKinds,
  storeConformance,
} from './conformance/index.js'
export { type CrashingStore, type CrashPoint, crashingStore, SimulatedCrash } from './crashing-store.js'
export { ModelPool } from './model-pool.js'
export { ModelSlots } from './model-slots.js'
export { storeOver } from './store-over.js'

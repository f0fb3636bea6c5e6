export { address, address4, address6, prefix, range, rangeSetIn } from './arbitraries.js'
export { type CrashingStore, type CrashPoint, crashingStore, SimulatedCrash } from './crashing-store.js'
export { ModelPool } from './model-pool.js'
export { storeOver } from './store-over.js'

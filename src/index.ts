/**
 * What most programs need, by name: addresses, `AddressPool`, `PrefixAllocator`, `inCluster`,
 * `Controller`, `runUntilQuiet`, `memoryStore`, `read` and `unwrap`. Everything else is in the
 * entry of its folder. A bundler leaves out what a program does not import.
 *
 * @module ipam-kit
 */
export { AddressPool, PrefixAllocator } from './allocator/index.js'
export { Address, Prefix, Range, RangeSet } from './cidr/index.js'
export { IpamError, unwrap } from './errors/index.js'
export { inCluster } from './provider/in-cluster/index.js'
export { Controller, runUntilQuiet } from './run/index.js'
export { read } from './store/index.js'
export { memoryStore } from './store/memory/index.js'

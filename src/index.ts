// What most programs need. Everything else is at the entry of its folder: ipam-kit/crd/*,
// ipam-kit/provider/*, ipam-kit/store/*.
export { AddressPool, PrefixAllocator } from './allocator/index.js'
export { Address, Prefix, Range, RangeSet } from './cidr/index.js'
export { IpamError, unwrap } from './errors/index.js'
export { inCluster } from './provider/in-cluster/index.js'
export { Controller, runUntilQuiet } from './run/index.js'
export { read } from './store/index.js'
export { memoryStore } from './store/memory/index.js'

/**
 * Node, Pod, Namespace and Service of Kubernetes, as far as IPAM reads them, and node selectors.
 *
 * @module ipam-kit/crd/core
 */
export { Namespace } from './namespace.js'
export { Node } from './node.js'
export { matchesNodeSelector } from './node-selector.js'
export { nodeSubnets } from './node-subnets.js'
export { Pod } from './pod.js'
export { Service } from './service.js'

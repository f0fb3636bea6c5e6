/**
 * The nouns and allocators that need no schema library, as one namespace for each entry: `Cidr`,
 * `Allocator`, `Claim`, `Plan` and `Errors`. Typed Kubernetes objects are in `ipam-kit/crd`,
 * planners in `ipam-kit/provider/*`.
 *
 * @module ipam-kit
 */
export * as Allocator from './allocator/index.js'
export * as Cidr from './cidr/index.js'
export * as Claim from './claim/index.js'
export * as Errors from './errors/index.js'
export * as Plan from './plan/index.js'

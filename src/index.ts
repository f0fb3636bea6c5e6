// Everything that needs no schema library. The typed models are at ipam-kit/crd, the planners at ipam-kit/provider/*.
export * as Allocator from './allocator/index.js'
export * as Cidr from './cidr/index.js'
export * as Claim from './claim/index.js'
export * as Errors from './errors/index.js'
export * as Plan from './plan/index.js'

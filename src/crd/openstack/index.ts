/**
 * OpenStackFloatingIPPool of cluster-api-provider-openstack, and the fields of its server and
 * machine kinds that name a pool.
 *
 * @module ipam-kit/crd/openstack
 */
export * from './admission.js'
export {
  type AnnotationResult,
  adoptByTagOf,
  MAX_MIN_FREE,
  minFreeOf,
  type NetworkFilter,
  type NetworkParameter,
  OpenStackFloatingIPPool,
  type OpenStackFloatingIPPoolSpec,
  type OpenStackFloatingIPPoolStatus,
} from './floating-ip-pool.js'
export * from './machines.js'
export * from './names.js'
export { type FloatingIPPoolReference, type IdentityReference, isFloatingIPPoolReference } from './references.js'

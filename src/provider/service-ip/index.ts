/**
 * Cluster IPs for Services, kept in IPAddress and ServiceCIDR objects: `serviceIPs` allocates and
 * repairs them, and removes the finalizer of a deleted ServiceCIDR when no address depends on it.
 *
 * @module ipam-kit/provider/service-ip
 */
export { compareServiceBitmap, readServiceBitmap } from './bitmap-snapshot.js'
export { namedServiceAddress, nextServiceAddress, type ServiceChoice } from './choose.js'
export type { ServiceIPOutcome } from './outcome.js'
export { serviceIPs } from './planner.js'
export {
  bandsOf,
  type ServiceRange,
  serviceCIDRProblem,
  serviceRanges,
  usableAddresses,
  usableRange,
} from './ranges.js'

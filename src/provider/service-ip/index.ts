/**
 * Cluster IPs for Services, kept in IPAddress and ServiceCIDR objects: `serviceIPs` allocates,
 * repairs, and ends ranges.
 *
 * @module ipam-kit/provider/service-ip
 */
export {
  compareServiceBitmap,
  readServiceBitmap,
  type ServiceBitmap,
  type ServiceBitmapComparison,
  type ServiceBitmapReading,
} from './bitmap-snapshot.js'
export {
  type NextAddressQuery,
  namedServiceAddress,
  nextServiceAddress,
  type ServiceChoice,
  type ServiceRefusal,
} from './choose.js'
export type { ServiceIPOutcome } from './outcome.js'
export { ADOPTED_ANNOTATION } from './plan-service.js'
export { type ServiceIPOptions, type ServiceIPPlanner, serviceIPs } from './planner.js'
export {
  bandsOf,
  type ServiceBands,
  type ServiceRange,
  serviceCIDRProblem,
  serviceRanges,
  usableAddresses,
  usableRange,
} from './ranges.js'

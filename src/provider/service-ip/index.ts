/**
 * Cluster IPs for Services, kept in IPAddress and ServiceCIDR objects: `serviceIPs` allocates and
 * repairs them, and removes the finalizer of a deleted ServiceCIDR when no address depends on it.
 *
 * @module ipam-kit/provider/service-ip
 */

export type {
  Ledger,
  LedgerCounts,
  LedgerEntry,
  LedgerHolder,
  LedgerOptions,
  LedgerQuery,
  LedgerSpec,
} from '../../allocator/index.js'
export type { AddressValue, PrefixValue, RangeSetValue, RangeValue } from '../../cidr/index.js'
export type { Service } from '../../crd/core/index.js'
export type { KubeObject, Model } from '../../crd/meta/index.js'
export type { ServiceCIDR, ServiceCIDRSpec, ServiceCIDRStatus } from '../../crd/networking/index.js'
export type { EventCause, SentEvents } from '../../plan/sent-events.js'
export { readServiceBitmap, type ServiceBitmap, type ServiceBitmapReading } from './bitmap-snapshot.js'
export {
  type NextAddressQuery,
  namedServiceAddress,
  nextServiceAddress,
  type ServiceChoice,
  type ServiceRefusal,
} from './choose.js'
export type { ServiceIPOutcome } from './outcome.js'
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
export type { ServiceIPState } from './state.js'
export type { SeenAddress, ServiceWatches } from './watches.js'

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

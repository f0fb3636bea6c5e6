export {
  type Cloud,
  type CloudAddress,
  type CloudFacts,
  type CloudInput,
  type CloudNetwork,
  cloudCaller,
  isCloudCall,
  MAX_CALL_SECONDS,
  markerText,
} from './cloud.js'
export type { ExternalPoolOutcome, ExternalPoolsDefinition } from './definition.js'
export type { ExternalLedger } from './ledger.js'
export type { ExternalPolicy, ExternalPoolKind, FailedAddress, PoolReport, Shortage } from './pool-kind.js'
export { externalPools } from './provider.js'
export { RESERVATIONS_ANNOTATION, type Reservation, type Reservations, reservationsOf } from './reservations.js'

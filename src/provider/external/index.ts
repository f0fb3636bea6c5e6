/**
 * Pools whose addresses live in an external system such as a cloud: `externalPools` reserves,
 * creates and releases them. A cloud is described by three facts.
 *
 * @module ipam-kit/provider/external
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
export type { PrefixValue, RangeSetValue } from '../../cidr/index.js'
export type { IPAddress, IPAddressSpec } from '../../crd/cluster-api/index.js'
export type { CrdModel, Json, KubeObject, ObjectMeta } from '../../crd/meta/index.js'
export type { ExternalCall, ExternalResult } from '../../plan/index.js'
export type { AddressLedger, ClaimLedger, HeldFields, Provider } from '../claims/index.js'
export {
  type Cloud,
  type CloudAddress,
  type CloudAddresses,
  type CloudFacts,
  type CloudInput,
  type CloudNetwork,
  type CloudOperation,
  cloudCaller,
  isCloudCall,
} from './cloud.js'
export type { ExternalPoolOutcome, ExternalPoolsDefinition } from './definition.js'
export type { Inventory, InventoryOptions } from './inventory.js'
export type {
  ExternalLedger,
  LedgerOptions as ExternalLedgerOptions,
  Neighbours,
  PoolNow,
} from './ledger.js'
export type { ExternalPolicy, ExternalPoolKind, FailedAddress, PoolReport, Shortage } from './pool-kind.js'
export { externalPools } from './provider.js'
export {
  RESERVATIONS_ANNOTATION,
  type ReadReservations,
  type Reservation,
  type Reservations,
  reservationsOf,
} from './reservations.js'

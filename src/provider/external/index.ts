/**
 * Pools whose addresses live in an external system such as a cloud: `externalPools` creates,
 * gives and deletes them. A cloud is a {@link Cloud}.
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
  type CloudInput,
  type CloudNetwork,
  type CloudOperation,
  cloudCaller,
  isCloudCall,
  MAX_MARKER,
  type SeenAddress as SeenCloudAddress,
} from './cloud.js'
export type { ExternalPoolLedger, ExternalPoolOutcome, ExternalPoolsDefinition } from './definition.js'
export { IDENTITY_ANNOTATION, identityOf, type PoolIdentity, type ReadIdentity } from './identity.js'
export type { ExternalPolicy, ExternalPoolKind, FailedAddress, PoolReport, Shortage } from './pool-kind.js'
export { externalPools } from './provider.js'

/**
 * A Cluster API provider from a pool kind and three functions: `defineProvider`. The life of
 * claims comes with it: finalizers, owners, conditions, adoption, and calls to external systems.
 *
 * @module ipam-kit/provider/claims
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
export type { NotReadyReason } from '../../claim/index.js'
export type { IPAddress, IPAddressSpec } from '../../crd/cluster-api/index.js'
export type { CrdModel, Json, KubeObject, ObjectMeta } from '../../crd/meta/index.js'
export type { ExternalCall, ExternalResult, GroupedCall, Holder, LastResult, Outcome, Plan } from '../../plan/index.js'
export type { EventCause } from '../../plan/sent-events.js'
export {
  type AnySchema,
  type CallHandlers,
  type CallSchemas,
  type CallTypes,
  handleCalls,
  type InputOf as CallInputOf,
  type JsonCalls,
  type OperationOf,
  type OutputOf as CallOutputOf,
  type SchemaIssue,
  type SchemaResult,
  type SchemasOf,
  type StandardSchema as CallSchema,
  type TypesOf,
  type UnknownCalls,
} from './call-schemas.js'
export type {
  AddressAndPrefix,
  AddressChange,
  AskedOf,
  CallRequest,
  CallValues,
  ClaimLedger,
  Confirmed as ConfirmResult,
  ConfirmInput,
  Ensured as EnsureResult,
  EnsureInput,
  ExternalOptions,
  HeldAddress,
  HeldFields,
  LastCall,
  Offer as AddressOffer,
  PoolCall,
  PoolCallResult,
  PoolCallResults,
  PoolHoldings,
  PoolObjects,
  PoolPlan,
  PoolPlanInput,
  ProviderDefinition,
  ProviderFinalizers,
  ProviderMemory,
  Released as ReleaseResult,
  ReleaseInput,
  Resolved as ResolveResult,
  ResolveInput,
  WaitReason,
} from './definition.js'
export { MARKER_ANNOTATION, type ResultOf } from './external.js'
export { AddressLedger } from './ledger.js'
export type { ClaimOutcome, UnreadableOutcome } from './outcome.js'
export { defineProvider, type Provider } from './planner.js'
export type { ClaimInput } from './planning.js'
export { type ProtectedPoolOutcome, protectPool } from './pool.js'
export type { ClaimReads } from './references.js'
export { DEFAULT_FINALIZERS } from './rules.js'
export type { Rivals as SharedAddress } from './shared-addresses.js'
export { ADDRESS_UNIQUE_CONDITION } from './status.js'

export {
  type CallHandlers,
  type CallSchemas,
  handleCalls,
  type StandardSchema,
} from './call-schemas.js'
export type {
  AddressAndPrefix,
  AddressChange,
  CallRequest,
  CallValues,
  ClaimLedger,
  Confirmed,
  ConfirmInput,
  Ensured,
  EnsureInput,
  ExternalOptions,
  HeldAddress,
  LastCall,
  Offer,
  PoolCall,
  PoolCallResult,
  PoolCallResults,
  PoolPlan,
  PoolPlanInput,
  ProviderDefinition,
  ProviderFinalizers,
  ProviderMemory,
  Released,
  ReleaseInput,
  Resolved,
  ResolveInput,
  WaitingClaim,
  WaitReason,
} from './definition.js'
export { MARKER_ANNOTATION } from './external.js'
export { type AddressHolder, AddressLedger } from './ledger.js'
export type { ClaimOutcome, UnreadableOutcome } from './outcome.js'
export { defineProvider, type Provider } from './planner.js'
export { type ProtectedPoolOutcome, protectPool } from './pool.js'
export { DEFAULT_FINALIZERS } from './rules.js'
export { ADDRESS_UNIQUE_CONDITION } from './status.js'

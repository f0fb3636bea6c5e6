export type {
  AddressChange,
  Answers,
  CallResult,
  CallResults,
  Confirmed,
  ConfirmInput,
  Ensured,
  EnsureInput,
  HeldAddress,
  Ledger,
  Offer,
  OutsideOptions,
  OutsideRequest,
  Place,
  PoolCall,
  PoolPlan,
  PoolPlanInput,
  ProviderDefinition,
  ProviderFinalizers,
  ProviderMemory,
  Released,
  ReleaseInput,
  Resolved,
  ResolveInput,
  WaitReason,
} from './definition.js'
export { type AddressHolder, AddressLedger } from './ledger.js'
export type { ClaimOutcome, UnreadableOutcome } from './outcome.js'
export { MARKER_ANNOTATION } from './outside.js'
export { defineProvider, type Provider } from './planner.js'
export { type ProtectedPoolOutcome, protectPool } from './pool.js'
export { DEFAULT_FINALIZERS } from './rules.js'
export { ADDRESS_UNIQUE_CONDITION } from './status.js'

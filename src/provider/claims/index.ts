export { AddressLedger } from './address-ledger.js'
export type {
  Answers,
  Ensured,
  EnsureInput,
  Ledger,
  Offer,
  OutsideOptions,
  OutsideRequest,
  PoolPlanInput,
  ProviderDefinition,
  ProviderFinalizers,
  Released,
  ReleaseInput,
  Resolved,
  ResolveInput,
  WaitReason,
} from './definition.js'
export type { ClaimOutcome, UnreadableOutcome } from './outcome.js'
export { MARKER_ANNOTATION } from './outside.js'
export { defineProvider, type Provider } from './planner.js'
export { type ProtectedPoolOutcome, protectPool } from './pool.js'
export { DEFAULT_FINALIZERS } from './rules.js'

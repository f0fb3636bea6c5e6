export type {
  Ensured,
  EnsureInput,
  Ledger,
  Offer,
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
export { defineProvider, type Provider } from './planner.js'
export { DEFAULT_FINALIZERS } from './rules.js'

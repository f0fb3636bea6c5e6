import type { ClaimRefusal } from './claim-step.js'

/** The outcome of a plan of {@link persistentClaims} or {@link workloadClaims}. */
export type PersistentClaimsOutcome =
  /** The claims are as they should be. */
  | { readonly kind: 'kept'; readonly message: string }
  /** Claims are created, or get what they lack. */
  | { readonly kind: 'made'; readonly message: string }
  /** A definition or an owner does not exist or cannot be read. Other claims are not affected. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** The workload cannot have some claims. */
  | { readonly kind: 'refused'; readonly message: string; readonly reasons: readonly ClaimRefusal[] }
  /** A Pod of the machine names not all of its claims. */
  | { readonly kind: 'missed'; readonly message: string }
  /** Claims are about to be released: the grace period is not over. */
  | { readonly kind: 'releasing'; readonly message: string }
  /** Claims are released. */
  | { readonly kind: 'released'; readonly message: string }
  /** The feature is off: claims are neither created nor changed. */
  | { readonly kind: 'off'; readonly message: string }
  /** The workload exists and cannot be read, so that its claims stay. */
  | { readonly kind: 'unreadable'; readonly message: string }

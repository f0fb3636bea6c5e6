import type { Outcome } from '../../plan/index.js'

/** The outcome of a plan for a pool. */
export type PoolOutcome =
  /** The pool serves claims, and its counts are written. */
  | (Outcome & { readonly kind: 'ready'; readonly total: number; readonly free: number; readonly used: number })
  /** The spec cannot be used. Its claims wait; its addresses stay. */
  | (Outcome & { readonly kind: 'invalid'; readonly problems: readonly string[] })
  /** The pool is being deleted, and stays while addresses refer to it. */
  | (Outcome & { readonly kind: 'protected'; readonly addresses: number })
  /** The pool is being deleted, and none of its addresses is in use. */
  | (Outcome & { readonly kind: 'unprotected' })

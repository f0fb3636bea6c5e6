import type { Outcome } from '../../plan/index.js'

/** What a plan for a pool came to. */
export type PoolOutcome =
  | (Outcome & { readonly kind: 'ready'; readonly total: number; readonly free: number; readonly used: number })
  /** The spec cannot be used. Its claims wait; its addresses stay. */
  | (Outcome & { readonly kind: 'invalid'; readonly problems: readonly string[] })
  /** The pool is being deleted and stays while addresses refer to it. */
  | (Outcome & { readonly kind: 'protected'; readonly addresses: number })
  /** The pool is being deleted and nothing of it is in use. */
  | (Outcome & { readonly kind: 'unprotected' })

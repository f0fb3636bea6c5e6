/** The outcome of a plan of the operator, for a pool, a block or a domain. */
export type OperatorOutcome =
  /** Nothing is left to do. */
  | { readonly kind: 'ready'; readonly message: string }
  /** The object waits for another one, or for a change. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** The object is being deleted, and stays while it is in use. */
  | { readonly kind: 'kept'; readonly message: string }
  /** The object is being deleted. */
  | { readonly kind: 'going'; readonly message: string }
  /** The object cannot be used; `message` says why. */
  | { readonly kind: 'broken'; readonly message: string }

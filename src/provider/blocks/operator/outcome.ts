/** What a plan of the operator came to, for a pool, a block or a domain. */
export type OperatorOutcome =
  /** All is as it has to be. */
  | { readonly kind: 'ready'; readonly message: string }
  /** Something else has to come first, or to change. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** It is kept from going, for what it still has. */
  | { readonly kind: 'kept'; readonly message: string }
  /** It goes. */
  | { readonly kind: 'going'; readonly message: string }
  /** It cannot be used, and why. */
  | { readonly kind: 'broken'; readonly message: string }

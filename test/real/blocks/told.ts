/** What a writer tells its parent, a line each. */
export type Told =
  /** It knows all pools and blocks. */
  | { readonly kind: 'ready' }
  /**
   * An owner has these addresses, in their canonical form, one of each family. `isNew`: it had none
   * before.
   */
  | {
      readonly kind: 'has'
      readonly owner: string
      readonly addresses: readonly string[]
      readonly isNew: boolean
      readonly requests: number
      readonly conflicts: number
      /** How long it took, in milliseconds. */
      readonly ms: number
    }
  /** An owner has given back what it had, of so many addresses. */
  | { readonly kind: 'gone'; readonly owner: string; readonly count: number; readonly requests: number }
  /** Everything that it was told to do is done. */
  | { readonly kind: 'end' }

/** What a writer is told. */
export type Order = 'give' | 'take'

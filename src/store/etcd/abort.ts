/** An `AbortSignal`, where the platform has that. */
export type EtcdAbortSignal = typeof globalThis extends { readonly AbortSignal: { readonly prototype: infer Signal } }
  ? Signal
  : { readonly aborted: boolean }

/** What is needed of an `AbortController`. */
export interface EtcdAbortController {
  readonly signal: EtcdAbortSignal
  abort(): void
}

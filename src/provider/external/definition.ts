import type { KubeObject } from '../../crd/meta/object.js'
import type { Outcome } from '../../plan/index.js'
import type { AddressLedger } from '../claims/index.js'
import type { ExternalPoolKind, PoolReport } from './pool-kind.js'

/** The definition of a provider of external addresses. */
export interface ExternalPoolsDefinition<P extends KubeObject> {
  /** Tells the provider from others in logs and metrics. */
  readonly name: string
  readonly kind: ExternalPoolKind<P>
  /**
   * How long a call to the cloud may take, in seconds, 1 to 3,600: after that it must have no
   * effect. Default 60.
   */
  readonly callSeconds?: number | undefined
  /** How old the content of a list may be, in seconds, 0 to 3,600. Default 5. */
  readonly listLagSeconds?: number | undefined
  /**
   * How old the last list may be before the pool requests another one, in seconds, 30 to 86,400.
   * Default 300. While a pool waits for something that a list shows, at most 60.
   */
  readonly listSeconds?: number | undefined
  /** As `holdsAddress` of a provider definition. */
  readonly holdsAddress?: ((finalizer: string) => boolean) | undefined
}

/** The outcome of a plan for a pool of external addresses. */
export type ExternalPoolOutcome =
  /** The pool serves claims, with the limits in `message`. */
  | (Outcome & { readonly kind: 'ready'; readonly claimed: number })
  /** The pool gives nothing: `message` says why. */
  | (Outcome & { readonly kind: 'notReady' })
  /** The pool is paused, or was moved to another cluster. */
  | (Outcome & { readonly kind: 'paused' })
  /** The pool is being deleted, and waits for addresses, claims or answers of the cloud. */
  | (Outcome & { readonly kind: 'ending' })
  /** The pool is being deleted, and only retained addresses are left in the cloud. */
  | (Outcome & { readonly kind: 'ended' })

/** The ledger of a pool of external addresses. */
export interface ExternalPoolLedger<P extends KubeObject> extends AddressLedger<P> {
  /** The state of the pool as it was last compared with its status. */
  readonly report: PoolReport | undefined
}

/** The definition with its defaults. */
export interface ExternalRules<P extends KubeObject> extends ExternalPoolsDefinition<P> {
  readonly callSeconds: number
  readonly listLagSeconds: number
  readonly listSeconds: number
}

/** The least time between two lists of a pool. */
export const LIST_PAUSE_SECONDS = 30

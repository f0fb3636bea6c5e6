import type { KubeObject } from '../../crd/meta/object.js'
import type { Outcome } from '../../plan/index.js'
import type { CloudFacts } from './cloud.js'
import type { ExternalPoolKind } from './pool-kind.js'

/** The definition of a provider of external addresses. */
export interface ExternalPoolsDefinition<P extends KubeObject> {
  /** Tells the provider from others in logs and metrics. */
  readonly name: string
  readonly kind: ExternalPoolKind<P>
  readonly facts: CloudFacts
  /**
   * The identity of the process: 1 to 63 letters, digits, dots, dashes and underscores, different
   * at each start of each process. Only the process that reserved an address knows whether it has
   * sent the call.
   */
  readonly identity: string
  /**
   * How long a call to the cloud may take, in seconds, from 1: after that it must have no effect.
   * Default 60.
   */
  readonly callSeconds?: number | undefined
  /** How old the content of a list may be, in seconds, from 0. Default 5. */
  readonly listLagSeconds?: number | undefined
  /**
   * How old the last list may be before the pool requests another one, in seconds, 30 to 86,400.
   * Default 300. While claims wait, at most 60.
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
  | (Outcome & { readonly kind: 'paused' })
  /** The pool is being deleted, and waits for addresses, claims or answers of the cloud. */
  | (Outcome & { readonly kind: 'ending' })
  /** The pool is being deleted, and only retained addresses are left in the cloud. */
  | (Outcome & { readonly kind: 'ended' })

/** The definition with its defaults, and times in milliseconds. */
export interface ExternalRules<P extends KubeObject> extends ExternalPoolsDefinition<P> {
  readonly callMs: number
  readonly lagMs: number
  /**
   * When a call without an answer has certainly ended, in milliseconds after it was sent: a list
   * that is requested after that shows its effect.
   */
  readonly settleMs: number
  readonly listMs: number
}

/** The least time between two lists of a pool, in milliseconds. */
export const LIST_PAUSE_MS = 30_000

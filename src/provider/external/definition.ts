import type { KubeObject } from '../../crd/meta/object.js'
import type { Outcome } from '../../plan/index.js'
import type { CloudFacts } from './cloud.js'
import type { ExternalPoolKind } from './pool-kind.js'

/** What a provider of external addresses is. */
export interface ExternalPoolsDefinition<P extends KubeObject> {
  /** Tells it from other providers in logs and metrics. */
  readonly name: string
  readonly kind: ExternalPoolKind<P>
  readonly facts: CloudFacts
  /**
   * 1 to 63 letters, digits, dots, dashes and underscores, others for each start of each process:
   * what it has reserved, only this process has sent calls for.
   */
  readonly identity: string
  /**
   * How long a call to the cloud may take, in seconds, from 1: after that it has no effect any
   * more. Default 60.
   */
  readonly callSeconds?: number | undefined
  /** How old what a list of the cloud shows may be, in seconds, from 0. Default 5. */
  readonly listLagSeconds?: number | undefined
  /**
   * How old the last list may be before the pool asks for another one, in seconds, 30 to 86,400.
   * Default 300. While claims wait it is 60 at most.
   */
  readonly listSeconds?: number | undefined
  /** As `holdsAddress` of a provider definition. */
  readonly holdsAddress?: ((finalizer: string) => boolean) | undefined
}

/** What a plan for a pool of external addresses came to. */
export type ExternalPoolOutcome =
  /** It serves claims, as far as `message` says. */
  | (Outcome & { readonly kind: 'ready'; readonly claimed: number })
  /** Nothing can be given: see the message. */
  | (Outcome & { readonly kind: 'notReady' })
  | (Outcome & { readonly kind: 'paused' })
  /** It is being deleted, and waits for addresses, claims or answers of the cloud. */
  | (Outcome & { readonly kind: 'ending' })
  /** It is being deleted, and nothing of it is left but what stays in the cloud. */
  | (Outcome & { readonly kind: 'ended' })

/** The definition with its defaults, and times in milliseconds. */
export interface ExternalRules<P extends KubeObject> extends ExternalPoolsDefinition<P> {
  readonly callMs: number
  readonly lagMs: number
  /**
   * When a call is over whose answer is not known: an effect of it shows in a list that is asked
   * for after that.
   */
  readonly settleMs: number
  readonly listMs: number
}

/** The least time between two lists of a pool, in milliseconds. */
export const LIST_PAUSE_MS = 30_000

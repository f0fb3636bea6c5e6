import type { KubeObject } from '../../../crd/meta/object.js'
import type { Plan, SentEvents } from '../../../plan/index.js'
import type { PodPlanReason } from './pod-plan.js'

/** Why a Pod gets nothing. `NotOfOwner`: the claim that it names has other owners than the Pod. */
export type PersistentIPsReason = PodPlanReason | 'NotOfOwner'

/** The outcome of a plan of {@link persistentIPs}. */
export type PersistentIPsOutcome =
  /** The claim has its addresses, or the Pod has all that it asks for without a claim. */
  | { readonly kind: 'served'; readonly message: string }
  /** Another client has changed the addresses of the claim: they are set back. */
  | { readonly kind: 'restored'; readonly message: string }
  /** No Pod asks for addresses of the claim yet. */
  | { readonly kind: 'pending'; readonly message: string }
  /** A definition or a claim does not exist yet, or cannot be read. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** Some Pods, or the claim, cannot have what they ask for. */
  | { readonly kind: 'refused'; readonly message: string; readonly reasons: readonly PersistentIPsReason[] }
  /** The claim is being deleted, and holds its addresses until it is deleted. */
  | { readonly kind: 'releasing'; readonly message: string }
  /** The feature is off: claims hold what they have, and nothing is written. */
  | { readonly kind: 'off'; readonly message: string }
  /** The claim or the Pod exists and cannot be read. It holds what its last version held. */
  | { readonly kind: 'unreadable'; readonly message: string }

/** The plan for a claim or a Pod that cannot be read: its author reads why in an Event. */
export function unreadable(
  key: string,
  { object, problem }: { readonly object: KubeObject; readonly problem: string },
  sent: SentEvents,
): Plan<PersistentIPsOutcome> {
  const effects = sent.newEvents(key, object, [{ reason: 'UnreadableObject', message: problem }])
  return { outcome: { kind: 'unreadable', message: problem }, effects }
}

import { setCondition } from '../../../claim/index.js'
import { IPAMClaim } from '../../../crd/ipamclaims/index.js'
import type { VirtualMachineInstance } from '../../../crd/kubevirt/index.js'
import { type KubeObject, nameKey } from '../../../crd/meta/object.js'
import { type CachedObjects, type Effect, type EventCause, patchStatus, type SentEvents } from '../../../plan/index.js'
import type { TrimmedObject } from '../../../plan/selection.js'
import type { VMClaimOptions, VMDefinitions } from '../pod/vm-claims.js'
import { admitVMPod } from '../pod/vm-pod.js'
import type { ClaimStep } from './claim-step.js'
import { type ClaimPod, namedClaims } from './watches.js'

/** A Pod of a machine that runs, and the claims that it does not name. */
export interface MissedPod {
  readonly pod: KubeObject
  readonly claims: readonly string[]
}

/** What {@link missedPods} reads. */
export interface MissedSources extends VMClaimOptions {
  readonly pods: CachedObjects<ClaimPod, TrimmedObject>
  readonly definitions: VMDefinitions
}

/** The Pods of an instance that `admitVMPod` would still change: the webhook has missed them. */
export function missedPods(
  instance: VirtualMachineInstance,
  { pods, definitions, sticky }: MissedSources,
): readonly MissedPod[] {
  const objects = { ...definitions, instance: () => instance }
  return [...pods.by('machine', nameKey(instance.metadata))].flatMap(({ namespace, name }) => {
    const pod = pods.entry({ namespace, name })?.object as KubeObject | undefined
    if (pod === undefined) return []
    const { admission } = admitVMPod({ operation: 'UPDATE', pod }, objects, { sticky })
    if (!admission.allowed || admission.patch === undefined) return []
    const { annotations = {} } = pod.metadata
    const after = { ...annotations }
    for (const operation of admission.patch) {
      const [, annotation] = /^\/metadata\/annotations\/(.+)$/.exec(operation.path) ?? []
      if (annotation === undefined || !('value' in operation)) continue
      after[annotation.replaceAll('~1', '/').replaceAll('~0', '~')] = String(operation.value)
    }
    const named = new Set(namedClaims(namespace, annotations).map(({ claim }) => claim))
    const claims = namedClaims(namespace, after).flatMap(({ claim }) => (named.has(claim) ? [] : [claim]))
    return claims.length === 0 ? [] : [{ pod, claims }]
  })
}

const REASON = 'MutationMissed'

/** The Events about Pods that do not name their claims. */
export function missedEvents(key: string, missed: readonly MissedPod[], sent: SentEvents): readonly Effect[] {
  return missed.flatMap(({ pod, claims }) => {
    const causes: readonly EventCause[] = [{ reason: REASON, message: messageOf({ pod, claims }) }]
    return sent.newEvents(missedKey(key, pod.metadata.name), pod, causes)
  })
}

/** The key under which the Events of a Pod are remembered. */
export function missedKey(key: string, pod: string): string {
  return `${key} ${pod}`
}

/** What a Pod does not name. */
export function messageOf({ pod, claims }: MissedPod): string {
  return `Pod ${pod.metadata.name} does not name ${claims.join(', ')}: its addresses do not stay`
}

/**
 * The condition `MutationMissed` of claims. It is written for a Pod that does not name the claim,
 * and set back when no such Pod runs.
 *
 * @param steps what is done about the claims: one that is written waits for the next plan
 */
export function missedConditions(
  steps: readonly ClaimStep[],
  missed: readonly MissedPod[],
  nowMs: number,
): readonly Effect[] {
  return steps.flatMap((step) => {
    if (step.kind !== 'keep') return []
    const read = IPAMClaim.safeParse(step.claim)
    const { conditions } = (read.ok ? read.value.status : undefined) ?? {}
    const of = missed.find(({ claims }) => claims.includes(step.claim.metadata.name))
    const isSaid = conditions?.some(({ type, status }) => type === REASON && status === 'True') === true
    if (!read.ok || (of === undefined && !isSaid)) return []
    const update =
      of === undefined
        ? { type: REASON, status: 'False' as const, reason: 'ClaimNamed', message: 'each Pod names the claim' }
        : { type: REASON, status: 'True' as const, reason: 'PodWithoutClaim', message: messageOf(of) }
    const said = setCondition(conditions, update, `${new Date(nowMs).toISOString().slice(0, -5)}Z`)
    if (said === conditions) return []
    const status = { ...(read.value.status === undefined && { ips: [] }), conditions: said }
    return [patchStatus(step.claim, { status: status as never }, 'a Pod of its machine was not changed by the webhook')]
  })
}

import type { VirtualMachine, VirtualMachineInstance } from '../../../crd/kubevirt/index.js'
import { type KubeObject, readNameKey } from '../../../crd/meta/object.js'
import type { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import type { CachedObjects, EventCause, Plan, PlanTime, SentEvents } from '../../../plan/index.js'
import { type VMClaimOptions, type VMClaims, type VMDefinitions, vmClaims } from '../pod/vm-claims.js'
import { type ClaimEffects, type ClaimWaits, claimEffects } from './claim-effects.js'
import type { ClaimStep } from './claim-step.js'
import { type MissedSources, messageOf, missedConditions, missedEvents, missedPods } from './missed-mutations.js'
import type { PersistentClaimsOutcome } from './outcome.js'
import { vmClaimDecision } from './vm-claim-decision.js'

/** What a plan about a virtual machine reads. */
export interface MachineCache extends VMClaimOptions {
  readonly machines: CachedObjects<VirtualMachine>
  readonly instances: CachedObjects<VirtualMachineInstance>
  readonly claims: CachedObjects<KubeObject>
  /** Left out: the feature is off. */
  readonly definitions: CachedObjects<NetworkAttachmentDefinition> | undefined
  readonly unplugged: 'keep' | 'delete'
  /** Whether a Pod names a claim: `namespace/name`. */
  readonly isInUse: (claim: string) => boolean
  /** Left out: Pods are not compared with the claims of their machine. */
  readonly compared: MissedSources['pods'] | undefined
}

type ClaimsPlan = Plan<PersistentClaimsOutcome>

/** Plans the claims of a virtual machine and of its instance. */
export function planMachine(
  key: string,
  name: string,
  cache: MachineCache,
  waits: ClaimWaits,
  sent: SentEvents,
  { nowMs }: PlanTime,
): ClaimsPlan | undefined {
  const [machine, instance] = [cache.machines.entry(name), cache.instances.entry(name)]
  const unreadable = [machine, instance].find((entry) => entry?.ok === false)
  if (unreadable?.ok === false) return { outcome: { kind: 'unreadable', message: unreadable.problem }, effects: [] }
  const running = instance?.ok === true ? instance.value : undefined
  const wanted = running && wantedOf(running, cache)
  const claims = claimsOf(name, wanted, cache)
  if (machine === undefined && instance === undefined && claims.length === 0) {
    claimEffects(key, [], waits, nowMs)
    sent.forget(key)
    return undefined
  }
  const { namespace = '', name: vm } = readNameKey(name)
  const decision = vmClaimDecision({
    namespace,
    name: vm,
    machine: machine?.ok === true ? machine.value : undefined,
    instance: running,
    wanted,
    claims,
    unplugged: cache.unplugged,
    isInUse: (claim) => cache.isInUse(`${namespace}/${claim}`),
  })
  const done = claimEffects(key, decision.steps, waits, nowMs)
  const waitsFor = decision.phase === 'running' ? problemsOf(wanted) : []
  const about = instance?.object ?? machine?.object
  const events = about === undefined ? [] : sent.newEvents(key, about, causesOf(decision.steps, waitsFor))
  const kept = decision.phase === 'stopped' ? 'the machine is stopped' : 'the machine has its claims'
  const missed = decision.phase === 'running' && running !== undefined ? missedIn(running, cache) : []
  const outcome = outcomeOf(kept, decision.steps, done, waitsFor, cache.definitions === undefined)
  const conditions = cache.compared === undefined ? [] : missedConditions(decision.steps, missed, nowMs)
  const effects = [...done.effects, ...conditions, ...events, ...missedEvents(key, missed, sent)]
  const isAll = outcome.kind !== 'kept' || missed.length === 0
  const said = isAll ? outcome : { kind: 'missed' as const, message: missed.map(messageOf).join('; ') }
  return { outcome: said, effects, requeueAfterSeconds: done.requeueAfterSeconds }
}

function missedIn(instance: VirtualMachineInstance, { compared, definitions, sticky }: MachineCache) {
  if (compared === undefined || definitions === undefined) return []
  return missedPods(instance, { pods: compared, definitions: lookupsIn(definitions), sticky })
}

function lookupsIn(definitions: CachedObjects<NetworkAttachmentDefinition>): VMDefinitions {
  return {
    definition: (namespace, name) => definitions.get({ namespace, name }),
    definitionsIn: (namespace) => definitions.by('namespace', namespace),
  }
}

function wantedOf(instance: VirtualMachineInstance, { definitions, sticky }: MachineCache): VMClaims | undefined {
  return definitions && vmClaims(instance, lookupsIn(definitions), { sticky })
}

/** The claims of the machine, and those that have the names of its claims. */
function claimsOf(name: string, wanted: VMClaims | undefined, { claims }: MachineCache): readonly KubeObject[] {
  const { namespace } = readNameKey(name)
  const named = (wanted?.claims ?? []).flatMap((claim) => {
    const found = claim.name.ok ? claims.get({ namespace, name: claim.name.value }) : undefined
    return found === undefined ? [] : [found]
  })
  return [...new Set([...claims.by('vm', name), ...named])]
}

/** Why networks of the machine may lack a claim. */
function problemsOf(wanted: VMClaims | undefined): readonly string[] {
  const { missing = [], unreadable = [] } = wanted ?? {}
  const absent = missing.map((nad) => `NetworkAttachmentDefinition ${nad} does not exist`)
  return [...new Set([...absent, ...unreadable.map((failure) => failure.message)])]
}

function causesOf(steps: readonly ClaimStep[], waitsFor: readonly string[]): readonly EventCause[] {
  const refusals = steps.flatMap((step) => (step.kind === 'refuse' ? [step] : []))
  return [
    ...refusals.map(({ reason, message }) => ({ reason, message })),
    ...waitsFor.map((message) => ({ reason: 'NetworkNotReady', message })),
  ]
}

/** The outcome of a plan, by what is most important of it. */
export function outcomeOf(
  kept: string,
  steps: readonly ClaimStep[],
  { now, later }: ClaimEffects,
  waitsFor: readonly string[],
  isOff: boolean,
): PersistentClaimsOutcome {
  const refusals = steps.flatMap((step) => (step.kind === 'refuse' ? [step] : []))
  const [released, made] = [now.filter(isRelease), now.filter((write) => !isRelease(write))]
  const names = now.map(({ claim }) => claim.metadata.name).join(', ')
  if (refusals.length > 0) {
    const message = refusals.map((refusal) => refusal.message).join('; ')
    return { kind: 'refused', message, reasons: [...new Set(refusals.map(({ reason }) => reason))] }
  }
  if (made.length > 0) return { kind: 'made', message: `claims are made: ${names}` }
  if (released.length > 0) return { kind: 'released', message: `claims are released: ${names}` }
  if (later.length > 0)
    return { kind: 'releasing', message: `${later.length} claims are released after the grace period` }
  if (waitsFor.length > 0) return { kind: 'waiting', message: waitsFor.join('; ') }
  if (isOff) return { kind: 'off', message: 'the feature is off: claims stay as they are' }
  return { kind: 'kept', message: kept }
}

function isRelease({ kind }: { readonly kind: string }): boolean {
  return kind === 'release' || kind === 'remove'
}

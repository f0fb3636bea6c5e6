import {
  hasFinalizer,
  type KindInfo,
  type KubeObject,
  kindKey,
  type OwnerReference,
  readNameKey,
} from '../../../crd/meta/object.js'
import type { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { ok } from '../../../errors/index.js'
import type { CachedObjects, Plan, PlanTime, SentEvents, TrimmedObject } from '../../../plan/index.js'
import { readNetwork } from '../network/read-network.js'
import { primaryIn } from '../pod/vm-claims.js'
import { type ClaimWaits, claimEffects } from './claim-effects.js'
import { CLAIM_OWNER_ANNOTATION, CLAIM_OWNER_FINALIZER, readClaimOwners } from './claim-owner.js'
import type { PersistentClaimsOutcome } from './outcome.js'
import { outcomeOf } from './plan-machine.js'
import { type ClaimPod, UNREAD } from './watches.js'
import { type ClaimReference, workloadClaimDecision } from './workload-claim-decision.js'

/** What a plan about the claim of a workload reads. */
export interface WorkloadCache {
  readonly claims: CachedObjects<KubeObject>
  readonly pods: CachedObjects<ClaimPod, TrimmedObject>
  /** The kinds that can own claims, with their objects. */
  readonly owners: readonly (readonly [KindInfo, CachedObjects<KubeObject, TrimmedObject>])[]
  /** Left out: the feature is off. */
  readonly definitions: CachedObjects<NetworkAttachmentDefinition> | undefined
}

/** Plans the claim that Pods of a workload name. */
export function planWorkloadClaim(
  key: string,
  name: string,
  cache: WorkloadCache,
  waits: ClaimWaits,
  sent: SentEvents,
  { nowMs }: PlanTime,
): Plan<PersistentClaimsOutcome> | undefined {
  const claim = cache.claims.get(name)
  const pods = cache.pods.by('claim', name).filter(({ owners }) => owners !== undefined)
  const isOurs = claim !== undefined && isOfWorkload(claim)
  if (!isOurs && pods.length === 0) {
    claimEffects(key, [], waits, nowMs)
    return undefined
  }
  const { namespace = '', name: own } = readNameKey(name)
  if (own === UNREAD) {
    const message = `the network selection of ${pods.map((pod) => pod.name).join(', ')} cannot be read`
    return { outcome: { kind: 'unreadable', message }, effects: [] }
  }
  const references = pods.map((pod) => referenceOf(pod, own, cache))
  const enabled = cache.definitions !== undefined
  const stateOf = (owner: OwnerReference) => stateIn(namespace, owner, cache)
  const mayBeNamed = cache.pods.countBy('claim', `${namespace}/${UNREAD}`) > 0
  const steps = workloadClaimDecision({ namespace, name: own, claim, references, stateOf, mayBeNamed, enabled })
  const done = claimEffects(key, steps, waits, nowMs)
  const events = pods.flatMap((pod) => {
    const object = cache.pods.entry(pod)?.object
    const causes = steps.flatMap((step) => (step.kind === 'refuse' && step.pod === pod.name ? [step] : []))
    return object === undefined ? [] : sent.newEvents(eventKey(key, pod), object, causes)
  })
  const outcome = outcomeOf('the workload has its claim', steps, done, [], !enabled)
  return { outcome, effects: [...done.effects, ...events], requeueAfterSeconds: done.requeueAfterSeconds }
}

/** Whether this planner has made a claim. */
function isOfWorkload(claim: KubeObject): boolean {
  return (
    hasFinalizer(claim, CLAIM_OWNER_FINALIZER) || claim.metadata.annotations?.[CLAIM_OWNER_ANNOTATION] !== undefined
  )
}

/** The key under which the Events of one Pod about one claim are remembered. */
export function eventKey(key: string, { name }: Pick<ClaimPod, 'name'>): string {
  return `${key} ${name}`
}

function referenceOf(pod: ClaimPod, claim: string, cache: WorkloadCache): ClaimReference {
  const { namespace, name, createdAt, isDeleting, owners: annotation = '' } = pod
  const read = readClaimOwners(
    annotation,
    cache.owners.map(([kind]) => kind),
  )
  const owners = read.ok
    ? ok(
        read.value.map(({ kind: { apiVersion, kind }, name: its }) => ({
          ref: { apiVersion, kind, namespace, name: its },
          object: objectsOf(kindKey({ apiVersion, kind }), cache)?.get({ namespace, name: its }),
        })),
      )
    : read
  const nad = pod.claims.find((each) => each.claim === claim)?.nad
  return { pod: name, createdAt, isDeleting, annotation, owners, network: networkOf(nad, namespace, cache) }
}

function objectsOf(kind: string, { owners }: WorkloadCache) {
  return owners.find(([each]) => kindKey(each) === kind)?.[1]
}

function stateIn(namespace: string, owner: OwnerReference, cache: WorkloadCache): 'exists' | 'missing' | 'unknown' {
  const objects = objectsOf(kindKey(owner), cache)
  if (objects === undefined) return 'unknown'
  return objects.get({ namespace, name: owner.name })?.metadata.uid === owner.uid ? 'exists' : 'missing'
}

/** The network of an interface, or why its addresses cannot stay. */
function networkOf(
  nad: string | undefined,
  namespace: string,
  { definitions }: WorkloadCache,
): ClaimReference['network'] {
  if (definitions === undefined) return { problem: 'the feature is off' }
  const primary =
    nad === undefined
      ? primaryIn(namespace, { definitionsIn: (space) => definitions.by('namespace', space) })
      : undefined
  const found = nad === undefined ? undefined : definitions.get(nad)
  const read = found && readNetwork(found)
  if (read?.ok === false) return { problem: read.failure.message }
  const definition = read?.value ?? primary?.definition
  const what =
    nad === undefined
      ? `the namespace ${namespace} has no primary network`
      : `NetworkAttachmentDefinition ${nad} does not exist`
  if (definition === undefined) return { problem: what }
  if (definition.claims === 'honoured') return { name: definition.name }
  return { problem: `the network ${definition.name} does not honour claims: ${definition.claims}` }
}

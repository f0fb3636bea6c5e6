import { IPAMClaim } from '../../../crd/ipamclaims/index.js'
import { asObject } from '../../../crd/meta/json.js'
import { subdomainProblem } from '../../../crd/meta/names.js'
import {
  formatRef,
  hasFinalizer,
  isDeleting,
  type KubeObject,
  META,
  type ObjectRef,
  type OwnerReference,
  refOf,
} from '../../../crd/meta/object.js'
import { check, isObject, type Kind } from '../../../errors/check.js'
import type { Result } from '../../../errors/index.js'
import { CLAIM_OWNER_ANNOTATION, CLAIM_OWNER_FINALIZER } from './claim-owner.js'
import type { ClaimRefusal, ClaimStep } from './claim-step.js'

/** A Pod that names a claim. */
export interface ClaimReference {
  readonly pod: string
  /** RFC 3339. */
  readonly createdAt: string
  /** Whether it is being deleted: it makes no claim, and keeps the one that it has. */
  readonly isDeleting: boolean
  /** The annotation of the Pod as it stands. */
  readonly annotation: string
  /** The owners that it names. */
  readonly owners: Result<readonly NamedOwner[], 'INVALID_OBJECT'>
  /** The name of the network of the interface, or why no claim can be made. */
  readonly network: { readonly name: string } | { readonly problem: string }
}

/** An owner that a Pod names, as it is stored. */
export interface NamedOwner {
  readonly ref: ObjectRef
  /** Left out: it does not exist. */
  readonly object?: KubeObject | undefined
}

/** A claim that Pods name, as it is read. */
export interface WorkloadClaimSituation {
  readonly namespace: string
  readonly name: string
  /** Left out: it does not exist. */
  readonly claim?: KubeObject | undefined
  /** The Pods that name it and have not ended, the oldest first. */
  readonly references: readonly ClaimReference[]
  /** Whether an owner of the claim exists. `unknown`: objects of its kind are not read. */
  readonly stateOf: (owner: OwnerReference) => 'exists' | 'missing' | 'unknown'
  /** Whether a Pod may name it whose annotations cannot be read. Left out: false. */
  readonly mayBeNamed?: boolean | undefined
  /** Whether claims are made and changed. Left out: true. */
  readonly enabled?: boolean | undefined
}

/**
 * Decides about the claim of any workload: Pods name the claim, and the owners that it is to have.
 *
 * - The oldest Pod makes it. A later Pod is accepted if it names one of the owners of the claim, by
 *   uid; owners that it names beside that are added
 * - A claim whose owners an orphan deletion has removed is taken over by the owner of that name
 * - The garbage collector deletes the claim with its last owner. Its finalizer is removed when no
 *   owner exists and no Pod uses it. A Pod that is younger than the deletion does not use it
 * - An owner that is deleted in foreground never waits for the claim
 *
 * O(Pods that name the claim + owners).
 *
 * @example
 * const references = []
 * const stateOf = () => 'missing'
 * workloadClaimDecision({ namespace: 'a', name: 'web-0.blue', references, stateOf }) // []
 */
export function workloadClaimDecision(situation: WorkloadClaimSituation): readonly ClaimStep[] {
  check<unknown>('workloadClaimDecision', 'situation', situation, SITUATION)
  const { claim, name, enabled = true } = situation
  const release = claim && releaseOf(claim, situation)
  const asking = enabled ? situation.references.filter((reference) => !reference.isDeleting) : []
  const problem = subdomainProblem(name)
  if (problem !== undefined) return asking.map((each) => refused(each, name, 'InvalidName', problem))
  if (release !== undefined) return [release, ...asking.map((each) => terminating(each, situation))]
  if (claim === undefined) return creation(asking, situation)
  if (isDeleting(claim)) return [{ kind: 'keep', claim }, ...asking.map((each) => terminating(each, situation))]
  return updates(claim, asking, situation)
}

const REFERENCE = [
  'open',
  {
    pod: 'text',
    createdAt: 'text',
    isDeleting: 'flag',
    annotation: 'text',
    owners: ownersFault,
    network: ['open', { name: 'text?', problem: 'text?' }],
  },
] as const

function ownersFault(given: unknown): string | undefined {
  const isRight = isObject(given) && (given.ok === true ? Array.isArray(given.value) : isObject(given.failure))
  return isRight ? undefined : 'a Result with owners'
}

const SITUATION = [
  'open',
  {
    namespace: 'text',
    name: 'text',
    claim: ['open?', { apiVersion: 'text', kind: 'text', metadata: META as Kind }],
    references: ['list', REFERENCE],
    stateOf: 'function',
    mayBeNamed: 'flag?',
    enabled: 'flag?',
  },
] as const

function releaseOf(
  claim: KubeObject,
  { references, stateOf, namespace, mayBeNamed }: WorkloadClaimSituation,
): ClaimStep | undefined {
  const { deletionTimestamp, ownerReferences: owners = [] } = claim.metadata
  if (deletionTimestamp === undefined || !hasFinalizer(claim, CLAIM_OWNER_FINALIZER)) return undefined
  if (owners.some((owner) => stateOf(owner) !== 'missing')) return undefined
  if (mayBeNamed === true) return undefined
  // times have seconds: a Pod of the same second may be older
  if (references.some(({ createdAt }) => createdAt <= deletionTimestamp)) return undefined
  const proofs = owners.map(({ apiVersion, kind, name, uid }) => ({
    absent: { ref: { apiVersion, kind, namespace, name }, uid },
  }))
  const why = 'no owner exists, and no Pod uses it'
  return { kind: 'release', claim, finalizer: CLAIM_OWNER_FINALIZER, why, proofs }
}

type Accepted = { readonly reference: ClaimReference; readonly owners: readonly KubeObject[]; readonly network: string }

/** The owners and the network of a Pod, or why it can have no claim. */
function accepted(reference: ClaimReference, { name }: WorkloadClaimSituation): Accepted | ClaimStep {
  const { owners, network } = reference
  const refuse = (reason: ClaimRefusal, message: string) => refused(reference, name, reason, message)
  if (!owners.ok) return refuse('InvalidOwner', owners.failure.message)
  const missing = owners.value.find(({ object }) => object === undefined)
  if (missing !== undefined) return refuse('OwnerNotFound', `${formatRef(missing.ref)} does not exist`)
  const objects = owners.value.flatMap(({ object }) => (object === undefined ? [] : [object]))
  const going = objects.find(isDeleting)
  if (going !== undefined) return refuse('OwnerTerminating', `${formatRef(refOf(going))} is being deleted`)
  if ('problem' in network) return refuse('NetworkNotReady', network.problem)
  return { reference, owners: objects, network: network.name }
}

/** The oldest Pod that can have the claim makes it; the next plan decides about the others. */
function creation(references: readonly ClaimReference[], situation: WorkloadClaimSituation): readonly ClaimStep[] {
  const steps: ClaimStep[] = []
  for (const reference of references) {
    const given = accepted(reference, situation)
    if ('kind' in given) {
      steps.push(given)
      continue
    }
    const { apiVersion, kind } = IPAMClaim.info
    const { namespace, name } = situation
    const metadata = {
      name,
      namespace,
      annotations: { [CLAIM_OWNER_ANNOTATION]: reference.annotation },
      finalizers: [CLAIM_OWNER_FINALIZER],
      ownerReferences: given.owners.map(ownerReferenceTo),
    }
    const spec = { network: given.network, interface: '' }
    return [{ kind: 'make', claim: { apiVersion, kind, metadata, spec } }, ...steps]
  }
  return steps
}

/** What a claim that exists gets, and the Pods that cannot have it. */
function updates(
  claim: KubeObject,
  references: readonly ClaimReference[],
  situation: WorkloadClaimSituation,
): readonly ClaimStep[] {
  const { ownerReferences: before = [], finalizers = [], annotations = {} } = claim.metadata
  const isOurs = annotations[CLAIM_OWNER_ANNOTATION] !== undefined
  const owners = new Map(before.map((owner) => [owner.uid, owner]))
  const steps: ClaimStep[] = []
  for (const reference of references) {
    const given = accepted(reference, situation)
    if ('kind' in given) {
      steps.push(given)
      continue
    }
    const isKnown = given.owners.some(({ metadata: { uid = '' } }) => owners.has(uid))
    const isOrphan = owners.size === 0 && annotations[CLAIM_OWNER_ANNOTATION] === reference.annotation
    const problem = mismatch(claim, given.network)
    if (!isKnown && !isOrphan) {
      steps.push(refused(reference, situation.name, 'OwnerMismatch', `IPAMClaim ${situation.name} has another owner`))
    } else if (problem !== undefined) {
      steps.push(refused(reference, situation.name, 'NetworkMismatch', problem))
    } else if (isOurs) {
      for (const owner of given.owners) {
        const { uid = '' } = owner.metadata
        if (!owners.has(uid)) owners.set(uid, ownerReferenceTo(owner))
      }
    }
  }
  const lacks = isOurs && owners.size > 0 && situation.enabled !== false && !finalizers.includes(CLAIM_OWNER_FINALIZER)
  if (owners.size === before.length && !lacks) return [{ kind: 'keep', claim }, ...steps]
  const metadata = {
    finalizers: [...finalizers.filter((each) => each !== CLAIM_OWNER_FINALIZER), CLAIM_OWNER_FINALIZER],
    ownerReferences: [...owners.values()],
  }
  return [{ kind: 'mend', claim, metadata, why: 'its Pods name its owners', proofs: [] }, ...steps]
}

function mismatch({ metadata: { name }, spec }: KubeObject, network: string): string | undefined {
  const own = asObject(spec)?.network
  return own === network ? undefined : `IPAMClaim ${name} is of the network ${own}, and the interface is in ${network}`
}

/** It blocks no deletion: an owner that is deleted in foreground would wait for its claim. */
function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid }
}

function terminating(reference: ClaimReference, { name }: WorkloadClaimSituation): ClaimStep {
  const message = `IPAMClaim ${name} is being deleted: a new one follows when it does not exist`
  return refused(reference, name, 'ClaimTerminating', message)
}

function refused({ pod }: ClaimReference, name: string, reason: ClaimRefusal, message: string): ClaimStep {
  return { kind: 'refuse', name, reason, message, pod }
}

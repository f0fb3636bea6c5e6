import { IPAMClaim, VM_CLAIM_FINALIZER, VM_LABEL, vmClaimName } from '../../../crd/ipamclaims/index.js'
import { VirtualMachine, VirtualMachineInstance } from '../../../crd/kubevirt/index.js'
import { asObject } from '../../../crd/meta/json.js'
import { labelValueProblem } from '../../../crd/meta/names.js'
import {
  groupOf,
  hasFinalizer,
  isDeleting,
  KUBE,
  type KubeObject,
  labelOf,
  META,
  type OwnerReference,
} from '../../../crd/meta/object.js'
import { check, isObject, type Kind } from '../../../errors/check.js'
import type { VMClaim, VMClaims } from '../pod/vm-claims.js'
import { CLAIM_OWNER_FINALIZER } from './claim-owner.js'
import type { ClaimProof, ClaimRefusal, ClaimStep } from './claim-step.js'
import { type VMObjects, type VMPhase, vmPhase } from './vm-phase.js'

/** A virtual machine with its claims, as they are read. */
export interface VMClaimSituation extends VMObjects {
  readonly namespace: string
  /** The name of the machine and of its instance. */
  readonly name: string
  /** The claims that its instance asks for. Left out: the feature is off, and none is made. */
  readonly wanted?: VMClaims | undefined
  /**
   * The claims of the namespace that are of the machine ({@link vmsOfClaim}), and those with the
   * name of a wanted claim. Others are ignored.
   */
  readonly claims: readonly KubeObject[]
  /** What happens with the claim of an interface that is unplugged. Default `keep`, as upstream. */
  readonly unplugged?: 'keep' | 'delete' | undefined
  /** Whether a Pod names a claim. Left out: one does. */
  readonly isInUse?: ((claim: string) => boolean) | undefined
}

/** What a machine needs of its claims, and what is done about each. */
export interface VMClaimDecision {
  readonly phase: VMPhase
  readonly steps: readonly ClaimStep[]
}

/**
 * Decides about the claims of a virtual machine of KubeVirt, with names, labels, finalizers and
 * owners as ipam-extensions has them. Unlike upstream:
 *
 * - a claim that is being deleted, or is of another network, is never taken for a new interface
 * - a claim that is left from an earlier machine of the name is released by the uid of its owner
 * - an orphan deletion of the machine keeps the claims while the instance runs, which becomes the
 *   owner
 * - each release has the proofs that a host has to read right before it
 *
 * O(claims + networks).
 *
 * @example
 * const metadata = { name: 'vm1', namespace: 'a', uid: 'u1' }
 * const machine = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata, spec: { template: {} } }
 * const claim = {
 *   apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim',
 *   metadata: { name: 'vm1.net', namespace: 'a', labels: { 'kubevirt.io/vm': 'vm1' }, finalizers: ['kubevirt.io/persistent-ipam'] },
 * }
 * const of = { namespace: 'a', name: 'vm1', claims: [claim] }
 * vmClaimDecision({ ...of, machine }).steps.map(({ kind }) => kind) // ['keep']
 * vmClaimDecision(of).steps.map(({ kind }) => kind) // ['release']
 */
export function vmClaimDecision(situation: VMClaimSituation): VMClaimDecision {
  check<unknown>('vmClaimDecision', 'situation', situation, SITUATION)
  const phase = vmPhase(situation)
  const view = viewOf(situation, phase)
  const own = situation.claims.filter((claim) => vmsOfClaim(claim).includes(situation.name))
  const known = new Map(situation.claims.map((claim) => [claim.metadata.name, claim]))
  const steps = own.flatMap((claim) => ownSteps(claim, view))
  for (const wanted of view.wanted.values()) {
    const claim = known.get(nameOf(wanted))
    if (claim === undefined) steps.push(creation(wanted, view))
    else if (!own.includes(claim)) steps.push(isDeleting(claim) ? terminating(claim) : ownerMismatch(claim))
  }
  return { phase, steps: [...steps, ...view.unnamed] }
}

const INTERFACES = ['open?', { interfaces: ['list?', ['open', { name: 'text', state: 'text?' }]] }] as const
const INSTANCE = [
  'open?',
  {
    networks: ['list?', ['open', { name: 'text' }]],
    domain: ['open?', { devices: INTERFACES }],
  },
] as const
const WANTED = [
  'open',
  { network: 'text', definition: ['open', { name: 'text' }], name: resultFault, interface: 'object?' },
] as const

function resultFault(given: unknown): string | undefined {
  const isRight = isObject(given) && (given.ok === true ? typeof given.value === 'string' : isObject(given.failure))
  return isRight ? undefined : 'a Result with a name'
}

const SITUATION = [
  'open',
  {
    namespace: 'text',
    name: 'text',
    machine: [
      'open?',
      {
        apiVersion: 'text',
        kind: 'text',
        metadata: META as Kind,
        spec: ['open', { template: ['open', { spec: INSTANCE }] }],
      },
    ],
    instance: [
      'open?',
      {
        apiVersion: 'text',
        kind: 'text',
        metadata: META as Kind,
        spec: INSTANCE,
        status: ['open?', { activePods: 'object?' }],
      },
    ],
    wanted: ['open?', { claims: ['list', WANTED] }],
    claims: ['list', KUBE as Kind],
    unplugged: ['one?', { keep: 1, delete: 1 }],
    isInUse: 'function?',
  },
] as const

/**
 * The names of the virtual machines of a claim: those of its owners, or else that of its
 * label. A claim that {@link workloadClaims} has made is of none, also if a machine owns it.
 */
export function vmsOfClaim(claim: KubeObject): readonly string[] {
  check('vmsOfClaim', 'claim', claim, KUBE)
  const { labels, ownerReferences = [] } = claim.metadata
  const label = labelOf(labels, VM_LABEL)
  if (label === undefined && hasFinalizer(claim, CLAIM_OWNER_FINALIZER)) return []
  const owners = ownerReferences.filter(isVM).map(({ name }) => name)
  if (owners.length > 0) return [...new Set(owners)]
  return label === undefined ? [] : [label]
}

const KINDS: readonly string[] = ['VirtualMachine', 'VirtualMachineInstance']

function isVM({ apiVersion, kind }: OwnerReference): boolean {
  return groupOf(apiVersion) === groupOf(API_VERSION) && KINDS.includes(kind)
}

const API_VERSION = 'kubevirt.io/v1'

/** What the steps of one machine read. */
interface View extends Facts {
  readonly phase: VMPhase
  /** The owner that claims have; `undefined`: the machine does not run. */
  readonly owner: KubeObject | undefined
  /** By the name of the claim. */
  readonly wanted: ReadonlyMap<string, NamedClaim>
  /** The interfaces that can have no claim. */
  readonly unnamed: readonly ClaimStep[]
  /** The names of the claims of all networks of the machine; `undefined`: they are not known. */
  readonly plugged: ReadonlySet<string> | undefined
}
type Facts = Omit<VMClaimSituation, 'wanted' | 'claims'>
type NamedClaim = VMClaim & { readonly name: { readonly ok: true; readonly value: string } }

function viewOf({ wanted, ...situation }: VMClaimSituation, phase: VMPhase): View {
  const { name, machine, instance } = situation
  const isRunning = phase === 'running'
  const asked = isRunning ? (wanted?.claims ?? []).filter(isPlugged) : []
  const labelProblem = labelValueProblem(name)
  const unnamed: ClaimStep[] = []
  const named = new Map<string, NamedClaim>()
  for (const claim of asked) {
    if (!claim.name.ok) {
      const { code } = claim.name.failure
      const reason = code === 'CLAIM_NAME_CONFLICT' ? 'NameConflict' : 'InvalidName'
      unnamed.push(refused(claim.network, reason, claim.name.failure.message))
    } else if (labelProblem !== undefined) {
      unnamed.push(refused(claim.name.value, 'InvalidName', `the label ${VM_LABEL} cannot be ${name}: ${labelProblem}`))
    } else named.set(claim.name.value, claim as NamedClaim)
  }
  const plugged = isRunning && wanted !== undefined ? pluggedNames(situation) : undefined
  return { ...situation, phase, owner: isRunning ? (machine ?? instance) : undefined, wanted: named, unnamed, plugged }
}

function isPlugged({ interface: nic }: VMClaim): boolean {
  return nic?.state !== ABSENT
}

const ABSENT = 'absent'

/** A network of the template is about to be plugged, so that it counts as well. */
function pluggedNames({ name: vm, machine, instance }: Facts): ReadonlySet<string> {
  const specs = [instance?.spec, machine?.spec.template.spec]
  const names = specs.flatMap((spec) => {
    const nics = spec?.domain?.devices?.interfaces ?? []
    const unplugged = new Set(nics.filter(({ state }) => state === ABSENT).map(({ name }) => name))
    return (spec?.networks ?? []).filter(({ name }) => !unplugged.has(name)).map(({ name }) => name)
  })
  const claims = names.map((network) => vmClaimName({ vm, network }))
  return new Set(claims.flatMap((claim) => (claim.ok ? [claim.value] : [])))
}

function nameOf({ name }: NamedClaim): string {
  return name.value
}

/** What is done about a claim of the machine. */
function ownSteps(claim: KubeObject, view: View): readonly ClaimStep[] {
  const wanted = view.wanted.get(claim.metadata.name)
  const release = releaseOf(claim, view)
  if (release !== undefined) return wanted === undefined ? [release] : [release, terminating(claim)]
  const { owner } = view
  if (owner === undefined) return [{ kind: 'keep', claim }]
  if (isDeleting(claim)) {
    const isLast = isDeleting(owner) && isOwnedBy(claim, owner)
    return [wanted === undefined || isLast ? { kind: 'keep', claim } : terminating(claim)]
  }
  return [livingStep(claim, owner, wanted, view)]
}

function livingStep(claim: KubeObject, owner: KubeObject, wanted: NamedClaim | undefined, view: View): ClaimStep {
  const isOwned = isOwnedBy(claim, owner)
  const isGoing = isDeleting(owner)
  if (!isOwned && (isGoing || !isAdoptable(claim, view))) {
    return wanted === undefined ? { kind: 'keep', claim } : ownerMismatch(claim)
  }
  if (isOwned && isUnplugged(claim, view)) return removal(claim, view)
  const metadata = isGoing ? undefined : mendedMetadata(claim, owner, view)
  if (metadata !== undefined) {
    const { machine, namespace, name } = view
    const proofs = machine === undefined ? [{ absent: { ref: refTo(VirtualMachine, { namespace, name }) } }] : []
    return { kind: 'mend', claim, metadata, why: `it is a claim of ${owner.kind} ${name}`, proofs }
  }
  const network = networkOf(claim)
  if (isGoing || wanted === undefined || network === wanted.definition.name) return { kind: 'keep', claim }
  const { name } = claim.metadata
  const message = `IPAMClaim ${name} is of the network ${network}, and the network ${wanted.network} is ${wanted.definition.name}`
  return refused(name, 'NetworkMismatch', message)
}

function networkOf(claim: KubeObject): string {
  const network = asObject(claim.spec)?.network
  return typeof network === 'string' ? network : ''
}

/** The release of a claim that no machine needs any more. */
function releaseOf(claim: KubeObject, view: View): ClaimStep | undefined {
  if (!hasFinalizer(claim, VM_CLAIM_FINALIZER)) return undefined
  const { phase, namespace, name, machine, instance } = view
  const release = (why: string, proofs: readonly ClaimProof[]): ClaimStep => {
    return { kind: 'release', claim, finalizer: VM_CLAIM_FINALIZER, why, proofs }
  }
  const ref = { namespace, name }
  const noInstance = instance === undefined ? [{ absent: { ref: refTo(VirtualMachineInstance, ref) } }] : []
  if (phase === 'ended') {
    const noMachine = machine === undefined ? [{ absent: { ref: refTo(VirtualMachine, ref) } }] : []
    const last = instance === undefined ? noInstance : [{ unchanged: instance }]
    return release(`the virtual machine ${name} has ended`, [...noMachine, ...last])
  }
  const owners = claim.metadata.ownerReferences ?? []
  if (!isDeleting(claim) || owners.length === 0) return undefined
  // an instance that is deleted in foreground waits for its claims, whatever machine has its name
  if (instance !== undefined && isOwnedBy(claim, instance) && vmPhase({ instance }) === 'ended') {
    return release(`its instance ${name} has ended`, [{ unchanged: instance }])
  }
  const living = new Set([machine, instance].flatMap((object) => uidsOf(object)))
  if (owners.some((owner) => !isVM(owner) || living.has(owner.uid))) return undefined
  const gone = owners.map(({ apiVersion, kind, name: its, uid }) => ({
    absent: { ref: { apiVersion, kind, namespace, name: its }, uid },
  }))
  return release(`its owner does not exist, and ${name} is another machine`, [...gone, ...noInstance])
}

/** The uid of an object and those of its owners. */
function uidsOf(object: KubeObject | undefined): readonly string[] {
  if (object === undefined) return []
  const { uid, ownerReferences = [] } = object.metadata
  return [...(uid === undefined ? [] : [uid]), ...ownerReferences.map((owner) => owner.uid)]
}

function isOwnedBy(claim: KubeObject, { metadata: { uid } }: KubeObject): boolean {
  const owners = claim.metadata.ownerReferences ?? []
  return owners.length === 1 && owners[0]?.uid === uid
}

/**
 * Whether a claim of the instance has lost its owner: an orphan deletion of the machine has removed
 * it, or the machine was made again and has taken over the instance.
 */
function isAdoptable(claim: KubeObject, { name, machine, instance }: View): boolean {
  const { labels, ownerReferences = [] } = claim.metadata
  if (labelOf(labels, VM_LABEL) !== name || !hasFinalizer(claim, VM_CLAIM_FINALIZER)) return false
  if (ownerReferences.some(({ uid }) => uid !== instance?.metadata.uid)) return false
  return (
    machine === undefined ||
    instance?.metadata.ownerReferences?.some(({ uid }) => uid === machine.metadata.uid) === true
  )
}

function isUnplugged({ metadata: { name } }: KubeObject, { unplugged, plugged, isInUse }: View): boolean {
  return unplugged === 'delete' && plugged?.has(name) === false && isInUse?.(name) === false
}

function removal(claim: KubeObject, { instance, machine, name }: View): ClaimStep {
  const proofs = [machine, instance].flatMap((object) => (object === undefined ? [] : [{ unchanged: object }]))
  const why = `its interface of ${name} is unplugged`
  return { kind: 'remove', claim, finalizer: VM_CLAIM_FINALIZER, why, proofs }
}

/** The metadata that a claim lacks; `undefined`: nothing. */
function mendedMetadata(claim: KubeObject, owner: KubeObject, { name }: View) {
  const { labels, finalizers = [] } = claim.metadata
  const isWhole =
    isOwnedBy(claim, owner) && labelOf(labels, VM_LABEL) === name && hasFinalizer(claim, VM_CLAIM_FINALIZER)
  if (isWhole) return undefined
  return {
    labels: { [VM_LABEL]: name },
    finalizers: [...finalizers.filter((each) => each !== VM_CLAIM_FINALIZER), VM_CLAIM_FINALIZER],
    ownerReferences: [ownerReferenceTo(owner)],
  }
}

/** The claim of a network of the machine, with the names of ipam-extensions. */
function creation({ name: { value: name }, definition }: NamedClaim, view: View): ClaimStep {
  const { apiVersion, kind } = IPAMClaim.info
  const { owner, namespace } = view
  return {
    kind: 'make',
    claim: {
      apiVersion,
      kind,
      metadata: {
        name,
        namespace,
        labels: { [VM_LABEL]: view.name },
        finalizers: [VM_CLAIM_FINALIZER],
        ownerReferences: owner === undefined ? [] : [ownerReferenceTo(owner)],
      },
      spec: { network: definition.name, interface: '' },
    },
  }
}

function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

function refTo(model: typeof VirtualMachine | typeof VirtualMachineInstance, ref: { namespace: string; name: string }) {
  const { apiVersion, kind } = model.info
  return { apiVersion, kind, ...ref }
}

function terminating({ metadata: { name } }: KubeObject): ClaimStep {
  return refused(
    name,
    'ClaimTerminating',
    `IPAMClaim ${name} is being deleted: a new one follows when it does not exist`,
  )
}

/** In the words of upstream. */
function ownerMismatch({ metadata: { name } }: KubeObject): ClaimStep {
  return refused(name, 'OwnerMismatch', `failed since it found an existing IPAMClaim for ${JSON.stringify(name)}`)
}

function refused(name: string, reason: ClaimRefusal, message: string): ClaimStep {
  return { kind: 'refuse', name, reason, message }
}

import { VM_CLAIM_FINALIZER, vmClaimName } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { hasFinalizer, isDeleting, type KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { CLAIM_OWNER_FINALIZER } from 'ipam-kit/provider/persistent-ip'
import { networksOf } from './networks.js'
import { hasEnded, MACHINES, PRIMARY } from './objects.js'
import { attachmentsOf, type Stored, type Write } from './stored.js'

/** What is wrong with a write of a claim: of its finalizers and its owners. */
export function claimProblem(
  stored: Stored,
  { before, now, name, by }: Write,
  removesUnplugged: boolean,
): string | undefined {
  if (before === undefined) return undefined
  const isChanged =
    now === undefined ||
    JSON.stringify(now.metadata.ownerReferences) !== JSON.stringify(before.metadata.ownerReferences)
  if (isForeign(before) && isChanged && !isDeleting(before))
    return `${name} is changed, which the planners have not made`
  const lost = (finalizer: string) =>
    hasFinalizer(before, finalizer) && (now === undefined || !hasFinalizer(now, finalizer))
  const isRemoved = removesUnplugged && isUnplugged(stored, before, by.knows)
  if (lost(VM_CLAIM_FINALIZER) && isUsed(stored, before, by.knows) && !isRemoved)
    return `${name} is released while its machine uses it`
  if (lost(CLAIM_OWNER_FINALIZER) && isOwned(stored, before, by.knows)) return `${name} is released in use`
  return undefined
}

function isForeign({ metadata }: KubeObject): boolean {
  return metadata.labels === undefined && metadata.annotations === undefined
}

/**
 * The uids of machines and instances that need their claims. An instance that is made by hand while
 * a machine of the name is deleted counts only if the writer knew it.
 */
function usersOf(stored: Stored, knows = Number.POSITIVE_INFINITY): ReadonlySet<string | undefined> {
  const users = MACHINES.flatMap(([namespace, name]) => {
    const [vm, found] = objectsOf(stored, namespace, name)
    const { uid = '', ownerReferences = [] } = found?.metadata ?? {}
    const isKnown = ownerReferences.length > 0 || (stored.createdAt.get(uid) ?? 0) < knows
    const vmi = isKnown ? found : undefined
    const isEnding = vm === undefined && vmi !== undefined && isDeleting(vmi) && activeOf(vmi) === 0
    const ofVMI = isEnding ? undefined : vmi
    const ofVM = vm !== undefined && (!isDeleting(vm) || vmi !== undefined) ? vm : undefined
    return [ofVM, ofVMI].map((object) => object?.metadata.uid)
  })
  return new Set(users.filter((uid) => uid !== undefined))
}

function objectsOf(stored: Stored, namespace: string | undefined, name: string) {
  return ['VirtualMachine', 'VirtualMachineInstance'].map((kind) => stored.get(kind, namespace, name))
}

function activeOf(vmi: KubeObject): number {
  return Object.keys(VirtualMachineInstance.parse(vmi).status?.activePods ?? {}).length
}

function isUsed(stored: Stored, claim: KubeObject, knows: number): boolean {
  const users = usersOf(stored, knows)
  return claim.metadata.ownerReferences?.some(({ uid }) => users.has(uid)) === true
}

/** Whether no interface of its machine has a claim, and no Pod that the writer knew names it. */
function isUnplugged(
  stored: Stored,
  { metadata: { namespace, name, labels = {} } }: KubeObject,
  knows: number,
): boolean {
  const vm = labels['kubevirt.io/vm'] ?? ''
  const [machine, instance] = objectsOf(stored, namespace, vm)
  const plugged = [
    ...((machine && VirtualMachine.parse(machine).spec.template.spec?.networks) ?? []),
    ...((instance && VirtualMachineInstance.parse(instance).spec.networks) ?? []),
  ]
  if (plugged.some(({ name: network }) => unwrap(vmClaimName({ vm, network })) === name)) return false
  return !stored.all('Pod').some((pod) => {
    const isNaming = pod.metadata.namespace === namespace && !hasEnded(pod) && stored.namedSince(pod, name) < knows
    return isNaming && pod.metadata.labels?.['kubevirt.io'] === 'virt-launcher'
  })
}

/** Whether an owner exists, or a Pod that the writer knew and that is not younger. */
function isOwned(stored: Stored, { metadata }: KubeObject, knows: number): boolean {
  const { ownerReferences = [], deletionTimestamp = '~', namespace, name } = metadata
  if (ownerReferences.some(({ uid }) => stored.exists(uid))) return true
  return stored.all('Pod').some((pod) => {
    if (pod.metadata.namespace !== namespace || hasEnded(pod)) return false
    if (pod.metadata.annotations?.['ipam-kit.dev/claim-owner'] === undefined) return false
    if (attachmentsOf(pod)?.every(({ claim }) => claim !== name) !== false) return false
    if ((stored.createdAt.get(pod.metadata.uid ?? '') ?? 0) >= knows) return false
    return (pod.metadata.creationTimestamp ?? '') <= deletionTimestamp
  })
}

/** What is wrong with the claims when all is quiet. */
export function claimRest(stored: Stored, isOn: boolean): string | undefined {
  return left(stored) ?? (isOn ? lacking(stored) : undefined)
}

/** A claim that should have been released. */
function left(stored: Stored): string | undefined {
  const users = usersOf(stored)
  for (const claim of stored.all('IPAMClaim')) {
    const { name, namespace, labels = {}, ownerReferences = [] } = claim.metadata
    const vm = labels['kubevirt.io/vm'] ?? ''
    if (hasFinalizer(claim, VM_CLAIM_FINALIZER)) {
      const exists = objectsOf(stored, namespace, vm).some((object) => users.has(object?.metadata.uid))
      if (!exists) return `${name} is left of the machine ${vm}, which has ended`
      const isGone = ownerReferences.length > 0 && !ownerReferences.some(({ uid }) => stored.exists(uid))
      if (isGone) return `${name} is left of an earlier machine`
    }
    const isOver = isDeleting(claim) && !isOwned(stored, claim, Number.POSITIVE_INFINITY)
    if (hasFinalizer(claim, CLAIM_OWNER_FINALIZER) && isOver) return `${name} is left of an owner that does not exist`
    const isOrphan = ownerReferences.length > 0 && !ownerReferences.some(({ uid }) => stored.exists(uid))
    if (isOrphan && (claim.metadata.finalizers ?? []).length === 0) return `${name} is left of owners that do not exist`
  }
  return undefined
}

/** An interface, or a Pod of a StatefulSet, that could have a claim. */
function lacking(stored: Stored): string | undefined {
  const users = usersOf(stored)
  const networks = networksOf(stored)
  for (const [namespace, vm] of MACHINES) {
    const vmi = stored.get('VirtualMachineInstance', namespace, vm)
    if (vmi === undefined || !users.has(vmi.metadata.uid)) continue
    for (const { name: network, multus } of VirtualMachineInstance.parse(vmi).spec.networks ?? []) {
      const { networkName: nad = PRIMARY } = multus ?? {}
      const definition = networks.of(nad.includes('/') ? nad : `${namespace}/${nad}`)
      if (definition?.claims !== 'honoured' || (multus === undefined && definition.role !== 'primary')) continue
      const name = unwrap(vmClaimName({ vm, network }))
      if (stored.get('IPAMClaim', namespace, name) === undefined) return `${namespace}/${vm} has no claim ${name}`
    }
  }
  const owner = stored.get('StatefulSet', 'ns1', 'web')
  if (owner === undefined || isDeleting(owner) || networks.of('ns1/blue')?.claims !== 'honoured') return undefined
  const pods = stored
    .all('Pod')
    .filter((pod) => pod.metadata.name.startsWith('web-') && !isDeleting(pod) && !hasEnded(pod))
  const lacks = pods.find(({ metadata }) => stored.get('IPAMClaim', 'ns1', `${metadata.name}.blue`) === undefined)
  return lacks && `Pod ${lacks.metadata.name} has no claim`
}

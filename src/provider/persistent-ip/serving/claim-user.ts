import type { Pod } from '../../../crd/core/index.js'
import { type IPAMClaim, VM_LABEL } from '../../../crd/ipamclaims/index.js'
import { VirtualMachine, VirtualMachineInstance } from '../../../crd/kubevirt/index.js'
import { groupOf, labelOf, type OwnerReference } from '../../../crd/meta/object.js'
import { CLAIM_OWNER_ANNOTATION, ownerName } from '../workload/claim-owner.js'

/**
 * Whether a Pod belongs to an owner of a claim. The name of a claim in its annotation is input of a
 * tenant. The Pod has the owner too, or is of the instance of the machine, or names the owner as
 * `workloadClaims` asks for. An orphan deletion removes the owners of a claim for a while: its
 * label and its annotation still name them. A claim that names no owner serves any Pod of its
 * namespace.
 */
export function mayUse({ metadata }: Pick<Pod, 'metadata'>, claim: IPAMClaim): boolean {
  const { ownerReferences: owners = [], labels, annotations } = claim.metadata
  const own = metadata.ownerReferences ?? []
  const named = namesIn(metadata.annotations)
  const isOf = (owner: OwnerReference) =>
    own.some((each) => each.uid === owner.uid || isInstanceOf(each, owner)) ||
    named.includes(ownerName(owner, owner.name))
  if (owners.length > 0) return owners.some(isOf)
  const [machine, wanted] = [labelOf(labels, VM_LABEL), namesIn(annotations)]
  if (machine === undefined && wanted.length === 0) return true
  return own.some((each) => isInstance(each, machine)) || wanted.some((each) => named.includes(each))
}

function namesIn(annotations: { readonly [key: string]: string } | undefined): readonly string[] {
  const text = labelOf(annotations, CLAIM_OWNER_ANNOTATION)
  return text === undefined ? [] : text.split(',').map((each) => each.trim())
}

/** An instance has the name of its machine. */
function isInstanceOf(instance: OwnerReference, machine: OwnerReference): boolean {
  return isInstance(instance, machine.name) && isA(machine, VirtualMachine.info)
}

function isInstance(owner: OwnerReference, name: string | undefined): boolean {
  return isA(owner, VirtualMachineInstance.info) && owner.name === name
}

function isA({ apiVersion, kind }: OwnerReference, info: Pick<OwnerReference, 'apiVersion' | 'kind'>): boolean {
  return kind === info.kind && groupOf(apiVersion) === groupOf(info.apiVersion)
}

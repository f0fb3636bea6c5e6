import type { Pod } from '../../../crd/core/index.js'
import type { IPAMClaim } from '../../../crd/ipamclaims/index.js'
import { VirtualMachine, VirtualMachineInstance } from '../../../crd/kubevirt/index.js'
import { groupOf, type OwnerReference } from '../../../crd/meta/object.js'
import { CLAIM_OWNER_ANNOTATION, ownerName } from '../workload/claim-owner.js'

/**
 * Whether a Pod belongs to an owner of a claim. The name of a claim in its annotation is input of a
 * tenant. The Pod has the owner too, or is of the instance of the machine, or names the owner as
 * `workloadClaims` asks for. A claim without owners serves any Pod of its namespace.
 */
export function mayUse({ metadata }: Pick<Pod, 'metadata'>, claim: IPAMClaim): boolean {
  const owners = claim.metadata.ownerReferences ?? []
  const own = metadata.ownerReferences ?? []
  const named = (metadata.annotations?.[CLAIM_OWNER_ANNOTATION] ?? '').split(',').map((each) => each.trim())
  const isOf = (owner: OwnerReference) =>
    own.some((each) => each.uid === owner.uid || isInstanceOf(each, owner)) ||
    named.includes(ownerName(owner, owner.name))
  return owners.length === 0 || owners.some(isOf)
}

/** An instance has the name of its machine. */
function isInstanceOf(instance: OwnerReference, machine: OwnerReference): boolean {
  return (
    isA(instance, VirtualMachineInstance.info) && isA(machine, VirtualMachine.info) && instance.name === machine.name
  )
}

function isA({ apiVersion, kind }: OwnerReference, info: Pick<OwnerReference, 'apiVersion' | 'kind'>): boolean {
  return kind === info.kind && groupOf(apiVersion) === groupOf(info.apiVersion)
}

import { IPAMClaim } from '../../../crd/ipamclaims/index.js'
import { formatRef, isDeleting, type KindInfo, type KubeObject, type ObjectRef } from '../../../crd/meta/object.js'
import { CLAIM_OWNER_ANNOTATION, readClaimOwners } from '../../persistent-ip/workload/claim-owner.js'
import type { TaskObjects } from './objects.js'
import type { AddOutcome } from './outcome.js'
import { podRefOf, uidsOf } from './pods.js'
import { type InterfaceRequest, ownerOf } from './request.js'
import type { Stop } from './stop.js'

/**
 * Makes the claim of an interface, with the owners that its Pod names: the annotation is input of a
 * tenant, so that each owner is read. The garbage collector deletes the claim with its last owner:
 * it has no finalizer, which a controller would have to remove.
 *
 * @param ref the claim, which does not exist
 */
export function makeClaim(
  ref: ObjectRef,
  request: InterfaceRequest,
  objects: TaskObjects,
  kinds: readonly KindInfo[],
): Stop {
  const { config, podUid, podNamespace: namespace } = request
  const { podref } = ownerOf(request)
  const podRef = podRefOf(podref)
  if (podRef === undefined) return ended('noPod', `Pod ${podref} does not exist`)
  const podStep = objects.read([podRef], 'the owners of the claim')
  if (podStep !== undefined) return { step: podStep }
  const pod = objects.get(podRef)
  if (!pod || (podUid && !uidsOf(pod).includes(podUid))) return ended('noPod', `Pod ${podref} does not exist any more`)
  const problem = (text: string) => ended('noClaim', `IPAMClaim ${namespace}/${ref.name} cannot be made: ${text}`)
  const annotation = pod.metadata.annotations?.[CLAIM_OWNER_ANNOTATION]
  if (annotation === undefined) return problem(`Pod ${podref} has no annotation ${CLAIM_OWNER_ANNOTATION}`)
  const named = readClaimOwners(annotation, kinds)
  if (!named.ok) return problem(named.failure.message)
  if (isDeleting(pod)) return problem(`Pod ${podref} is being deleted`)
  const refs = named.value.map(({ kind: { apiVersion, kind }, name }) => ({ apiVersion, kind, namespace, name }))
  const ownerStep = objects.read(refs, 'whether the owners of the claim exist')
  if (ownerStep !== undefined) return { step: ownerStep }
  const owners: KubeObject[] = []
  for (const each of refs) {
    const owner = objects.get(each)
    if (!owner) return problem(`${formatRef(each)} does not exist`)
    if (isDeleting(owner)) return problem(`${formatRef(each)} is being deleted`)
    owners.push(owner)
  }
  const object: KubeObject = {
    apiVersion: IPAMClaim.info.apiVersion,
    kind: IPAMClaim.info.kind,
    metadata: {
      name: ref.name,
      namespace,
      annotations: { [CLAIM_OWNER_ANNOTATION]: annotation },
      ownerReferences: owners.map(({ apiVersion, kind, metadata: { name, uid = '' } }) => ({
        ...{ apiVersion, kind, name, uid },
      })),
    },
    spec: { network: config.name ?? config.networkName ?? '', interface: '' },
  }
  const message = `make IPAMClaim ${namespace}/${ref.name}`
  const effects = [{ kind: 'create', object, why: 'the interface names a claim that does not exist' }] as const
  return { step: { kind: 'write', plan: { outcome: { kind: 'writes', message }, effects } } }
}

function ended(kind: 'noClaim' | 'noPod', message: string): { readonly outcome: AddOutcome } {
  return { outcome: { kind, message } }
}

import { Pod } from '../../../crd/core/index.js'
import { IPAMClaim, PRIMARY_CLAIM_ANNOTATION, vmClaimName } from '../../../crd/ipamclaims/index.js'
import { VirtualMachine, VirtualMachineInstance } from '../../../crd/kubevirt/index.js'
import type { KubeObject, ObjectMeta } from '../../../crd/meta/object.js'
import {
  DEFAULT_NETWORK_ANNOTATION,
  NETWORKS_ANNOTATION,
  NetworkAttachmentDefinition,
  readNetworkSelection,
} from '../../../crd/multinet/index.js'
import { modelWatch, type TrimmedWatch, type Watch } from '../../../plan/index.js'
import { secondaryDefinitions } from '../pod/vm-claims.js'
import { vmsOfClaim } from './vm-claim-decision.js'

export function machineWatch(namespace: string | undefined): Watch<VirtualMachine> {
  return modelWatch(VirtualMachine, { namespace })
}

export function instanceWatch(namespace: string | undefined): Watch<VirtualMachineInstance> {
  return modelWatch(VirtualMachineInstance, { namespace, indexes: { nad: nadsOf, claim: claimNames } })
}

/** The definitions that decide about an instance: `namespace/name`, or `namespace/` for any of it. */
function nadsOf(instance: VirtualMachineInstance): readonly string[] {
  const { namespace = '' } = instance.metadata
  const named = secondaryDefinitions(instance).map((nad) => `${nad.namespace}/${nad.name}`)
  const hasPodNetwork = instance.spec.networks?.some(({ pod }) => pod !== undefined) === true
  return hasPodNetwork ? [...named, `${namespace}/`] : named
}

function claimNames({ metadata: { namespace = '', name: vm }, spec }: VirtualMachineInstance): readonly string[] {
  const names = (spec.networks ?? []).map(({ name: network }) => vmClaimName({ vm, network }))
  return names.flatMap((name) => (name.ok ? [`${namespace}/${name.value}`] : []))
}

/** A claim exists, whatever its fields are: none is left out. */
export function claimWatch(namespace: string | undefined): Watch<KubeObject> {
  return {
    ...IPAMClaim.info,
    namespace,
    parse: (object) => ({ ok: true, value: object }),
    indexes: { vm: (claim) => vmsOfClaim(claim).map((vm) => `${claim.metadata.namespace ?? ''}/${vm}`) },
  }
}

export function definitionWatch(): Watch<NetworkAttachmentDefinition> {
  return modelWatch(NetworkAttachmentDefinition, {
    indexes: { namespace: ({ metadata }) => [metadata.namespace ?? ''] },
  })
}

/** The label that KubeVirt gives the Pods of machines. */
const VM_PODS = { 'kubevirt.io': 'virt-launcher' }

/**
 * Pods of machines, as the names of the claims that they name: `namespace/name`, or `namespace/` for
 * a Pod whose annotations cannot be read.
 */
export function podWatch(namespace: string | undefined): TrimmedWatch<readonly string[]> {
  return {
    ...Pod.info,
    namespace,
    labels: VM_PODS,
    keep: ({ apiVersion, kind, metadata }) => {
      const { name, namespace: space, uid, resourceVersion, labels, annotations = {} } = metadata
      const kept = NAMING.filter((key) => annotations[key] !== undefined).map((key) => [key, annotations[key]])
      return {
        apiVersion,
        kind,
        metadata: { name, namespace: space, uid, resourceVersion, labels, annotations: Object.fromEntries(kept) },
      }
    },
    parse: ({ metadata }) => ({ ok: true, value: namedClaims(metadata) }),
    indexes: { claim: (names) => names },
  }
}

/** The annotations of a Pod that name claims. */
const NAMING = [NETWORKS_ANNOTATION, DEFAULT_NETWORK_ANNOTATION, PRIMARY_CLAIM_ANNOTATION]

function namedClaims({ namespace = '', annotations = {} }: ObjectMeta): readonly string[] {
  const selections = [NETWORKS_ANNOTATION, DEFAULT_NETWORK_ANNOTATION].flatMap((key) => {
    const read = readNetworkSelection(annotations[key] ?? '', namespace)
    return read.ok ? read.value.map(({ ipamClaimReference }) => ipamClaimReference) : ['']
  })
  const names = [...selections, annotations[PRIMARY_CLAIM_ANNOTATION]]
  return [...new Set(names.flatMap((name) => (name === undefined ? [] : [`${namespace}/${name}`])))]
}

import { Pod } from '../../../crd/core/index.js'
import { IPAMClaim, PRIMARY_CLAIM_ANNOTATION, vmClaimName } from '../../../crd/ipamclaims/index.js'
import { VirtualMachine, VirtualMachineInstance, VM_POD_ANNOTATION } from '../../../crd/kubevirt/index.js'
import { asObject } from '../../../crd/meta/json.js'
import { isDeleting, type KindInfo, type KubeObject, nameKey } from '../../../crd/meta/object.js'
import {
  DEFAULT_NETWORK_ANNOTATION,
  NETWORKS_ANNOTATION,
  NetworkAttachmentDefinition,
  readNetworkSelection,
} from '../../../crd/multinet/index.js'
import {
  type CachedObjects,
  type Delta,
  modelWatch,
  type Parsed,
  type TrimmedWatch,
  type Watch,
} from '../../../plan/index.js'
import { secondaryDefinitions } from '../pod/vm-claims.js'
import { CLAIM_OWNER_ANNOTATION, ownerName } from './claim-owner.js'
import { vmsOfClaim } from './vm-claim-decision.js'

export function machineWatch(namespace: string | undefined): Watch<VirtualMachine> {
  return modelWatch(VirtualMachine, { namespace })
}

export function instanceWatch(namespace: string | undefined): Watch<VirtualMachineInstance> {
  return modelWatch(VirtualMachineInstance, { namespace, indexes: { nad: nadsOf, claim: claimNames } })
}

/**
 * The definitions that decide about an instance: `namespace/name`, or `namespace/` for any of it.
 */
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
    indexes: {
      namespace: ({ metadata }) => [metadata.namespace ?? ''],
      vm: (claim) => vmsOfClaim(claim).map((vm) => `${claim.metadata.namespace ?? ''}/${vm}`),
      owner: ({ metadata: { namespace: space = '', ownerReferences = [] } }) =>
        ownerReferences.map((owner) => `${space} ${ownerName(owner, owner.name)}`),
    },
  }
}

export function definitionWatch(): Watch<NetworkAttachmentDefinition> {
  return modelWatch(NetworkAttachmentDefinition, {
    indexes: { namespace: ({ metadata }) => [metadata.namespace ?? ''] },
  })
}

/** The parts of a Pod that claims depend on. */
export interface ClaimPod {
  readonly namespace: string
  readonly name: string
  readonly createdAt: string
  readonly isDeleting: boolean
  /**
   * The annotation with the owners of its claims. Left out: a virtual machine has them, or none.
   */
  readonly owners?: string | undefined
  /** The machine that runs in it. Left out: it has none, has ended, or is being deleted. */
  readonly machine?: string | undefined
  /**
   * The claims that it names. One without a name: its annotations cannot be read. Empty for a Pod
   * that has ended.
   */
  readonly claims: readonly NamedClaim[]
}

/** The name of the claims of a Pod whose annotations cannot be read. */
export const UNREAD = ''

/** A claim that a Pod names, and the network of its interface. */
export interface NamedClaim {
  readonly claim: string
  /** `namespace/name` of the definition. Left out: the primary network of the namespace. */
  readonly nad?: string | undefined
}

/** The label that KubeVirt gives the Pods of machines. */
export const VM_PODS = { 'kubevirt.io': 'virt-launcher' }

/** Pods by the claims that they name: `namespace/name`, or `namespace/` where that is not known. */
export function podWatch(
  namespace: string | undefined,
  labels: { readonly [label: string]: string },
): TrimmedWatch<ClaimPod> {
  return {
    ...Pod.info,
    namespace,
    labels,
    keep: trimmed,
    parse: (object) => ({ ok: true, value: claimPod(object) }),
    indexes: {
      claim: ({ namespace: space, claims }) => claims.map(({ claim }) => `${space}/${claim}`),
      machine: ({ namespace: space, machine }) => (machine === undefined ? [] : [`${space}/${machine}`]),
      nad: (pod) => pod.claims.map(({ nad = `${pod.namespace}/` }) => nad),
      owner: ({ namespace: space, owners = '' }) => owners.split(',').map((owner) => `${space} ${owner.trim()}`),
    },
  }
}

/** The claims that a version of a Pod names: `namespace/name`. */
export function claimsOfPod(entry: Parsed<ClaimPod> | undefined): readonly string[] {
  if (entry?.ok !== true) return []
  const { namespace, claims } = entry.value
  return claims.map(({ claim }) => `${namespace}/${claim}`)
}

/**
 * The claims that a Pod has named and no longer names: `namespace/name`. If its annotations could
 * not be read before, these are all claims of its namespace.
 */
export function claimsLeftBy(
  { before, now }: Pick<Delta<ClaimPod>, 'before' | 'now'>,
  claims: CachedObjects<KubeObject>,
): readonly string[] {
  const still = new Set(claimsOfPod(now))
  return claimsOfPod(before)
    .filter((name) => !still.has(name))
    .flatMap((name) => {
      const isUnread = name.endsWith(`/${UNREAD}`)
      return isUnread ? claims.by('namespace', name.slice(0, -1)).map(({ metadata }) => nameKey(metadata)) : [name]
    })
}

/** The annotations of a Pod that claims depend on. */
const READ = [
  NETWORKS_ANNOTATION,
  DEFAULT_NETWORK_ANNOTATION,
  PRIMARY_CLAIM_ANNOTATION,
  CLAIM_OWNER_ANNOTATION,
  VM_POD_ANNOTATION,
]

function trimmed({ apiVersion, kind, metadata, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp } = metadata
  const kept = READ.flatMap((key) => {
    const text = metadata.annotations?.[key]
    return text === undefined ? [] : [[key, text]]
  })
  return {
    apiVersion,
    kind,
    metadata: {
      ...{ name, namespace, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp },
      annotations: Object.fromEntries(kept),
    },
    status: { phase: asObject(status)?.phase },
  }
}

function claimPod(pod: KubeObject): ClaimPod {
  const { namespace = '', name, creationTimestamp: createdAt = '', annotations = {} } = pod.metadata
  const phase = asObject(pod.status)?.phase
  const owners = annotations[CLAIM_OWNER_ANNOTATION]
  const hasEnded = phase === 'Succeeded' || phase === 'Failed'
  const machine = hasEnded || isDeleting(pod) ? undefined : annotations[VM_POD_ANNOTATION]
  return {
    ...{ namespace, name, createdAt },
    isDeleting: isDeleting(pod),
    ...(owners !== undefined && { owners }),
    ...(machine !== undefined && { machine }),
    claims: hasEnded ? [] : namedClaims(namespace, annotations),
  }
}

/** The claims that the annotations of a Pod name. */
export function namedClaims(namespace: string, annotations: { readonly [key: string]: string }): readonly NamedClaim[] {
  const selection = (key: string) => readNetworkSelection(annotations[key] ?? '', namespace)
  const [networks, primary] = [selection(NETWORKS_ANNOTATION), selection(DEFAULT_NETWORK_ANNOTATION)]
  if (!networks.ok || !primary.ok) return [{ claim: UNREAD }]
  const named = networks.value.flatMap(({ ipamClaimReference: claim, namespace: space, name }) =>
    claim === undefined ? [] : [{ claim, nad: `${space}/${name}` }],
  )
  const own = primary.value[0]?.ipamClaimReference ?? annotations[PRIMARY_CLAIM_ANNOTATION]
  return own === undefined ? named : [...named, { claim: own }]
}

/** What owners of claims are read as: their metadata. */
export function ownerWatch(kind: KindInfo, namespace: string | undefined): TrimmedWatch<KubeObject> {
  return {
    ...kind,
    namespace,
    keep: ({ apiVersion, kind: its, metadata }) => {
      const { name, namespace: space, uid, resourceVersion, deletionTimestamp } = metadata
      return { apiVersion, kind: its, metadata: { name, namespace: space, uid, resourceVersion, deletionTimestamp } }
    },
    parse: (object) => ({ ok: true, value: object }),
  }
}

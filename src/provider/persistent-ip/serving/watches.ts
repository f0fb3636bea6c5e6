import { Pod } from '../../../crd/core/index.js'
import { IPAMClaim, PRIMARY_CLAIM_ANNOTATION } from '../../../crd/ipamclaims/index.js'
import { MIGRATED_ANNOTATION, MIGRATION_LABEL, VM_POD_ANNOTATION } from '../../../crd/kubevirt/index.js'
import { asObject } from '../../../crd/meta/json.js'
import type { Json, KubeObject } from '../../../crd/meta/object.js'
import { sameJson } from '../../../crd/meta/patch.js'
import {
  DEFAULT_NETWORK_ANNOTATION,
  NETWORKS_ANNOTATION,
  NetworkAttachmentDefinition,
  POD_NETWORKS_ANNOTATION,
  type PodNetwork,
  readNetworkSelection,
  readPodNetworks,
} from '../../../crd/multinet/index.js'
import { ok, unwrap } from '../../../errors/index.js'
import {
  type CachedObjects,
  modelWatch,
  type ParseResult,
  type TrimmedObject,
  type TrimmedWatch,
  type Watch,
} from '../../../plan/index.js'
import type { NetworkDefinition } from '../network/definition.js'
import { readNetwork } from '../network/read-network.js'
import { CLAIM_OWNER_ANNOTATION } from '../workload/claim-owner.js'
import type { EditedClaims } from './edited-claims.js'

/** The objects that the network side reads. */
export interface ServingCache {
  readonly claims: CachedObjects<IPAMClaim>
  readonly pods: CachedObjects<ServedPod, TrimmedObject>
  /** Left out: the feature is off. */
  readonly definitions: CachedObjects<ServedDefinition> | undefined
  readonly edited: EditedClaims
}

export function servedClaimWatch(): Watch<IPAMClaim> {
  return modelWatch(IPAMClaim, { indexes: { network: ({ spec }) => [spec.network] } })
}

/** A definition of a network, with its age. */
export interface ServedDefinition {
  readonly definition: NetworkDefinition
  readonly createdAt: string | undefined
}

/** Definitions by their network, and primary ones by their namespace. */
export function servedDefinitionWatch(): Watch<ServedDefinition> {
  const model = modelWatch(NetworkAttachmentDefinition)
  return {
    ...NetworkAttachmentDefinition.info,
    parse(object) {
      const nad = model.parse(object, undefined)
      if (!nad.ok) return nad
      const read = readNetwork(nad.value)
      if (!read.ok) return { ok: false, problem: read.failure.message }
      return { ok: true, value: { definition: read.value, createdAt: object.metadata.creationTimestamp } }
    },
    indexes: {
      network: ({ definition }) => [definition.name],
      primary: ({ definition }, { metadata }) => (definition.role === 'primary' ? [metadata.namespace ?? ''] : []),
    },
  }
}

/** The parts of a Pod that the network side reads. */
export interface ServedPod {
  readonly pod: Pod
  /** The definitions that it names: `namespace/name`. */
  readonly nads: readonly string[]
  /** The claims that it names: `namespace/name`. */
  readonly claims: readonly string[]
  /** The definitions of what it has, in the order of its annotation: `namespace/name`. */
  readonly entries: readonly string[]
  /** The MAC addresses that it has or asks for: {@link macDigits}. */
  readonly macs: readonly string[]
}

/** The digits of a MAC address, which has several forms. */
export function macDigits(mac: string): string {
  return mac.replaceAll(/[-:.]/g, '').toLowerCase()
}

/**
 * Pods by the claims and the definitions that they name, by the definitions of what they have
 * (`entry`), and by MAC addresses. `namespace/` is the primary network.
 */
export function servedPodWatch(): TrimmedWatch<ServedPod> {
  return {
    ...Pod.info,
    keep: trimmed,
    parse: readPod,
    indexes: {
      claim: ({ claims }) => claims,
      nad: ({ nads, pod }) => [...nads, primaryKey(pod)],
      entry: ({ entries }) => entries,
      mac: ({ macs }) => macs,
    },
  }
}

function primaryKey({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/`
}

/** The definition of an interface: `namespace/name` of `namespace/name/1`. */
export function nadOfKey(key: string): string {
  return key.split('/', 2).join('/')
}

const READ = [
  NETWORKS_ANNOTATION,
  DEFAULT_NETWORK_ANNOTATION,
  PRIMARY_CLAIM_ANNOTATION,
  POD_NETWORKS_ANNOTATION,
  CLAIM_OWNER_ANNOTATION,
  MIGRATED_ANNOTATION,
  VM_POD_ANNOTATION,
]
/** The labels that are read. */
const LABELS = [MIGRATION_LABEL]

/** Without members that are `undefined`: each takes a place in thousands of objects. */
function trimmed({ apiVersion, kind, metadata, spec, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences } = metadata
  const annotations = only(READ, metadata.annotations)
  const labels = only(LABELS, metadata.labels)
  const { nodeName, hostNetwork } = asObject(spec) ?? {}
  return {
    apiVersion,
    kind,
    metadata: defined({
      ...{ name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences },
      // a Pod without annotations gets the first one in another way
      ...{ annotations, labels: labels && Object.keys(labels).length > 0 ? labels : undefined },
    }),
    spec: defined({ nodeName, hostNetwork }),
    status: defined({ phase: asObject(status)?.phase }),
  }
}

function defined<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
}

/** A map that is null is as one that is left out. */
function only(keys: readonly string[], texts: { readonly [key: string]: string } | null | undefined) {
  return texts ? Object.fromEntries(Object.entries(texts).filter(([key]) => keys.includes(key))) : undefined
}

function readPod(object: KubeObject): ParseResult<ServedPod> {
  const read = Pod.safeParse(object)
  if (!read.ok) return { ok: false, problem: read.failure.message }
  const { namespace = '', annotations = {} } = object.metadata
  const selection = readNetworkSelection(annotations[NETWORKS_ANNOTATION] ?? '', namespace)
  const primary = readNetworkSelection(annotations[DEFAULT_NETWORK_ANNOTATION] ?? '', namespace)
  if (!selection.ok) return { ok: false, problem: selection.failure.message }
  if (!primary.ok) return { ok: false, problem: primary.failure.message }
  const networks = readNetworks(annotations)
  if (!networks.ok) return { ok: false, problem: networks.failure.message }
  const own = primary.value[0]?.ipamClaimReference ?? annotations[PRIMARY_CLAIM_ANNOTATION]
  const claims = [...selection.value.map(({ ipamClaimReference }) => ipamClaimReference), own]
  return {
    ok: true,
    value: {
      // the object itself: thousands of copies cost more than all else here
      pod: sameJson(read.value as unknown as Json, object as unknown as Json) ? (object as unknown as Pod) : read.value,
      nads: [...new Set(selection.value.map((each) => `${each.namespace}/${each.name}`))],
      claims: [
        ...new Set(claims.flatMap((claim) => (claim === undefined || claim === '' ? [] : [`${namespace}/${claim}`]))),
      ],
      entries: networks.value.map(({ network }) => nadOfKey(network)),
      macs: macsOf([...selection.value, ...primary.value, ...networks.value]),
    },
  }
}

function readNetworks({ [POD_NETWORKS_ANNOTATION]: text }: { readonly [key: string]: string }) {
  return text === undefined ? ok([]) : readPodNetworks(text)
}

/** What a Pod has, in the order of its annotation. O(length of the annotation). */
export function networksOf({ pod }: ServedPod): readonly PodNetwork[] {
  return unwrap(readNetworks(pod.metadata.annotations ?? {}))
}

function macsOf(all: readonly { readonly mac?: string | undefined }[]): readonly string[] {
  return [...new Set(all.flatMap(({ mac = '' }) => (mac === '' ? [] : [macDigits(mac)])))]
}

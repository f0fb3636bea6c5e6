import * as Prefix from '../../../cidr/nouns/prefix.js'
import { PRIMARY_CLAIM_ANNOTATION } from '../../../crd/ipamclaims/index.js'
import {
  DEFAULT_NETWORK_ANNOTATION,
  type InterfaceAddress,
  NETWORKS_ANNOTATION,
  POD_NETWORKS_ANNOTATION,
} from '../../../crd/multinet/index.js'
import { type Effect, patchIfFields } from '../../../plan/index.js'
import type { PodInterface } from './networks.js'
import type { PodPlan } from './pod-plan.js'
import { networksOf, type ServedPod } from './watches.js'

/** An interface, and what it gets. */
export interface GivenInterface {
  readonly interface: PodInterface
  readonly plan: PodPlan
}

const ANNOTATIONS = '/metadata/annotations'
const PATH = pathOf(POD_NETWORKS_ANNOTATION)
/** What a plan depends on, and what it writes. */
const GUARDED = [POD_NETWORKS_ANNOTATION, NETWORKS_ANNOTATION, DEFAULT_NETWORK_ANNOTATION, PRIMARY_CLAIM_ANNOTATION]

function pathOf(annotation: string): string {
  return `${ANNOTATIONS}/${annotation.replace('/', '~1')}`
}

/** Writes what is new into the annotation of a Pod, in one patch; other entries stay. */
export function writePod(served: ServedPod, given: readonly GivenInterface[]): readonly Effect[] {
  const entries = given.flatMap(({ interface: { attachment, network }, plan }) =>
    plan.kind === 'given' && plan.isNew ? [[attachment.key, entryOf(plan, network.definition.role)] as const] : [],
  )
  if (entries.length === 0) return []
  const { pod } = served
  const stored = networksOf(served).map((one) => [one.network, one.stored] as const)
  const value = JSON.stringify(Object.fromEntries([...stored, ...entries]))
  const why = `addresses of ${entries.map(([key]) => key).join(', ')}`
  const { annotations } = pod.metadata
  if (annotations === undefined) {
    const patch = [{ op: 'add', path: ANNOTATIONS, value: { [POD_NETWORKS_ANNOTATION]: value } }] as const
    return [patchIfFields(pod, { [ANNOTATIONS]: null }, patch, why)]
  }
  // an interface that is plugged or unplugged changes which one an entry is of
  const fields = GUARDED.map((name) => [pathOf(name), annotations[name] ?? null] as const)
  return [patchIfFields(pod, Object.fromEntries(fields), [{ op: 'add', path: PATH, value }], why)]
}

/** An entry in the form of OVN-Kubernetes. */
function entryOf({ addresses, mac }: Extract<PodPlan, { kind: 'given' }>, role: string) {
  const texts = addresses.map(Prefix.format)
  const [one, another] = texts
  return {
    ip_addresses: texts,
    ...(mac !== undefined && { mac_address: mac }),
    ...(one !== undefined && another === undefined && { ip_address: one }),
    role,
  }
}

/** What an interface has already. */
export function addressesOf({ has }: PodInterface): readonly InterfaceAddress[] {
  return has?.addresses ?? []
}

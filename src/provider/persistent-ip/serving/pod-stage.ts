import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { Pod } from '../../../crd/core/index.js'
import { type InterfaceAddress, POD_NETWORKS_ANNOTATION, readPodNetworks } from '../../../crd/multinet/index.js'
import { check } from '../../../errors/check.js'

/**
 * Whether a Pod gets addresses. `waiting`: it has no Node yet. `served`: it gets them, and holds
 * them until it has ended or does not exist. `ended`: it holds none.
 */
export type PodStage = 'waiting' | 'served' | 'ended'

const POD = [
  'open',
  {
    metadata: ['open', { name: 'text', annotations: 'object?' }],
    spec: ['open?', { nodeName: 'text?', hostNetwork: 'flag?' }],
    status: ['open?', { phase: 'text?' }],
  },
] as const

/**
 * The stage of a Pod, as the networks see it. One that is being deleted holds its addresses until
 * it has ended.
 *
 * @example
 * podStage({ metadata: { name: 'p' }, spec: { nodeName: 'n1' }, status: { phase: 'Succeeded' } }) // 'ended'
 */
export function podStage(pod: Pick<Pod, 'metadata' | 'spec' | 'status'>): PodStage {
  check<unknown>('podStage', 'pod', pod, POD)
  const { spec = {}, status } = pod
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return 'ended'
  return (spec.nodeName ?? '') === '' ? 'waiting' : 'served'
}

/** An address that a Pod has in a network of OVN-Kubernetes. */
export interface PodAddress {
  /** The key of its interface: see {@link PodAttachment.key}. */
  readonly network: string
  /** A /32 or a /128. */
  readonly prefix: Prefix.Prefix
}

/**
 * The addresses that a Pod holds by its annotation `k8s.ovn.org/pod-networks`, until it has ended.
 * Leases of a DHCP server are not among them, nor is what cannot be read. O(length of the
 * annotation).
 *
 * @example
 * import { Prefix } from 'ipam-kit/cidr'
 * const annotations = { 'k8s.ovn.org/pod-networks': '{"a/blue":{"ip_addresses":["10.0.0.7/24"]}}' }
 * const pod = { metadata: { name: 'p', annotations }, spec: { nodeName: 'n1' } }
 * heldByPod(pod).map(({ network, prefix }) => `${network} ${Prefix.format(prefix)}`) // ['a/blue 10.0.0.7/32']
 */
export function heldByPod(pod: Pick<Pod, 'metadata' | 'spec' | 'status'>): readonly PodAddress[] {
  check<unknown>('heldByPod', 'pod', pod, POD)
  if (podStage(pod) === 'ended') return []
  const text = pod.metadata.annotations?.[POD_NETWORKS_ANNOTATION]
  const read = text === undefined ? undefined : readPodNetworks(text)
  if (read?.ok !== true) return []
  return read.value.flatMap(({ network, addresses, isDHCP }) =>
    isDHCP ? [] : addresses.map((one) => ({ network, prefix: hostPrefix(one) })),
  )
}

function hostPrefix({ address }: InterfaceAddress): Prefix.Prefix {
  return Prefix.of(address, Address.bitsOf(address.family))
}

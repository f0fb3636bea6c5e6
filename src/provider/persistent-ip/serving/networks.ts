import { nameKey } from '../../../crd/meta/object.js'
import type { PodNetwork } from '../../../crd/multinet/index.js'
import { type Network, networkOfDefinitions } from '../network/agreement.js'
import { type PodAttachment, type PodAttachmentOptions, podAttachments } from '../pod/attachments.js'
import { networksOf, type ServedDefinition, type ServedPod, type ServingCache } from './watches.js'

/** The network of a name, if a definition of it exists and can be read. */
export function networkNamed(name: string, { definitions }: ServingCache): Network | undefined {
  const known = definitions?.by('network', name) ?? []
  return known.length === 0 ? undefined : networkOfDefinitions(known)
}

/** Whether a definition decides, or has decided, about its network. */
export function decides({ definition, createdAt }: ServedDefinition, { definitions }: ServingCache): boolean {
  const others = definitions?.by('network', definition.name) ?? []
  const all = [...others.filter((other) => other.definition.nad !== definition.nad), { definition, createdAt }]
  return networkOfDefinitions(all).definition.nad === definition.nad
}

/** An interface of a Pod in a network whose addresses are allocated here. */
export interface PodInterface {
  readonly network: Network
  readonly attachment: PodAttachment
  /** What it has already. */
  readonly has: PodNetwork | undefined
}

export interface PodInterfaces {
  readonly interfaces: readonly PodInterface[]
  /** Why the Pod may lack others. */
  readonly problems: readonly string[]
}

/** The interfaces of a Pod, in the order of its networks. */
export function interfacesOf(
  served: ServedPod,
  cache: ServingCache,
  { staticRequests, defaultNetworkNamespace }: Omit<PodAttachmentOptions, 'primary'>,
): PodInterfaces {
  const problems: string[] = []
  const { pod, nads } = served
  const networks = networksOf(served)
  const primary = primaryOf(pod.metadata.namespace ?? '', cache)
  const names = new Set(primary === undefined ? [] : [primary.definition.name])
  for (const nad of nads) {
    const entry = cache.definitions?.entry(nad)
    if (entry === undefined) problems.push(`NetworkAttachmentDefinition ${nad} does not exist`)
    else if (entry.ok) names.add(entry.value.definition.name)
    else problems.push(`NetworkAttachmentDefinition ${nad}: ${entry.problem}`)
  }
  const interfaces = [...names].flatMap((name) => {
    const network = networkNamed(name, cache)
    if (network === undefined || !isAllocatedHere(network)) return []
    const read = podAttachments(pod, network, { staticRequests, defaultNetworkNamespace, primary })
    if (!read.ok) problems.push(read.failure.message)
    return (read.ok ? read.value.attachments : []).flatMap((attachment) => {
      const other = network.disagreeing.find(({ nad }) => nad === attachment.nad)
      if (other !== undefined) {
        problems.push(
          `NetworkAttachmentDefinition ${other.nad} differs from ${network.definition.nad}: ${other.members.join(', ')}`,
        )
        return []
      }
      return [{ network, attachment, has: networks.find((each) => each.network === attachment.key) }]
    })
  })
  return { interfaces, problems }
}

/** Addresses of layer3 are those of Nodes. */
function isAllocatedHere({ definition: { addressing, topology, claims } }: Network): boolean {
  return addressing === 'subnets' && topology !== 'layer3' && claims !== 'defaultNetwork'
}

function primaryOf(namespace: string, cache: ServingCache): Network | undefined {
  const [first] = (cache.definitions?.by('primary', namespace) ?? [])
    .map(({ definition }) => definition)
    .sort((left, right) => (left.nad < right.nad ? -1 : 1))
  return first && networkNamed(first.name, cache)
}

/** `namespace/name` of a Pod. */
export function nameOfPod({ pod }: ServedPod): string {
  return nameKey(pod.metadata)
}

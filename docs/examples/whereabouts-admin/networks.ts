import type { KubeObject } from 'ipam-kit/crd/meta'
import { ipamOfType, NetworkAttachmentDefinition, readNetworkConfig } from 'ipam-kit/crd/multinet'
import { describe } from 'ipam-kit/errors'
import { readWhereaboutsConfig, type WhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { BLOCK_IPAM_TYPE, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'

/** A network of a NetworkAttachmentDefinition. */
export interface Network {
  /** `namespace/name` of the definition. */
  readonly definition: string
  readonly type: 'whereabouts' | typeof BLOCK_IPAM_TYPE
  readonly config: WhereaboutsConfig
}

export interface Networks {
  readonly networks: readonly Network[]
  /** The definitions that may be of whereabouts, and cannot be read. */
  readonly problems: readonly string[]
}

/** The networks that pools of whereabouts are of, also those that have the type of blocks by now. */
export function readNetworks(definitions: readonly KubeObject[]): Networks {
  const networks: Network[] = []
  const problems: string[] = []
  for (const object of definitions) {
    const definition = `${object.metadata.namespace}/${object.metadata.name}`
    const read = readDefinition(object)
    if (typeof read === 'string') problems.push(`NetworkAttachmentDefinition ${definition}: ${read}`)
    else if (read !== undefined) networks.push({ definition, ...read })
  }
  return { networks, problems }
}

function readDefinition(object: KubeObject): Omit<Network, 'definition'> | string | undefined {
  const definition = NetworkAttachmentDefinition.safeParse(object)
  if (!definition.ok) return describe(definition.failure)
  const { config: text = '' } = definition.value.spec ?? {}
  if (text === '') return 'its configuration is in a file of the Nodes'
  const chain = readNetworkConfig(text)
  if (!chain.ok) return describe(chain.failure)
  if (ipamOfType(chain.value, 'whereabouts').length > 0) {
    const read = readWhereaboutsConfig(text)
    return read.ok ? { type: 'whereabouts', config: read.value } : describe(read.failure)
  }
  if (ipamOfType(chain.value, BLOCK_IPAM_TYPE).length === 0) return undefined
  const read = readBlockNetwork(text)
  if (!read.ok) return describe(read.failure)
  // a network that names its pools has no range
  return read.value.pools.length > 0 ? undefined : { type: BLOCK_IPAM_TYPE, config: read.value.config }
}

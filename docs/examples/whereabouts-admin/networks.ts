import type { IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { ipamOfType, NetworkAttachmentDefinition, readNetworkConfig } from 'ipam-kit/crd/multinet'
import { readWhereaboutsConfig, type WhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { BLOCK_IPAM_TYPE, poolsOf, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'

/** A network of a NetworkAttachmentDefinition. */
export interface Network {
  /** `namespace/name` of the definition. */
  readonly definition: string
  readonly type: 'whereabouts' | typeof BLOCK_IPAM_TYPE
  readonly config: WhereaboutsConfig
  /** The IPPools of ipam-kit.dev that it has on blocks. */
  readonly pools: readonly IPPool[]
}

export interface Networks {
  readonly networks: readonly Network[]
  /** The definitions that may be of whereabouts, and cannot be read. */
  readonly problems: readonly { readonly definition: string; readonly problem: string }[]
}

/** The networks that pools of whereabouts are of, also those that have the type of blocks by now. */
export function readNetworks(definitions: readonly KubeObject[]): Networks {
  const networks: Network[] = []
  const problems: { definition: string; problem: string }[] = []
  for (const object of definitions) {
    const definition = `${object.metadata.namespace}/${object.metadata.name}`
    const read = readDefinition(object)
    if (typeof read === 'string') problems.push({ definition, problem: read })
    else if (read !== undefined) networks.push({ definition, ...read })
  }
  return { networks, problems }
}

/** A sentence for each definition that cannot be read. */
export function unreadIn({ problems }: Networks, skipped: readonly string[] = []): readonly string[] {
  return problems
    .filter(({ definition }) => !skipped.includes(definition))
    .map(({ definition, problem }) => `NetworkAttachmentDefinition ${definition}: ${problem}`)
}

function readDefinition(object: KubeObject): Omit<Network, 'definition'> | string | undefined {
  const definition = NetworkAttachmentDefinition.safeParse(object)
  if (!definition.ok) return definition.failure.message
  const { config: text = '' } = definition.value.spec ?? {}
  if (text === '') return 'its configuration is in a file of the Nodes'
  const chain = readNetworkConfig(text)
  if (!chain.ok) return chain.failure.message
  if (ipamOfType(chain.value, 'whereabouts').length > 0) {
    const read = readWhereaboutsConfig(text)
    return read.ok ? networkOf('whereabouts', read.value) : read.failure.message
  }
  if (ipamOfType(chain.value, BLOCK_IPAM_TYPE).length === 0) return undefined
  const read = readBlockNetwork(text)
  if (!read.ok) return read.failure.message
  // a network that names its pools has no range
  return read.value.pools.length > 0 ? undefined : networkOf(BLOCK_IPAM_TYPE, read.value.config)
}

function networkOf(type: Network['type'], config: WhereaboutsConfig): Omit<Network, 'definition'> {
  // a range that cannot have a pool of blocks is an obstacle of the plan
  const pools = poolsOf({ config, pools: [] })
  return { type, config, pools: pools.ok ? pools.value : [] }
}

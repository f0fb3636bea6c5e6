import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'

/**
 * The rule that a network configuration breaks.
 *
 * - `json`: the text is not JSON, or has a name twice. `type`: a member has another type
 * - `plugin`: another plugin than OVN-Kubernetes, where the caller asks for its networks alone
 * - `chain`: a chain of several plugins, or a chain beside a single one
 * - `name`: no name, or a reserved one. `nadName`: another definition than the one it is in
 * - `topology`, `role`: not known, or not in this combination
 * - `persistentIPs`: addresses stay with a workload, and the network cannot do that
 * - `ipam`: a delegated IPAM plugin, or a mode that the other fields contradict
 * - `field`: a field that networks of this topology do not have
 * - `subnets`: missing, or not a list of CIDRs. `containment`: a subnet outside the network.
 *   `overlap`: two subnets of the network overlap
 */
export type NetworkRule =
  | 'json'
  | 'type'
  | 'plugin'
  | 'chain'
  | 'name'
  | 'nadName'
  | 'topology'
  | 'role'
  | 'persistentIPs'
  | 'ipam'
  | 'field'
  | 'subnets'
  | 'containment'
  | 'overlap'

export interface NetworkProblem {
  readonly rule: NetworkRule
  /** In the words of the upstream project, where it has the rule. */
  readonly problem: string
}

/** What one NetworkAttachmentDefinition, or one UserDefinedNetwork, says of a network. */
export interface NetworkDefinition {
  /** The NetworkAttachmentDefinition: `namespace/name`. */
  readonly nad: string
  /** The name of the network, which claims and other definitions name too. */
  readonly name: string
  /** The type of the CNI plugin: `ovn-k8s-cni-overlay`. Empty: the configuration has none. */
  readonly plugin: string
  /** Left out: the default network of the cluster, or a network of another plugin. */
  readonly topology?: NetworkTopology | undefined
  readonly role: 'primary' | 'secondary'
  readonly addressing: NetworkAddressing
  /** Whether the configuration lets addresses stay with a workload. */
  readonly allowPersistentIPs: boolean
  /** Whether claims hold addresses of this network, or why not. */
  readonly claims: ClaimSupport
  readonly subnets: readonly NetworkSubnet[]
  /** Subnets that no Pod gets addresses of. */
  readonly excludes: readonly Prefix.Prefix[]
  /** Subnets whose addresses are given on request alone. */
  readonly reserved: readonly Prefix.Prefix[]
  /** Subnets for gateways and management ports. */
  readonly infrastructure: readonly Prefix.Prefix[]
  /** In bytes. Left out: that of the cluster. */
  readonly mtu?: number | undefined
  readonly vlan?: number | undefined
  readonly physicalNetwork?: string | undefined
}

export type NetworkTopology = 'layer2' | 'layer3' | 'localnet'

/**
 * Where the addresses of a network come from. `subnets`: from its subnets. `none`: there are none.
 * `dhcp`: from a DHCP server, whose lease the guest has. `external`: from an external IPAM.
 * `plugin`: from the plugin of the network. Only with `subnets` they are allocated here.
 */
export type NetworkAddressing = 'subnets' | 'none' | 'dhcp' | 'external' | 'plugin'

/**
 * Whether claims hold addresses of a network, or the reason why not.
 *
 * - `honoured`: claims hold addresses of the network
 * - `notAllowed`: `allowPersistentIPs` is not set
 * - `defaultNetwork`: it is the default network of the cluster
 * - `layer3`: addresses belong to Nodes
 * - `noSubnets`: the network has no addresses
 * - `fullyExcluded`: the excluded subnets cover all subnets
 * - `dhcp`: a DHCP server gives the addresses, and the guest has the lease
 * - `external`: an external IPAM gives the addresses
 */
export type ClaimSupport =
  | 'honoured'
  | 'notAllowed'
  | 'defaultNetwork'
  | 'layer3'
  | 'noSubnets'
  | 'fullyExcluded'
  | 'dhcp'
  | 'external'

/** A subnet of a network. */
export interface NetworkSubnet {
  readonly prefix: Prefix.Prefix
  /** The prefix length of the part of a Node. Left out: the subnet is not divided. */
  readonly nodeLength?: number | undefined
}

/** The type of the plugin of OVN-Kubernetes. */
export const OVN_PLUGIN = 'ovn-k8s-cni-overlay'
/** The name that the default network of OVN-Kubernetes has. */
export const DEFAULT_NETWORK = 'default'

/** The members of a configuration that decide. An empty text is one that is left out. */
export interface NetworkFields {
  /** `namespace/name` of the definition that the members are in. */
  readonly nad: string
  /** The definition that the configuration names. */
  readonly nadName: string
  readonly name: string
  readonly plugin: string
  /** Empty: the default network. */
  readonly topology: string
  readonly role: string
  /** The type of the IPAM plugin. */
  readonly ipam: string
  /** Whether an external IPAM has the addresses: no NetworkAttachmentDefinition says it. */
  readonly isExternal?: boolean | undefined
  readonly allowPersistentIPs: boolean
  readonly subnets: string
  readonly excludeSubnets: string
  readonly reservedSubnets: string
  readonly infrastructureSubnets: string
  readonly joinSubnet: string
  readonly defaultGatewayIPs: string
  readonly physicalNetworkName: string
  readonly mtu: number
  readonly vlanID: number
}

/** The definition that the members of a configuration give. */
export function definitionOf(fields: NetworkFields, subnets: NetworkSubnets): NetworkDefinition {
  const { nad, plugin, topology, role, allowPersistentIPs, mtu, vlanID, physicalNetworkName } = fields
  const addressing = addressingOf(fields)
  const isDefault = plugin === OVN_PLUGIN && topology === ''
  return {
    nad,
    name: isDefault ? DEFAULT_NETWORK : fields.name,
    plugin,
    ...(isTopology(topology) && { topology }),
    role: role === 'primary' ? 'primary' : 'secondary',
    addressing,
    allowPersistentIPs,
    claims: isDefault ? 'defaultNetwork' : claimSupport(fields, addressing, subnets),
    ...subnets,
    ...(mtu !== 0 && { mtu }),
    ...(vlanID !== 0 && { vlan: vlanID }),
    ...(physicalNetworkName !== '' && { physicalNetwork: physicalNetworkName }),
  }
}

type NetworkSubnets = Pick<NetworkDefinition, 'subnets' | 'excludes' | 'reserved' | 'infrastructure'>

function addressingOf({ plugin, topology, ipam, isExternal, subnets }: NetworkFields): NetworkAddressing {
  if (plugin !== OVN_PLUGIN) return 'plugin'
  if (isExternal) return 'external'
  if (ipam === DHCP) return 'dhcp'
  return topology === 'layer3' || subnets.trim() !== '' ? 'subnets' : 'none'
}

/** The type of the IPAM plugin of a network whose addresses a DHCP server gives. */
export const DHCP = 'dhcp'

function claimSupport(
  { allowPersistentIPs, topology }: NetworkFields,
  addressing: NetworkAddressing,
  { subnets, excludes }: NetworkSubnets,
): ClaimSupport {
  if (addressing === 'dhcp' || addressing === 'external') return addressing
  if (!allowPersistentIPs) return 'notAllowed'
  if (topology === 'layer3') return 'layer3'
  if (addressing === 'none') return 'noSubnets'
  if (subnets.length === 0) return 'honoured'
  const left = RangeSet.subtract(
    RangeSet.fromPrefixes(subnets.map(({ prefix }) => prefix)),
    RangeSet.fromPrefixes(excludes),
  )
  return RangeSet.isEmpty(left) ? 'fullyExcluded' : 'honoured'
}

export function isTopology(text: string): text is NetworkTopology {
  return text === 'layer2' || text === 'layer3' || text === 'localnet'
}

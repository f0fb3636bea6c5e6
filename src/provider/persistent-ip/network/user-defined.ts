import { ClusterUserDefinedNetwork, type UserDefinedNetwork, type UserDefinedTopology } from '../../../crd/ovn/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { DHCP, type NetworkDefinition, type NetworkFields, type NetworkProblem, OVN_PLUGIN } from './definition.js'
import { type NetworkResult, resultOf } from './read-network.js'
import { networkBy } from './rules.js'

export interface UserDefinedNetworkOptions {
  /**
   * The namespace of the NetworkAttachmentDefinition. Left out: that of the UserDefinedNetwork. A
   * ClusterUserDefinedNetwork has one in each of its namespaces.
   */
  readonly namespace?: string | undefined
  /** Whether the cluster lets addresses stay with a workload. Default true. */
  readonly persistentIPs?: boolean | undefined
}

const OPTIONS: KindOf<UserDefinedNetworkOptions> = { namespace: 'text?', persistentIPs: 'flag?' }

/**
 * Reads the network that a UserDefinedNetwork or a ClusterUserDefinedNetwork makes in a namespace,
 * as its NetworkAttachmentDefinition has it. O(size).
 *
 * @returns the failure `INVALID_NETWORK` with the rule that it breaks, and the sentence of
 * OVN-Kubernetes
 * @example
 * const layer2 = { role: 'Primary', subnets: ['10.0.0.0/24'], ipam: { lifecycle: 'Persistent' } }
 * const udn = { apiVersion: 'k8s.ovn.org/v1', kind: 'UserDefinedNetwork', metadata: { name: 'blue', namespace: 'a' }, spec: { topology: 'Layer2', layer2 } }
 * const read = readUserDefinedNetwork(udn)
 * read.ok && [read.value.name, read.value.nad, read.value.claims] // ['a_blue', 'a/blue', 'honoured']
 */
export function readUserDefinedNetwork(
  udn: UserDefinedNetwork | ClusterUserDefinedNetwork,
  options: UserDefinedNetworkOptions = {},
): NetworkResult {
  check('readUserDefinedNetwork', 'udn', udn, [
    'open',
    { kind: 'text', metadata: ['open', { name: 'text', namespace: 'text?' }], spec: 'object' },
  ])
  check('readUserDefinedNetwork', 'options', options, OPTIONS)
  const { name } = udn.metadata
  const namespace = options.namespace ?? udn.metadata.namespace ?? ''
  const isCluster = ClusterUserDefinedNetwork.is(udn)
  const network = { nad: `${namespace}/${name}`, name: isCluster ? `cluster_udn_${name}` : `${namespace}_${name}` }
  const spec = isCluster ? (udn as ClusterUserDefinedNetwork).spec.network : (udn as UserDefinedNetwork).spec
  check<unknown>('readUserDefinedNetwork', isCluster ? 'udn.spec.network' : 'udn.spec', spec, SPEC)
  const read = networkOf(network, spec)
  const isOff = options.persistentIPs === false && !('rule' in read) && read.allowPersistentIPs
  return resultOf(network.nad, isOff ? OFF : read)
}

type Spec = UserDefinedNetwork['spec']

const TEXTS = ['list?', 'text'] as const
const FLAT = [
  'open?',
  {
    role: 'text',
    subnets: TEXTS,
    excludeSubnets: TEXTS,
    reservedSubnets: TEXTS,
    infrastructureSubnets: TEXTS,
    physicalNetworkName: 'text?',
    mtu: 'number?',
    vlan: ['open?', { access: ['open?', { id: 'number' }] }],
    ipam: ['open?', { mode: 'text?', lifecycle: 'text?' }],
  },
] as const
const LAYER3 = [
  'open?',
  { role: 'text', subnets: ['list?', ['open', { cidr: 'text', hostSubnet: 'number?' }]], mtu: 'number?' },
] as const
const SPEC = ['open', { topology: 'text', layer2: FLAT, layer3: LAYER3, localnet: FLAT }] as const

const OFF: NetworkProblem = {
  rule: 'persistentIPs',
  problem: 'allowPersistentIPs is set but persistentIPs is Disabled',
}

function networkOf(
  { nad, name }: { readonly nad: string; readonly name: string },
  spec: Spec,
): NetworkDefinition | NetworkProblem {
  const { topology } = spec
  const config = configOf(spec)
  if (config === undefined) {
    return { rule: 'topology', problem: `topology ${topology} is specified but ${topology} config is nil` }
  }
  const problem = modeProblem(spec.topology, config)
  if (problem !== undefined) return problem
  const list = (texts: readonly string[] = []) => texts.join(',')
  const { mode, lifecycle } = config.ipam ?? {}
  const fields: NetworkFields = {
    nad,
    nadName: nad,
    name,
    plugin: OVN_PLUGIN,
    topology: topology.toLowerCase(),
    role: config.role.toLowerCase(),
    ipam: mode === 'DHCP' ? DHCP : '',
    isExternal: mode === 'External',
    allowPersistentIPs: lifecycle === 'Persistent',
    subnets: list(config.subnets),
    excludeSubnets: list(config.excludeSubnets),
    reservedSubnets: list(config.reservedSubnets),
    infrastructureSubnets: list(config.infrastructureSubnets),
    joinSubnet: '',
    defaultGatewayIPs: '',
    physicalNetworkName: config.physicalNetworkName ?? '',
    mtu: config.mtu ?? 0,
    vlanID: config.vlan?.access?.id ?? 0,
  }
  return networkBy(fields)
}

/** The configuration of the topology, where the subnets of layer3 are texts too. */
function configOf({ topology, layer2, layer3, localnet }: Spec): UserDefinedTopology | undefined {
  if (topology === 'Layer2') return layer2
  if (topology === 'Localnet') return localnet
  const subnets = layer3?.subnets?.map(({ cidr, hostSubnet = 0 }) => (hostSubnet > 0 ? `${cidr}/${hostSubnet}` : cidr))
  return layer3 && { ...layer3, subnets }
}

/** What upstream refuses before it makes a NetworkAttachmentDefinition. */
function modeProblem(topology: Spec['topology'], config: UserDefinedTopology): NetworkProblem | undefined {
  if (topology === 'Layer3') return undefined
  const { role, physicalNetworkName = '', ipam: { mode = 'Enabled', lifecycle } = {} } = config
  const [subnets, excludes] = [config.subnets ?? [], config.excludeSubnets ?? []]
  const isLocalnet = topology === 'Localnet'
  const named = (problem: string) => (isLocalnet ? `localnet topology config is invalid: ${problem}` : problem)
  const when = isLocalnet ? 'when' : 'with'
  const checks: readonly (readonly [isBroken: boolean, rule: NetworkProblem['rule'], problem: string])[] = [
    [isLocalnet && role === 'Primary', 'role', 'role can be secondary only'],
    [isLocalnet && physicalNetworkName === '', 'field', 'physicalNetworkName cannot be empty'],
    [isLocalnet && physicalNetworkName.length > MAX_NAME, 'field', `physicalNetworkName max length is ${MAX_NAME}`],
    [
      lifecycle === 'Persistent' && mode !== 'Enabled',
      'persistentIPs',
      `${isLocalnet ? 'ipam config invalid: ' : ''}lifecycle Persistent is only supported when ipam.mode is Enabled`,
    ],
    [mode === 'DHCP' && !isLocalnet, 'ipam', 'ipam.mode DHCP is only supported for Localnet topology'],
    [
      mode === 'External' && !(topology === 'Layer2' && role === 'Primary'),
      'ipam',
      'ipam.mode External is only supported for primary Layer2 networks',
    ],
    [
      mode === 'Enabled' && subnets.length === 0,
      'subnets',
      `subnets is required ${when} ipam.mode is Enabled or unset`,
    ],
    [
      (mode === 'Disabled' || mode === 'DHCP') && subnets.length > 0,
      'subnets',
      `subnets must be unset when ipam.mode is ${mode}`,
    ],
    [subnets.length === 0 && excludes.length > 0, 'subnets', 'excludeSubnets can be set only when subnets is set'],
  ]
  const broken = checks.find(([isBroken]) => isBroken)
  return broken && { rule: broken[1], problem: named(broken[2]) }
}

const MAX_NAME = 253

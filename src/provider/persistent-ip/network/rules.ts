import * as Prefix from '../../../cidr/nouns/prefix.js'
import {
  DEFAULT_NETWORK,
  DHCP,
  definitionOf,
  isTopology,
  type NetworkDefinition,
  type NetworkFields,
  type NetworkProblem,
  type NetworkRule,
  type NetworkSubnet,
  OVN_PLUGIN,
} from './definition.js'

/** The name that OVN-Kubernetes keeps for later. */
const RESERVED_NAME = 'ovn-kubernetes'

/**
 * A network by the rules of its plugin: the first rule that it breaks, in the order of
 * OVN-Kubernetes. Networks of other plugins have names and subnets alone to check.
 */
export function networkBy(fields: NetworkFields): NetworkDefinition | NetworkProblem {
  const problem = fields.plugin === OVN_PLUGIN ? ovnProblem(fields) : undefined
  if (problem !== undefined) return problem
  const subnets = subnetsOf(fields)
  return 'rule' in subnets ? subnets : definitionOf(fields, subnets)
}

type Check = readonly [isBroken: boolean, rule: NetworkRule, problem: string]

function ovnProblem(fields: NetworkFields): NetworkProblem | undefined {
  const broken = [...nameChecks(fields), ...topologyChecks(fields), ...fieldChecks(fields)].find(([is]) => is)
  return broken && { rule: broken[1], problem: broken[2] }
}

function* nameChecks({ nad, nadName, name, topology }: NetworkFields): Iterable<Check> {
  const isDefault = topology === ''
  yield [!isDefault && nadName === '', 'nadName', `missing NADName in secondary network netconf ${name}`]
  const isReserved = name === '' || name === DEFAULT_NETWORK || name === RESERVED_NAME
  yield [!isDefault && isReserved, 'name', `invalid name in in secondary network netconf (${name})`]
  yield [
    !isDefault && nadName !== nad,
    'nadName',
    `net-attach-def name (${nad}) is inconsistent with config (${nadName})`,
  ]
}

function* topologyChecks(fields: NetworkFields): Iterable<Check> {
  const { role, topology, ipam, subnets, allowPersistentIPs, joinSubnet } = fields
  const isLocalnet = topology === 'localnet'
  yield [allowPersistentIPs && topology === 'layer3', 'persistentIPs', 'layer3 topology does not allow persistent IPs']
  const alwaysSecondary =
    'localnet topology does not allow network roles to be set since its always a secondary network'
  yield [
    isLocalnet && role !== '' && role !== 'secondary',
    'role',
    `unexpected network field "role" ${role} for "localnet" topology, ${alwaysSecondary}`,
  ]
  yield [role !== '' && role !== 'primary' && role !== 'secondary', 'role', `invalid network role value ${role}`]
  const isLease = ipam === DHCP && isLocalnet && subnets.trim() === ''
  yield [
    ipam !== '' && !isLease,
    'ipam',
    'IPAM key is not supported. Use OVN-K provided IPAM via the `subnets` attribute',
  ]
  yield [
    isLocalnet && joinSubnet !== '',
    'field',
    'localnet topology does not allow specifying join-subnet as services are not supported',
  ]
}

function* fieldChecks(fields: NetworkFields): Iterable<Check> {
  const { role, topology, subnets, isExternal = false } = fields
  const isLayer2 = topology === 'layer2'
  yield [
    isLayer2 && role === 'primary' && subnets === '' && !isExternal,
    'subnets',
    'the subnet attribute must be defined for layer2 primary user defined networks',
  ]
  for (const field of ['infrastructureSubnets', 'reservedSubnets', 'defaultGatewayIPs'] as const) {
    yield [!isLayer2 && fields[field] !== '', 'field', `${field} is only supported for layer2 topology`]
  }
  yield [
    topology !== '' && !isTopology(topology),
    'topology',
    `invalid subnet configuration: error while parsing subnets: topology ${topology} not supported`,
  ]
}

type Subnets = Pick<NetworkDefinition, 'subnets' | 'excludes' | 'reserved' | 'infrastructure'>

function subnetsOf(fields: NetworkFields): Subnets | NetworkProblem {
  if (fields.plugin !== OVN_PLUGIN) return plainSubnets(fields.subnets)
  const lists = {
    subnets: readSubnets(fields.subnets, fields.topology === 'layer3'),
    excludes: readSubnets(fields.excludeSubnets),
    reserved: readSubnets(fields.reservedSubnets),
    infrastructure: readSubnets(fields.infrastructureSubnets),
  }
  const { subnets, excludes, reserved, infrastructure } = lists
  for (const list of Object.values(lists)) if ('rule' in list) return ofSubnets(list)
  const prefixes = prefixesOf(subnets)
  const found: Subnets = {
    subnets: subnets as readonly NetworkSubnet[],
    excludes: prefixesOf(excludes),
    reserved: prefixesOf(reserved),
    infrastructure: prefixesOf(infrastructure),
  }
  for (const what of ['excludes', 'reserved', 'infrastructure'] as const) {
    const outside = found[what].find((inner) => !prefixes.some((outer) => Prefix.contains(outer, inner)))
    if (outside === undefined) continue
    const name = what === 'excludes' ? 'excluded' : what
    const problem = `the provided network subnets do not contain ${name} subnets ${Prefix.format(outside)}`
    return ofSubnets({ rule: 'containment', problem })
  }
  const [one, other] = overlapIn(prefixes)
  if (one === undefined || other === undefined) return found
  const problem = `user defined subnet "${Prefix.format(other)}" overlaps user defined subnet "${Prefix.format(one)}"`
  return { rule: 'overlap', problem: `invalid subnet configuration: ${problem}` }
}

function ofSubnets({ rule, problem }: NetworkProblem): NetworkProblem {
  return { rule, problem: `invalid subnet configuration: error while parsing subnets: ${problem}` }
}

function prefixesOf(subnets: readonly NetworkSubnet[] | NetworkProblem): readonly Prefix.Prefix[] {
  return 'rule' in subnets ? [] : subnets.map(({ prefix }) => prefix)
}

/** The first two subnets that overlap. O(n log n). */
function overlapIn(prefixes: readonly Prefix.Prefix[]): readonly Prefix.Prefix[] {
  const sorted = [...prefixes.keys()].sort((left, right) => Prefix.compare(prefixes[left]!, prefixes[right]!))
  let first = prefixes.length
  let outer = sorted[0] ?? 0
  for (const index of sorted.slice(1)) {
    if (Prefix.overlaps(prefixes[outer]!, prefixes[index]!)) first = Math.min(first, outer, index)
    else outer = index
  }
  const prefix = prefixes[first]
  const other = prefix && prefixes.slice(first + 1).find((later) => Prefix.overlaps(prefix, later))
  return prefix === undefined || other === undefined ? [] : [prefix, other]
}

/** The length of the part of a Node, where the text of a divided subnet has none. */
const NODE_LENGTH = { 4: 24, 6: 64 } as const

/** Subnets as ipam-extensions of KubeVirt reads them: it passes empty entries over. */
function plainSubnets(text: string): Subnets | NetworkProblem {
  const entries = entriesOf(text).filter((entry) => entry !== '')
  const subnets: NetworkSubnet[] = []
  for (const entry of entries) {
    const subnet = readSubnet(entry, false)
    if ('rule' in subnet) return { rule: 'subnets', problem: `invalid subnet format: ${entry}` }
    subnets.push(subnet)
  }
  return { subnets, excludes: [], reserved: [], infrastructure: [] }
}

function entriesOf(text: string): readonly string[] {
  return text.split(',').map((entry) => entry.trim())
}

/**
 * The subnets of a comma separated list. Those of layer3 are divided among Nodes, and can have the
 * length of a part behind a second slash.
 */
function readSubnets(text: string, isDivided = false): readonly NetworkSubnet[] | NetworkProblem {
  if (text.trim() === '') return []
  const found: NetworkSubnet[] = []
  for (const entry of entriesOf(text)) {
    const subnet = readSubnet(entry, isDivided)
    if ('rule' in subnet) return subnet
    found.push(subnet)
  }
  return found
}

const SUBNET = /^([^/]+\/\d+)(?:\/(\d+))?$/u

function readSubnet(text: string, isDivided: boolean): NetworkSubnet | NetworkProblem {
  const [, cidr, length] = SUBNET.exec(text) ?? []
  if (cidr === undefined || (length !== undefined && !isDivided)) {
    return { rule: 'subnets', problem: `CIDR ${JSON.stringify(text)} not properly formatted` }
  }
  const read = Prefix.safeParse(cidr)
  if (!read.ok) return { rule: 'subnets', problem: read.failure.message }
  const prefix = Prefix.masked(read.value)
  if (!isDivided) return { prefix }
  const { family } = prefix.address
  const nodeLength = length === undefined ? NODE_LENGTH[family] : Number(length)
  const problem = nodeProblem(prefix, nodeLength)
  return problem === undefined ? { prefix, nodeLength } : { rule: 'subnets', problem }
}

function nodeProblem({ address, length }: Prefix.Prefix, nodeLength: number): string | undefined {
  if (address.family === 6 && nodeLength !== NODE_LENGTH[6]) return 'IPv6 only supports /64 host subnets'
  if (nodeLength > 32 && address.family === 4) return 'invalid host subnet, IPv4 subnet must be < 32'
  if (nodeLength > length) return undefined
  return `cannot use a host subnet length mask shorter than or equal to the cluster subnet mask. host subnet length: ${nodeLength}, cluster subnet length: ${length}`
}

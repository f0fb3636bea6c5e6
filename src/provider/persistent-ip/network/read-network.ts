import { asMap, type CniJson, memberOf, readJson, wordFor } from '../../../cni/json.js'
import type { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { INVALID_NETWORK } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import { ok, type Result } from '../../../errors/index.js'
import { type NetworkDefinition, type NetworkFields, type NetworkProblem, OVN_PLUGIN } from './definition.js'
import { networkBy } from './rules.js'

export interface ReadNetworkOptions {
  /**
   * The networks to read. `any`, the default: of any plugin; those of another plugin than
   * OVN-Kubernetes have a name, a role and subnets alone. `ovn`: of OVN-Kubernetes.
   */
  readonly plugins?: 'any' | 'ovn' | undefined
}

const OPTIONS: KindOf<ReadNetworkOptions> = { plugins: ['one?', { any: 1, ovn: 1 }] }

/** A network, or the rule that its configuration breaks. */
export type NetworkResult = Result<NetworkDefinition, 'INVALID_NETWORK'>

/**
 * Reads the network of a NetworkAttachmentDefinition. Sides that make claims and sides that serve
 * them read it with this one function. Of a chain of plugins, the first one decides. O(length).
 *
 * @returns the failure `INVALID_NETWORK` with the rule that the configuration breaks, and the
 * sentence of OVN-Kubernetes
 * @example
 * const config = '{"name":"lab","type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"a/blue","subnets":"10.0.0.0/24","allowPersistentIPs":true}'
 * const nad = { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', metadata: { name: 'blue', namespace: 'a' }, spec: { config } }
 * const read = readNetwork(nad)
 * read.ok && [read.value.name, read.value.addressing, read.value.claims] // ['lab', 'subnets', 'honoured']
 */
export function readNetwork(
  nad: Pick<NetworkAttachmentDefinition, 'metadata' | 'spec'>,
  options: ReadNetworkOptions = {},
): NetworkResult {
  check('readNetwork', 'nad', nad, [
    'open',
    { metadata: ['open', { name: 'text', namespace: 'text?' }], spec: ['open', { config: 'text?' }] },
  ])
  check('readNetwork', 'options', options, OPTIONS)
  const { name, namespace = '' } = nad.metadata
  const network = `${namespace}/${name}`
  const fields = fieldsOf(network, nad.spec.config ?? '', options.plugins === 'ovn')
  return resultOf(network, 'rule' in fields ? fields : networkBy(fields))
}

export function resultOf(network: string, read: NetworkDefinition | NetworkProblem): NetworkResult {
  return 'rule' in read ? failWith(INVALID_NETWORK, { network, ...read }) : ok(read)
}

function fieldsOf(nad: string, text: string, isOvnAlone: boolean): NetworkFields | NetworkProblem {
  const config = pluginConfig(text)
  return 'rule' in config ? config : membersOf(nad, config.members, isOvnAlone)
}

/** The members of a configuration; of a chain of plugins those of the first one. */
export function pluginConfig(text: string): { readonly members: CniJson } | NetworkProblem {
  const { value, problem, oddity } = readJson(text)
  const wrong = problem ?? oddity
  if (wrong !== undefined) return { rule: 'json', problem: wrong.problem }
  const top = asMap(value)
  if (top === undefined) return { rule: 'json', problem: `expected an object, got ${wordFor(value)}` }
  const chain = memberOf(top, 'plugins')
  if (chain === undefined) return { members: top }
  const first = Array.isArray(chain) ? asMap(chain[0]) : undefined
  if (!Array.isArray(chain) || first === undefined) {
    return { rule: 'chain', problem: `plugins: expected a list of objects, got ${wordFor(chain)}` }
  }
  const { plugins: _, ...beside } = top
  if (first.type === OVN_PLUGIN) {
    if (chain.length > 1) return { rule: 'chain', problem: 'CNI plugin chaining is not supported' }
    if (beside.type === OVN_PLUGIN) {
      return { rule: 'chain', problem: 'CNI config cannot have both a plugin list and a single config' }
    }
  }
  return { members: { ...beside, ...first, name: beside.name } }
}

const TEXTS = {
  name: 'name',
  plugin: 'type',
  nadName: 'netAttachDefName',
  topology: 'topology',
  role: 'role',
  subnets: 'subnets',
  excludeSubnets: 'excludeSubnets',
  reservedSubnets: 'reservedSubnets',
  infrastructureSubnets: 'infrastructureSubnets',
  joinSubnet: 'joinSubnet',
  defaultGatewayIPs: 'defaultGatewayIPs',
  physicalNetworkName: 'physicalNetworkName',
} as const
/** The members that networks of other plugins have too. */
const COMMON: ReadonlySet<string> = new Set(['name', 'plugin', 'role', 'subnets'])

function membersOf(nad: string, config: CniJson, isOvnAlone: boolean): NetworkFields | NetworkProblem {
  const isOvn = config.type === OVN_PLUGIN
  const wrong: NetworkProblem[] = []
  const read = <T>(member: string, is: (value: unknown) => value is T, word: string, without: T): T => {
    const value = memberOf(config, member)
    if (value === undefined || is(value)) return value ?? without
    wrong.push({ rule: 'type', problem: `${member}: expected ${word}, got ${wordFor(value)}` })
    return without
  }
  const texts = Object.fromEntries(
    Object.entries(TEXTS).map(([field, member]) => [
      field,
      isOvn || COMMON.has(field) ? read(member, isText, 'a text', '') : '',
    ]),
  ) as { readonly [F in keyof typeof TEXTS]: string }
  const ipam = isOvn ? read('ipam', isMap, 'an object', {}) : {}
  const allowPersistentIPs = read('allowPersistentIPs', isFlag, 'true or false', false)
  const mtu = isOvn ? read('mtu', isCount, 'a whole number', 0) : 0
  const vlanID = isOvn ? read('vlanID', isCount, 'a whole number', 0) : 0
  if (isOvnAlone && !isOvn) return { rule: 'plugin', problem: 'net-attach-def not managed by OVN' }
  const type = memberOf(ipam, 'type')
  return wrong[0] ?? { nad, ...texts, ipam: isText(type) ? type : '', allowPersistentIPs, mtu, vlanID }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function isMap(value: unknown): value is CniJson {
  return asMap(value) !== undefined
}

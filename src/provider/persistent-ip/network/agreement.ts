import * as Prefix from '../../../cidr/nouns/prefix.js'
import { check } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import type { NetworkDefinition } from './definition.js'

/** One definition of a network, and since when it exists. */
export interface DatedDefinition {
  readonly definition: NetworkDefinition
  /** `metadata.creationTimestamp` of its definition. Left out: the latest of all. */
  readonly createdAt?: string | undefined
}

/** A network, as all of its definitions have it. */
export interface Network {
  /** The definition that decides. */
  readonly definition: NetworkDefinition
  /** All definitions of the network: `namespace/name`, in order. */
  readonly nads: ReadonlySet<string>
  /** The definitions that disagree with the one that decides. Pods that name them are refused. */
  readonly disagreeing: readonly Disagreement[]
}

/** A definition that differs from the one that decides about its network. */
export interface Disagreement {
  readonly nad: string
  /** The members that differ, such as `subnets`. */
  readonly members: readonly (keyof NetworkDefinition)[]
}

/**
 * A network from its definitions, which all have its name. The oldest definition decides; of those
 * of one time, the first by `namespace/name`. So a definition that is added later never changes a
 * network that gives addresses. O(n log n).
 *
 * @throws IpamError `INVALID_ARGUMENT` for no definition, and for definitions of two networks
 * @example
 * import { unwrap } from 'ipam-kit/errors'
 * const blue = (namespace, subnets) => {
 *   const config = { name: 'lab', type: 'ovn-k8s-cni-overlay', topology: 'layer2', subnets, netAttachDefName: `${namespace}/blue` }
 *   return unwrap(readNetwork({ metadata: { name: 'blue', namespace }, spec: { config: JSON.stringify(config) } }))
 * }
 * const network = networkOfDefinitions([
 *   { definition: blue('b', '10.0.1.0/24'), createdAt: '2026-02-01T00:00:00Z' },
 *   { definition: blue('a', '10.0.0.0/24'), createdAt: '2026-01-01T00:00:00Z' },
 * ])
 * network.definition.nad // 'a/blue'
 * network.disagreeing // [{ nad: 'b/blue', members: ['subnets'] }]
 */
export function networkOfDefinitions(definitions: readonly DatedDefinition[]): Network {
  check('networkOfDefinitions', 'definitions', definitions, [
    'list',
    ['open', { definition: 'object', createdAt: 'text?' }],
  ])
  const [first, ...others] = [...definitions].sort(byAge).map(({ definition }) => definition)
  if (first === undefined) return refuse('networkOfDefinitions', 'definitions', 'at least one definition', definitions)
  const stranger = others.find(({ name }) => name !== first.name)
  if (stranger !== undefined) {
    refuse('networkOfDefinitions', 'definitions', `definitions of the network ${first.name}`, stranger.name)
  }
  const disagreeing = others.flatMap((other) => {
    const members = differences(first, other)
    return members.length === 0 ? [] : [{ nad: other.nad, members }]
  })
  return { definition: first, nads: new Set([first, ...others].map(({ nad }) => nad)), disagreeing }
}

function byAge(left: DatedDefinition, right: DatedDefinition): number {
  const ages = compare(left.createdAt ?? LATEST, right.createdAt ?? LATEST)
  return ages || compare(left.definition.nad, right.definition.nad)
}

/** Behind every time in the form of Kubernetes. */
const LATEST = '~'

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right)
}

/** The members that all definitions of a network have in common. */
const SHARED = [
  'plugin',
  'topology',
  'role',
  'addressing',
  'allowPersistentIPs',
  'subnets',
  'excludes',
  'reserved',
  'infrastructure',
  'mtu',
  'vlan',
  'physicalNetwork',
] as const

function differences(one: NetworkDefinition, other: NetworkDefinition): readonly (keyof NetworkDefinition)[] {
  return SHARED.filter((member) => textOf(one, member) !== textOf(other, member))
}

/** A member in a form that two definitions share; the order of subnets does not count. */
function textOf(definition: NetworkDefinition, member: (typeof SHARED)[number]): string {
  const value = definition[member]
  if (!Array.isArray(value)) return String(value)
  const texts = value.map((each: Prefix.Prefix | NetworkDefinition['subnets'][number]) =>
    'prefix' in each ? `${Prefix.format(each.prefix)}/${each.nodeLength}` : Prefix.format(each),
  )
  return texts.sort().join()
}

import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check } from '../../errors/check.js'
import { listed } from '../../errors/listed.js'
import { refuse } from '../../errors/refuse.js'
import { added, type Loss, type Rendered, setting } from './loss.js'
import { assertView, type FamilyView, type NetworkView } from './view.js'

type Prefix = Prefix.Prefix

/** Fields of a KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1). */
export interface KubeProxyContent {
  readonly apiVersion: 'kubeproxy.config.k8s.io/v1alpha1'
  readonly kind: 'KubeProxyConfiguration'
  readonly clusterCIDR: string
  readonly detectLocalMode: 'ClusterCIDR' | 'NodeCIDR'
}

/**
 * The flag `--cluster-cidr` of kube-proxy, which takes one prefix of each family (kubernetes#81675,
 * #78020). If that is not exact, kube-proxy has to detect local traffic by the subnet of its Node:
 * KEP-2593 requires `NodeCIDR` then.
 *
 * O(prefixes of `known`), as for every renderer.
 */
export function renderKubeProxy(view: NetworkView): Rendered<KubeProxyContent> {
  assertView('renderKubeProxy', view)

  const { prefixes, lost } = onePerFamily(view)
  const isExact = lost.length === 0
  const content: KubeProxyContent = {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clusterCIDR: prefixes.map(Prefix.format).join(','),
    detectLocalMode: isExact ? 'ClusterCIDR' : 'NodeCIDR',
  }
  if (prefixes.length === 0)
    return { content, lost: [setting('without a clusterCIDR, kube-proxy takes no traffic for local')] }
  if (isExact) return { content, lost }
  const message =
    'detectLocalMode NodeCIDR is needed: with ClusterCIDR, traffic of the added addresses is taken for local'
  return { content, lost: [...lost, setting(message)] }
}

/** `net-conf.json` of flannel, without its backend. */
export interface FlannelContent {
  readonly EnableIPv4: boolean
  readonly EnableIPv6: boolean
  readonly Network?: string
  readonly IPv6Network?: string
  readonly Backend: FlannelBackend
}

export interface FlannelBackend {
  readonly Type: string
  readonly [option: string]: string | number | boolean
}

/**
 * `net-conf.json` of flannel, which has one network of each family. A Node gets no lease if its
 * podCIDR is outside, so the network covers all known addresses. flannel does not start on a Node
 * that lacks a subnet of an enabled family.
 *
 * O(prefixes of `known` + subnets of Nodes).
 *
 * @param options `backend`: default vxlan
 */
export function renderFlannel(
  view: NetworkView,
  options: { readonly backend?: FlannelBackend | undefined } = {},
): Rendered<FlannelContent> {
  assertView('renderFlannel', view)
  check('renderFlannel', 'options', options, 'object')

  const { backend = { Type: 'vxlan' } } = options
  const { prefixes, lost } = onePerFamily(view)
  const [v4, v6] = ([4, 6] as const).map((family) => prefixes.find(({ address }) => address.family === family))
  const content: FlannelContent = {
    EnableIPv4: v4 !== undefined,
    EnableIPv6: v6 !== undefined,
    ...(v4 === undefined ? {} : { Network: Prefix.format(v4) }),
    ...(v6 === undefined ? {} : { IPv6Network: Prefix.format(v6) }),
    Backend: backend,
  }
  if (prefixes.length === 0) {
    return { content, lost: [setting('flannel does not start without a network, and no range of Pods is known')] }
  }
  if (v6 !== undefined && !IPV6_BACKENDS.includes(backend.Type)) {
    lost.push(setting(`flannel has no IPv6 with the backend ${backend.Type}: use ${IPV6_BACKENDS.join(', ')}`))
  }
  for (const [family, other] of [
    [view.ipv4, view.ipv6],
    [view.ipv6, view.ipv4],
  ] as const) {
    const without = nodesWithout(family, other)
    if (RangeSet.isEmpty(family.known) || without.length === 0) continue
    const nodes = `Nodes without a subnet of IPv${family.family}: ${listed(without, ', ')}`
    lost.push(setting(`EnableIPv${family.family} keeps flannel from starting on ${nodes}`))
  }
  return { content, lost }
}

/** The Nodes that have a subnet of another family alone. O(subnets). */
function nodesWithout(family: FamilyView, other: FamilyView): readonly string[] {
  if (other.nodes === 0) return []
  const having = new Set(family.inUse.map(({ node }) => node))
  return [...new Set(other.inUse.map(({ node }) => node))].filter((node) => !having.has(node))
}

/** The backends of flannel that have IPv6. */
const IPV6_BACKENDS: readonly string[] = ['vxlan', 'host-gw', 'wireguard']

/** The file `config` of ip-masq-agent. */
export interface IpMasqAgentContent {
  readonly nonMasqueradeCIDRs: readonly string[]
  /** Only if it is not the default of 64. */
  readonly cidrLimit?: number
}

/** The maximum number of entries of ip-masq-agent by default. */
const MASQ_CIDR_LIMIT = 64

/**
 * The file `config` of ip-masq-agent: traffic to these ranges is not masqueraded. Its default of
 * the three blocks of RFC 1918 is replaced.
 *
 * @param options `cidrLimit`: the most entries, at least 2. Default 64
 * @throws IpamError `INVALID_ARGUMENT` for another limit
 */
export function renderIpMasqAgent(
  view: NetworkView,
  options: { readonly cidrLimit?: number | undefined } = {},
): Rendered<IpMasqAgentContent> {
  assertView('renderIpMasqAgent', view)
  check('renderIpMasqAgent', 'options', options, 'object')

  const { cidrLimit = MASQ_CIDR_LIMIT } = options
  if (!Number.isInteger(cidrLimit) || cidrLimit < 2)
    refuse('renderIpMasqAgent', 'options.cidrLimit', 'a whole number from 2', cidrLimit)
  const { prefixes } = view.summary(cidrLimit)
  const content: IpMasqAgentContent = {
    nonMasqueradeCIDRs: prefixes.map(Prefix.format),
    ...(cidrLimit === MASQ_CIDR_LIMIT ? {} : { cidrLimit }),
  }
  if (prefixes.length === 0) {
    const message = 'with an empty list ip-masq-agent masquerades traffic between Pods too: leave the file out'
    return { content, lost: [setting(message)] }
  }
  const lost = added(view.known, prefixes)
  const hasIPv6 = prefixes.some(({ address }) => address.family === 6)
  return {
    content,
    lost: hasIPv6 ? [...lost, setting('entries of IPv6 need the flag --enable-ipv6 of ip-masq-agent')] : lost,
  }
}

/**
 * The environment variable `POD_SUBNET` of kindnet: all prefixes, with commas. It is read when
 * kindnet starts.
 */
export function renderKindnet(view: NetworkView): Rendered<{ readonly POD_SUBNET: string }> {
  assertView('renderKindnet', view)

  const POD_SUBNET = RangeSet.prefixes(view.known).map(Prefix.format).join(',')
  if (POD_SUBNET !== '') return { content: { POD_SUBNET }, lost: [] }
  return {
    content: { POD_SUBNET },
    lost: [setting('kindnet does not start without POD_SUBNET, and no range of Pods is known')],
  }
}

/** A peer of a rule of a NetworkPolicy (networking.k8s.io/v1). */
export interface IpBlockPeer {
  readonly ipBlock: { readonly cidr: string }
}

/**
 * The peers of a NetworkPolicy rule (`to`, `from`) that select the addresses of Pods. For Pods of
 * this cluster prefer a policy that selects them by labels: network plugins may not apply an
 * `ipBlock` to Pods.
 */
export function renderNetworkPolicy(view: NetworkView): Rendered<readonly IpBlockPeer[]> {
  assertView('renderNetworkPolicy', view)

  const content = RangeSet.prefixes(view.known).map((prefix) => ({ ipBlock: { cidr: Prefix.format(prefix) } }))
  if (content.length > 0) return { content, lost: [] }
  return { content, lost: [setting('a rule without peers selects all addresses: leave the rule out')] }
}

function onePerFamily({ ipv4, ipv6 }: NetworkView): { readonly prefixes: readonly Prefix[]; readonly lost: Loss[] } {
  const families = [ipv4, ipv6].map((family) => ({ known: family.known, cover: family.summary(1).prefixes }))
  return {
    prefixes: families.flatMap(({ cover }) => cover),
    lost: families.flatMap(({ known, cover }) => added(known, cover)),
  }
}

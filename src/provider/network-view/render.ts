import type { Family } from '../../cidr/index.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { assertObject, assertParts } from '../../errors/checks.js'
import { refuse } from '../../errors/refuse.js'
import { assertView, type NetworkView } from './view.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** A part of a view that the configuration of a consumer cannot express. */
export interface Loss {
  /**
   * - `added`: addresses of other networks that the consumer treats as addresses of Pods
   * - `missing`: addresses of Pods that the consumer does not know
   * - `setting`: a setting that is required in addition to the content
   */
  readonly kind: 'added' | 'missing' | 'setting'
  /** The addresses that are added or missing; none for a setting. */
  readonly addresses: RangeSet
  /** One sentence, without a final full stop. */
  readonly message: string
}

/** The configuration of a consumer, and what it cannot express. */
export interface Rendered<C> {
  /** Plain data, as it is written to JSON or YAML. */
  readonly content: C
  /** Empty: the content is exact. */
  readonly lost: readonly Loss[]
}

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
 * podCIDR is outside, so the network covers all known addresses.
 *
 * @param options `backend`: default vxlan
 */
export function renderFlannel(
  view: NetworkView,
  options: { readonly backend?: FlannelBackend | undefined } = {},
): Rendered<FlannelContent> {
  assertView('renderFlannel', view)
  assertObject('renderFlannel', 'options', options)

  const { prefixes, lost } = onePerFamily(view)
  const [v4, v6] = ([4, 6] as const).map((family) => prefixes.find(({ address }) => address.family === family))
  const content: FlannelContent = {
    EnableIPv4: v4 !== undefined,
    EnableIPv6: v6 !== undefined,
    ...(v4 === undefined ? {} : { Network: Prefix.format(v4) }),
    ...(v6 === undefined ? {} : { IPv6Network: Prefix.format(v6) }),
    Backend: options.backend ?? { Type: 'vxlan' },
  }
  if (prefixes.length > 0) return { content, lost }
  return { content, lost: [setting('flannel does not start without a network, and no range of Pods is known')] }
}

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
  assertObject('renderIpMasqAgent', 'options', options)

  const { cidrLimit = MASQ_CIDR_LIMIT } = options
  if (!Number.isInteger(cidrLimit) || cidrLimit < 2) refuse('cidrLimit', 'a whole number from 2', cidrLimit)
  const { prefixes } = view.summary(cidrLimit)
  const content: IpMasqAgentContent = {
    nonMasqueradeCIDRs: prefixes.map(Prefix.format),
    ...(cidrLimit === MASQ_CIDR_LIMIT ? {} : { cidrLimit }),
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

/** An IPPool of Calico (projectcalico.org/v3). */
export interface CalicoIPPool {
  readonly apiVersion: 'projectcalico.org/v3'
  readonly kind: 'IPPool'
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly cidr: string
    readonly blockSize: number
    /** Calico gives no address of it. */
    readonly disabled: true
    readonly natOutgoing: boolean
  }
}

/** The lengths of the blocks of a Calico pool: the default, and the longest one. */
const CALICO_BLOCKS = { 4: { standard: 26, longest: 32 }, 6: { standard: 122, longest: 128 } } as const

/**
 * IPPools by which Calico knows all ranges, and gives no address of them: the subnets are those of
 * Nodes. A destination in any IPPool is not masqueraded.
 *
 * @param options `natOutgoing`: whether Calico masquerades traffic from Pods to other destinations.
 * Default true
 */
export function renderCalico(
  view: NetworkView,
  options: { readonly natOutgoing?: boolean | undefined } = {},
): Rendered<readonly CalicoIPPool[]> {
  assertView('renderCalico', view)
  assertObject('renderCalico', 'options', options)

  const content = RangeSet.prefixes(view.known).map((prefix): CalicoIPPool => {
    const { standard, longest } = CALICO_BLOCKS[prefix.address.family]
    // a pool is not smaller than its block
    const blockSize = Math.min(Math.max(standard, prefix.length), longest)
    const name = `pods-${Prefix.format(prefix).replace(/[.:/]/g, '-')}`
    const spec = {
      cidr: Prefix.format(prefix),
      blockSize,
      disabled: true,
      natOutgoing: options.natOutgoing ?? true,
    } as const
    return { apiVersion: 'projectcalico.org/v3', kind: 'IPPool', metadata: { name }, spec }
  })
  return { content, lost: [] }
}

/** A CiliumPodIPPool (cilium.io/v2alpha1). */
export interface CiliumPodIPPool {
  readonly apiVersion: 'cilium.io/v2alpha1'
  readonly kind: 'CiliumPodIPPool'
  readonly metadata: { readonly name: string }
  readonly spec: { readonly ipv4?: CiliumPoolFamily; readonly ipv6?: CiliumPoolFamily }
}

export interface CiliumPoolFamily {
  readonly cidrs: readonly string[]
  readonly maskSize: number
}

export interface CiliumOptions {
  /** Default `default`: the pool of Pods that name no pool. */
  readonly name?: string | undefined
  /** The length of the prefixes that Nodes get. Cilium does not let it change. */
  readonly maskSizes: { readonly ipv4?: number | undefined; readonly ipv6?: number | undefined }
}

/**
 * The pool of Cilium's multi-pool mode. Cilium gives Nodes prefixes of one length, so the pool
 * cannot contain a smaller range, or a family without a length. Cilium refuses the removal of a
 * range that is in use, so those are included too.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a length that the family does not have
 */
export function renderCilium(view: NetworkView, options: CiliumOptions): Rendered<CiliumPodIPPool> {
  assertView('renderCilium', view)
  assertParts('renderCilium', 'options', options, { maskSizes: 'object' })

  const spec: { ipv4?: CiliumPoolFamily; ipv6?: CiliumPoolFamily } = {}
  const lost: Loss[] = []
  for (const [family, { known }] of [
    [4, view.ipv4],
    [6, view.ipv6],
  ] as const) {
    const all = RangeSet.prefixes(known)
    const maskSize = maskSizeOf(options, family)
    const fitting = all.filter(({ length }) => maskSize !== undefined && length <= maskSize)
    if (maskSize !== undefined && fitting.length > 0) {
      spec[`ipv${family}`] = { cidrs: fitting.map(Prefix.format), maskSize }
    }
    const left = all.filter((prefix) => !fitting.includes(prefix))
    if (left.length === 0) continue
    const why = maskSize === undefined ? `there is no mask size of IPv${family}` : `smaller than a /${maskSize}`
    lost.push(missing(left, why))
  }
  if (spec.ipv4 === undefined && spec.ipv6 === undefined) lost.push(setting('Cilium refuses a pool without ranges'))
  const metadata = { name: options.name ?? 'default' }
  return { content: { apiVersion: 'cilium.io/v2alpha1', kind: 'CiliumPodIPPool', metadata, spec }, lost }
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

function maskSizeOf({ maskSizes }: CiliumOptions, family: Family): number | undefined {
  const maskSize = maskSizes[`ipv${family}`]
  const longest = family === 4 ? 32 : 128
  if (maskSize !== undefined && !(Number.isInteger(maskSize) && maskSize >= 1 && maskSize <= longest)) {
    refuse(`maskSizes.ipv${family}`, `a whole number from 1 to ${longest}`, maskSize)
  }
  return maskSize
}

function added(known: RangeSet, prefixes: readonly Prefix[]): Loss[] {
  const addresses = RangeSet.subtract(RangeSet.fromPrefixes(prefixes), known)
  if (RangeSet.isEmpty(addresses)) return []
  const message = `${RangeSet.size(addresses)} addresses of other networks count as addresses of Pods: ${prefixList(addresses)}`
  return [{ kind: 'added', addresses, message }]
}

function missing(prefixes: readonly Prefix[], why: string): Loss {
  const addresses = RangeSet.fromPrefixes(prefixes)
  const message = `${RangeSet.size(addresses)} addresses of Pods are not known to the consumer, ${why}: ${prefixList(addresses)}`
  return { kind: 'missing', addresses, message }
}

function setting(message: string): Loss {
  return { kind: 'setting', addresses: RangeSet.empty, message }
}

/** How many prefixes a message names. */
const MAX_SHOWN = 5

function prefixList(addresses: RangeSet): string {
  const prefixes = RangeSet.prefixes(addresses)
  const more = prefixes.length - MAX_SHOWN
  const names = prefixes.slice(0, MAX_SHOWN).map(Prefix.format).join(', ')
  return more > 0 ? `${names} and ${more} more prefixes` : names
}

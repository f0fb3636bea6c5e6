import * as Range from '../../cidr/nouns/range.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { isName } from '../../crd/ipam-kit/block-name.js'
import { coveringSubnets } from '../../crd/ipam-kit/covering-subnets.js'
import { gridOf } from '../../crd/ipam-kit/grid.js'
import type { IPPool, IPPoolSubnet } from '../../crd/ipam-kit/ip-pool.js'
import { API_VERSION } from '../../crd/ipam-kit/names.js'
import { check } from '../../errors/check.js'
import type { NetworkDefinition } from '../persistent-ip/index.js'
import { networkSpace, ofFamily } from '../persistent-ip/serving/space.js'

/** The first part of the name of each domain. */
const FIRST = 'persistent-ips'

/**
 * A network as blocks know it: an IPPool with its addresses, in a domain of its own. Such an IPPool
 * is never stored. Blocks have 256 addresses. Reserved subnets are given only on request.
 *
 * A network whose name would make the name of the domain longer than 200 characters gives nothing:
 * its `spec.subnets` is empty. O(subnets x log subnets).
 *
 * @example
 * import { unwrap } from 'ipam-kit/errors'
 * import { readNetwork } from 'ipam-kit/provider/persistent-ip'
 * const config = JSON.stringify({
 *   name: 'shop_blue', type: 'ovn-k8s-cni-overlay', topology: 'localnet', netAttachDefName: 'shop/blue',
 *   subnets: '10.0.0.0/29', allowPersistentIPs: true,
 * })
 * const network = unwrap(readNetwork({ metadata: { name: 'blue', namespace: 'shop' }, spec: { config } }))
 * const { metadata, spec } = networkPoolOf(network)
 * metadata.name // 'persistent-ips.udn.shop.blue'
 * spec.subnets // [{ cidr: '10.0.0.0/29', ranges: ['10.0.0.1-10.0.0.6'] }]
 */
export function networkPoolOf(network: NetworkDefinition): IPPool {
  check<unknown>('networkPoolOf', 'network', network, ['open', { name: 'text', subnets: 'list' }])
  const name = domainOfNetwork(network.name)
  const { addresses, automatic } = networkSpace(network)
  const isNamed = isName(name)
  const subnets = ([4, 6] as const).map((family) =>
    isNamed ? subnetsOf(ofFamily(addresses, family), RangeSet.subtract(addresses, automatic)) : [],
  )
  const grids = ([4, 6] as const).map((family, index) => (subnets[index]?.length === 0 ? undefined : gridOf(family)))
  const families = { ...(grids[0] && { ipv4: grids[0] }), ...(grids[1] && { ipv6: grids[1] }) }
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name, uid: name },
    spec: {
      domain: name,
      subnets: subnets.flat(),
      ...families,
      // the ranges do not contain the edges that are not given
      skipEdges: 'never',
      order: 'lowest',
      reuseAfterSeconds: 0,
      priority: 0,
      disabled: false,
    },
    status: { domainUID: name, ...families },
  }
}

/** @param reserved what is given only on request */
function subnetsOf(addresses: RangeSet.RangeSet, reserved: RangeSet.RangeSet): readonly IPPoolSubnet[] {
  return coveringSubnets([...RangeSet.ranges(addresses)]).map((subnet) => {
    const kept = RangeSet.intersect(RangeSet.parse(subnet.ranges ?? []), reserved)
    return RangeSet.isEmpty(kept) ? subnet : { ...subnet, reserved: Array.from(RangeSet.ranges(kept), Range.format) }
  })
}

/**
 * The name of the domain and the pool of a network. Two networks never have one: the second part
 * says how the rest is read. A name of another form is written in hexadecimal digits.
 */
export function domainOfNetwork(network: string): string {
  const [, cluster] = /^cluster_udn_([a-z0-9.-]+)$/u.exec(network) ?? []
  const [, namespace, own] = /^([a-z0-9-]+)_([a-z0-9.-]+)$/u.exec(network) ?? []
  const [kind, rest] =
    cluster !== undefined
      ? ['cudn', cluster]
      : namespace !== undefined
        ? ['udn', `${namespace}.${own}`]
        : ['net', network]
  const name = `${FIRST}.${kind}.${rest}`
  return isName(name) ? name : `${FIRST}.hex.${hexOf(network)}`
}

/** Whether a domain is that of a network. */
export function isDomainOfNetwork(domain: string): boolean {
  return domain.startsWith(`${FIRST}.`)
}

/** Labels of up to 60 digits: two of a character, and more of one outside of ISO 8859-1. */
function hexOf(text: string): string {
  const digits = Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code < 256 ? code.toString(16).padStart(2, '0') : `u${code.toString(16).padStart(6, '0')}`
  })
  return (
    digits
      .join('')
      .match(/.{1,60}/gu)
      ?.join('.') ?? '00'
  )
}

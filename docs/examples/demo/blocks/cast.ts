import type { Meta } from 'ipam-kit/crd'
import { IPBlock, IPDomain, IPPool, parseBlockName } from 'ipam-kit/crd/ipam-kit'

// Who takes part: pools, and writers with their Pods. All begins with `demo`, so that a cluster may
// have others.

export const kinds: readonly Meta.KindInfo[] = [IPDomain, IPPool, IPBlock].map(({ info }) => info)

/**
 * Two of one domain that have .16 to .23 in common; and one of another domain, with the addresses
 * of the first.
 */
export const pools: readonly IPPool[] = [
  poolOf('demo-blue', { domain: 'demo', from: 0, to: 23 }),
  poolOf('demo-red', { domain: 'demo', from: 16, to: 39 }),
  poolOf('demo-green', { domain: 'demo-other', from: 0, to: 23 }),
]

function poolOf(
  name: string,
  { domain, from, to }: { readonly domain: string; readonly from: number; readonly to: number },
): IPPool {
  const hex = (at: number) => `fd00::${at.toString(16)}`
  const subnets = [
    { cidr: '10.0.0.0/26', ranges: [`10.0.0.${from}-10.0.0.${to}`], gateway: '10.0.0.1' },
    { cidr: 'fd00::/64', ranges: [`${hex(from)}-${hex(to)}`], gateway: hex(1) },
  ]
  // blocks of 16: writers meet in few of them
  const spec = { domain, subnets, ipv4: { blockPrefixLength: 28 }, ipv6: { blockPrefixLength: 124 } }
  return IPPool.parse({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata: { name }, spec })
}

export const domains: readonly string[] = [...new Set(pools.map(({ spec }) => spec.domain))]

/** Whether an object is of these pools and domains, and of nobody else. */
export function isOurs({ kind, name }: { readonly kind: string; readonly name: string }): boolean {
  if (kind === 'IPPool') return pools.some(({ metadata }) => metadata.name === name)
  return domains.includes((kind === 'IPBlock' ? parseBlockName(name)?.domain : name) ?? '')
}

/**
 * A Pod that is made anew once: it has its name again, and another uid, which makes it another
 * owner.
 */
export interface Pod {
  readonly name: string
  readonly pool: string
  readonly former: string
  readonly uid: string
}

export interface Cast {
  readonly writer: string
  readonly pods: readonly Pod[]
}

/** Each writer gives to the Pods of its node: of every pool. */
export const casts: readonly Cast[] = [1, 2, 3].map((node) => ({
  writer: `node-${node}`,
  pods: [1, 2].flatMap((nth) =>
    pools.map(({ metadata: { name: pool } }) => {
      const uid = `${pool.slice('demo-'.length)}-${node}-${nth}`
      return { name: `demo/${uid}`, pool, former: `${uid}-former`, uid }
    }),
  ),
}))

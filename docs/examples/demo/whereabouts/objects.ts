import type { Meta } from 'ipam-kit/crd'
import { Pod } from 'ipam-kit/crd/core'
import { IPPool as BlockPool, IPBlock, IPDomain } from 'ipam-kit/crd/ipam-kit'
import { NETWORK_STATUS_ANNOTATION } from 'ipam-kit/crd/multinet'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { readWhereaboutsConfig, type WhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import type { BlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import { LEASE } from 'ipam-kit/run'

export const kinds: readonly Meta.KindInfo[] = [
  ...[Pod, IPPool, OverlappingRangeIPReservation, BlockPool, IPDomain, IPBlock].map(({ info }) => info),
  LEASE,
]

/** 30 addresses, of which the gateway is kept back. */
export const config: WhereaboutsConfig = unwrap(
  readWhereaboutsConfig({
    cniVersion: '1.0.0',
    name: 'storage',
    type: 'macvlan',
    ipam: { type: 'whereabouts', range: '10.10.0.0/27', gateway: '10.10.0.1' },
  }),
)

/** The pool of whereabouts that the range has. */
export const POOL = '10.10.0.0-27'

/** The same network on blocks. */
export const network: BlockNetwork = { config, pools: [] }

export const NODES = ['node-1', 'node-2', 'node-3', 'node-4'] as const
const NAMESPACE = 'shop'

export function podRef(name: string): Meta.ObjectRef & { readonly namespace: string } {
  return { apiVersion: Pod.info.apiVersion, kind: Pod.info.kind, namespace: NAMESPACE, name }
}

export function podObject(name: string, node: string): Meta.KubeObject {
  const { apiVersion, kind } = Pod.info
  return { apiVersion, kind, metadata: { namespace: NAMESPACE, name }, spec: { nodeName: node } }
}

/** What the meta plugin and the kubelet write of a Pod whose interface has an address. */
export function started(address: string) {
  const status = JSON.stringify([{ name: 'shop/storage', interface: 'net1', ips: [address] }])
  return { metadata: { annotations: { [NETWORK_STATUS_ANNOTATION]: status } } }
}

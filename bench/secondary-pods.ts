import { Address, Prefix } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { NETWORK_STATUS_ANNOTATION } from 'ipam-kit/crd/multinet'
import { IPPool, poolName, rowKey } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'

/** What a plan of the sweep costs is what the rows of one pool cost. */
const ROWS_OF_POOL = 100

/** The name of a Pod, as `pageOfPods` has it. */
export function podName(nth: number): { readonly name: string; readonly namespace: string } {
  return { name: `pod-${nth}`, namespace: `ns-${nth % 100}` }
}

/** A hundred Pods in each /24. */
function addressOf(nth: number): Address {
  return Address.from4(0x0a000000 + Math.floor(nth / ROWS_OF_POOL) * 256 + (nth % ROWS_OF_POOL) + 1)
}

/** Pools of whereabouts with a hundred rows, one row for each Pod. */
export function poolsOf(count: number): readonly IPPool[] {
  return Array.from({ length: count / ROWS_OF_POOL }, (_, nth) => {
    const prefix = Prefix.masked(Prefix.of(addressOf(nth * ROWS_OF_POOL), 24))
    const range = Prefix.format(prefix)
    const rows = Array.from({ length: ROWS_OF_POOL }, (_, place) => {
      const pod = nth * ROWS_OF_POOL + place
      const { namespace, name } = podName(pod)
      const id = `${pod}`.padStart(64, '0')
      return [unwrap(rowKey(prefix, addressOf(pod))), { id, podref: `${namespace}/${name}`, ifname: 'net1' }]
    })
    const { apiVersion, kind } = IPPool.info
    const metadata = {
      name: unwrap(poolName({ range })),
      namespace: 'kube-system',
      uid: `${nth}`,
      resourceVersion: '1',
    }
    return IPPool.parse({ apiVersion, kind, metadata, spec: { range, allocations: Object.fromEntries(rows) } })
  })
}

/** A Pod with the network status of its interfaces: with the secondary one, or without it. */
export function attached(pod: KubeObject, nth: number, hasInterface = true): KubeObject {
  const storage = { name: 'ns/storage', interface: 'net1', ips: [Address.format(addressOf(nth))] }
  const interfaces = [
    { name: 'cluster', interface: 'eth0', ips: ['192.168.0.1'], default: true },
    ...(hasInterface ? [storage] : []),
  ]
  const annotations = { ...pod.metadata.annotations, [NETWORK_STATUS_ANNOTATION]: JSON.stringify(interfaces) }
  return { ...pod, metadata: { ...pod.metadata, annotations } }
}

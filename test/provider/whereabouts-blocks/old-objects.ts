import { Address } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPPool, normalizeRange, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { readWhereaboutsConfig, type WhereaboutsConfig } from 'ipam-kit/provider/whereabouts'

/** The namespace of the objects of whereabouts. */
export const NAMESPACE = 'kube-system'

export function oldNetwork(ipam: object, name = 'lab'): WhereaboutsConfig {
  return unwrap(readWhereaboutsConfig({ cniVersion: '1.0.0', name, ipam: { type: 'whereabouts', ...ipam } }))
}

export interface OldRow {
  readonly [member: string]: unknown
}

/** A row of the container `c-pod` of a Pod. */
export function row(pod: string, more: object = {}): OldRow {
  return { id: `c-${pod}`, podref: `ns/${pod}`, ifname: 'net1', ...more }
}

/** A pool of whereabouts as it is stored. */
export function oldPool(
  range: string,
  allocations: { readonly [key: string]: unknown } = {},
  { name = normalizeRange(range), ...metadata }: { name?: string; [field: string]: unknown } = {},
): KubeObject {
  const { apiVersion, kind } = IPPool.info
  return {
    apiVersion,
    kind,
    metadata: { namespace: NAMESPACE, ...metadata, name },
    spec: { range, allocations },
  } as KubeObject
}

export function reservation(address: string, pod: string, network = ''): KubeObject {
  const { apiVersion, kind } = OverlappingRangeIPReservation.info
  const name = `${network === '' ? '' : `${network}-`}${normalizeRange(Address.format(Address.parse(address)))}`
  return {
    apiVersion,
    kind,
    metadata: { name, namespace: NAMESPACE },
    spec: { podref: `ns/${pod}`, ifname: 'net1' },
  } as KubeObject
}

/** A Pod that reports these addresses, each for its interface: `net1=10.0.0.1`. */
export function pod(name: string, reports: readonly string[] | undefined, more: object = {}): KubeObject {
  const status = (reports ?? []).map((report) => {
    const [ifname, address] = report.split('=')
    return { name: 'ns/lab', interface: ifname, ips: [address] }
  })
  const annotations = reports === undefined ? {} : { 'k8s.v1.cni.cncf.io/network-status': JSON.stringify(status) }
  const metadata = { name, namespace: 'ns', uid: `uid-${name}`, annotations, ...more }
  const { apiVersion, kind } = Pod.info
  return { apiVersion, kind, metadata, status: { phase: 'Running' } } as unknown as KubeObject
}

import type { Node } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import type { ClusterCIDRSpec } from '../../../src/crd/node-ipam/cluster-cidr.js'

export interface NodeInput {
  readonly labels?: { readonly [key: string]: string } | undefined
  readonly podCIDRs?: readonly string[] | undefined
  readonly isDeleting?: boolean | undefined
  readonly version?: string | undefined
  readonly uid?: string | undefined
}

export function node(name: string, input: NodeInput = {}): Node {
  const { labels, podCIDRs, isDeleting = false, version, uid = `uid ${name}` } = input
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid,
      ...(version !== undefined && { resourceVersion: version }),
      ...(labels !== undefined && { labels }),
      ...(isDeleting && { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/hold'] }),
    },
    spec: podCIDRs === undefined ? {} : { podCIDR: podCIDRs[0], podCIDRs },
  }
}

export function range(
  name: string,
  spec: Partial<ClusterCIDRSpec>,
  { isDeleting = false, version, uid = `uid ${name}` }: Omit<NodeInput, 'labels' | 'podCIDRs'> = {},
): ClusterCIDR {
  return {
    apiVersion: 'networking.x-k8s.io/v1',
    kind: 'ClusterCIDR',
    metadata: {
      name,
      uid,
      finalizers: ['networking.x-k8s.io/cluster-cidr-finalizer'],
      ...(version !== undefined && { resourceVersion: version }),
      ...(isDeleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { perNodeHostBits: 8, ...spec },
  }
}

/** A selector of one term, with one label for each entry. */
export function selects(labels: { readonly [key: string]: string }): ClusterCIDRSpec['nodeSelector'] {
  const matchExpressions = Object.entries(labels).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }))
  return { nodeSelectorTerms: [{ matchExpressions }] }
}

export function present(object: KubeObject) {
  return { kind: 'present', object } as const
}

export function absent({ apiVersion, kind, metadata: { name, uid } }: KubeObject) {
  return { kind: 'absent', ref: { apiVersion, kind, name }, uid, confirmed: true } as const
}

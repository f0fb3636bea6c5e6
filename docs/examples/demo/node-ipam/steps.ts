import type { Meta } from 'ipam-kit/crd'
import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'

/** Something that happens in the cluster, all at once. */
export interface Step {
  readonly title: string
  readonly joining?: readonly Node[] | undefined
  readonly leaving?: readonly string[] | undefined
  readonly added?: ClusterCIDR | undefined
  readonly ended?: string | undefined
}

/** Eight subnets of each family. */
const first = rangeOf('first', '10.0.0.0/21', 'fd00::/117')
const second = rangeOf('second', '10.9.0.0/21', 'fd00:9::/117')

export const steps: readonly Step[] = [
  { title: 'Range first is added, and 6 Nodes join', added: first, joining: nodes(1, 6) },
  { title: '4 more Nodes join a range that has 2 subnets left', joining: nodes(7, 10) },
  { title: 'Range second is added', added: second },
  {
    title: 'Range first is deleted while 2 Nodes join and 2 leave',
    ended: 'first',
    joining: nodes(11, 12),
    leaving: ['node-02', 'node-05'],
  },
  {
    title: 'The last Nodes with subnets of range first leave',
    leaving: [1, 3, 4, 6, 7, 8].map(nodeName),
  },
]

function rangeOf(name: string, ipv4: string, ipv6: string): ClusterCIDR {
  const { apiVersion, kind } = ClusterCIDR.info
  return ClusterCIDR.parse({ apiVersion, kind, metadata: { name }, spec: { perNodeHostBits: 8, ipv4, ipv6 } })
}

function nodes(from: number, to: number): readonly Node[] {
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const { apiVersion, kind } = Node.info
    return Node.parse({ apiVersion, kind, metadata: { name: nodeName(from + index) }, spec: {} })
  })
}

function nodeName(n: number): string {
  return `node-${String(n).padStart(2, '0')}`
}

export function nodeRef(name: string): Meta.ObjectRef {
  const { apiVersion, kind } = Node.info
  return { apiVersion, kind, name }
}

export function rangeRef(name: string): Meta.ObjectRef {
  const { apiVersion, kind } = ClusterCIDR.info
  return { apiVersion, kind, name }
}

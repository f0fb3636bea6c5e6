import type { Node } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import type { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { type NetworkView, networkView, networkViewPlanner } from 'ipam-kit/provider/network-view'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'

const NODES = 5000
const RANGES = 50

export const networkViewWorks: readonly Work[] = [
  {
    name: 'network view after one node event, 5,000 nodes and 50 ranges',
    ours: () => events(NODES),
    peers: { 'a full rebuild': rebuilds },
  },
  {
    name: 'network view: one node event, 5,000 nodes',
    ours: () => events(NODES),
    peers: { 'the same with 50 nodes': () => events(RANGES) },
  },
  {
    name: 'network view: start with 4,000 nodes of one subnet, each',
    ours: () => oneSubnet(4000),
    peers: { 'the same with 400 nodes': () => oneSubnet(400) },
  },
]

/** Nodes of both families, a hundred in each of 50 ranges. */
function node(nth: number): Node {
  const [range, place] = [nth % RANGES, Math.floor(nth / RANGES)]
  const podCIDRs = [`10.${range}.${place}.0/24`, `fd00:${range}:0:${place.toString(16)}::/64`]
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: `node-${nth}` }, spec: { podCIDR: podCIDRs[0], podCIDRs } }
}

const ranges = once(() =>
  Array.from({ length: RANGES }, (_, nth): ClusterCIDR => {
    const spec = { perNodeHostBits: 8, ipv4: `10.${nth}.0.0/16`, ipv6: `fd00:${nth}::/48` }
    const deletion = nth % 5 === 0 ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
    return {
      apiVersion: 'networking.x-k8s.io/v1',
      kind: 'ClusterCIDR',
      metadata: { name: `range-${nth}`, ...deletion },
      spec,
    }
  }),
)

/** What a publisher looks at after each event. */
function read({ ipv4, ipv6 }: NetworkView): number {
  return (
    ipv4.summary(64).prefixes.length + ipv6.summary(64).prefixes.length + ipv4.conflicts.length + ipv6.conflicts.length
  )
}

/** A Node is deleted, and comes back. */
function events(count: number): Side {
  const planner = networkViewPlanner()
  for (const object of ranges()) planner.observe({ kind: 'present', object })
  let version = 0
  const create = (nth: number) => {
    const object = node(nth)
    const metadata = { ...object.metadata, uid: `uid-${++version}`, resourceVersion: String(version) }
    planner.observe({ kind: 'present', object: { ...object, metadata } })
  }
  for (let nth = 0; nth < count; nth++) create(nth)
  let next = 0
  const run = () => {
    next = (next + 7) % RANGES
    const nth = next
    planner.observe({ kind: 'absent', ref: { apiVersion: 'v1', kind: 'Node', name: `node-${nth}` } })
    const sum = read(planner.view)
    create(nth)
    return sum + read(planner.view)
  }
  return { run, operations: 2, answer: () => run() }
}

/** The first list of Nodes that all have one subnet, one plan, and the whole view. */
function oneSubnet(count: number): Side {
  const objects = Array.from({ length: count }, (_, nth) => {
    return { ...node(nth), spec: { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] } }
  })
  const start = () => {
    const planner = networkViewPlanner()
    const network = { ...ClusterNetwork.info, metadata: { name: 'pods' }, spec: {} }
    for (const object of [...ranges(), network, ...objects]) planner.observe({ kind: 'present', object })
    const plan = planner.plan('pods', { nowMs: 0 })
    const { ipv4 } = planner.view
    return (plan?.effects.length ?? 0) + ipv4.inUse.length + ipv4.conflicts.length
  }
  // a list of conflicts has an end
  return { run: start, operations: count, answer: () => start() - count }
}

function rebuilds(): Side {
  const nodes = Array.from({ length: NODES }, (_, nth) => node(nth))
  let next = 0
  const run = () => {
    next = (next + 7) % RANGES
    const others = nodes.filter((_, nth) => nth !== next)
    const without = networkView({ nodes: others, clusterCIDRs: ranges() })
    return read(without) + read(networkView({ nodes, clusterCIDRs: ranges() }))
  }
  return { run, operations: 2, answer: () => run() }
}

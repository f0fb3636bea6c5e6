import ipaddr from 'ipaddr.js'
import { Address, Prefix } from 'ipam-kit/cidr'
import type { Node } from 'ipam-kit/crd/core'
import type { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { nodeIPAM, planNodeIPAM } from 'ipam-kit/provider/node-ipam'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'

const NODES = 5000
const RANGES = 50
/** Every second Node has no subnet yet. */
const BARE = 2
/** Nodes that a peer plans: the first of them, for which it has the fewest subnets to compare. */
const REBUILDS = 50

export const nodeIPAMWorks: readonly Work[] = [
  {
    name: 'node IPAM: plan of 5,000 nodes and 50 ranges from scratch',
    ours: planAll,
    peers: {
      'a rebuild for each node, ipaddr.js': () => rebuilds(boundsOfText),
      'a rebuild for each node, our prefixes': () => rebuilds(boundsOf),
    },
  },
  {
    name: 'node IPAM: one node event, 5,000 nodes',
    ours: () => events(NODES),
    peers: { 'the same with 50 nodes': () => events(50) },
  },
  {
    name: 'node IPAM: one heartbeat of a node of 20 kB, 5,000 nodes',
    ours: () => heartbeats(NODES),
    peers: { 'the same with 50 nodes': () => heartbeats(50) },
  },
  {
    name: 'node IPAM: start with 4,000 nodes of one subnet, each',
    ours: () => oneSubnet(4000),
    peers: { 'the same with 400 nodes': () => oneSubnet(400) },
  },
]

const ranges = once(() =>
  Array.from(
    { length: RANGES },
    (_, nth): ClusterCIDR => ({
      apiVersion: 'networking.x-k8s.io/v1',
      kind: 'ClusterCIDR',
      metadata: { name: `range-${nth}`, finalizers: ['networking.x-k8s.io/cluster-cidr-finalizer'] },
      spec: {
        perNodeHostBits: 8,
        ipv4: `10.${nth}.0.0/16`,
        nodeSelector: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'rack', operator: 'In', values: [`${nth}`] }] }],
        },
      },
    }),
  ),
)

/** A hundred Nodes in each range; those that have no subnet yet are behind the others. */
function nodeOf(nth: number, version: number): Node {
  const [rack, place] = [nth % RANGES, Math.floor(nth / RANGES)]
  const podCIDR = `10.${rack}.${place}.0/24`
  const hasSubnet = nth % BARE !== BARE - 1
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `node-${nth}`,
      uid: `${nth}`,
      resourceVersion: `${version}`,
      creationTimestamp: new Date(nth * 1000).toISOString(),
      labels: { rack: `${rack}` },
    },
    spec: hasSubnet ? { podCIDR, podCIDRs: [podCIDR] } : {},
  }
}

const nodes = once(() => Array.from({ length: NODES }, (_, nth) => nodeOf(nth, nth + 1)))

function planAll(): Side {
  const run = () => {
    const decisions = planNodeIPAM({ nodes: nodes(), clusterCIDRs: ranges(), nowMs: 0 })
    return decisions.flatMap(({ plan: { outcome } }) =>
      outcome.kind === 'assigned' ? outcome.choice.subnets.map(Prefix.format) : [],
    )
  }
  return { run, operations: NODES, answer: () => run().slice(0, REBUILDS) }
}

/** The first and the last address of a prefix. */
type Bounds = (text: string) => readonly [number, number]

/**
 * A reconciler that is one function of a Node: what is in use is read anew for each Node, and each
 * subnet of the ranges is compared with it.
 */
function rebuilds(bounds: Bounds): Side {
  const run = () => {
    const given: string[] = []
    for (const node of bareNodes().slice(0, REBUILDS)) {
      const used: number[] = []
      for (const { spec } of nodes()) for (const text of spec.podCIDRs ?? []) used.push(...bounds(text))
      for (const text of given) used.push(...bounds(text))
      const subnet = firstFree(node, used, bounds)
      if (subnet !== undefined) given.push(subnet)
    }
    return given
  }
  // every second Node has its subnet already, and needs no rebuild
  return { run, operations: REBUILDS * BARE, answer: run }
}

const bareNodes = once(() => nodes().filter(({ spec }) => spec.podCIDRs === undefined))

function boundsOfText(text: string): readonly [number, number] {
  const [address, length] = ipaddr.IPv4.parseCIDR(text)
  const first = address.octets.reduce((value, octet) => value * 256 + octet, 0)
  return [first, first + 2 ** (32 - length) - 1]
}

function boundsOf(text: string): readonly [number, number] {
  const prefix = Prefix.parse(text)
  const { address } = prefix
  const first = address.family === 4 ? address.value : Number.NaN
  return [first, first + 2 ** (32 - prefix.length) - 1]
}

function firstFree({ metadata: { labels = {} } }: Node, used: readonly number[], bounds: Bounds): string | undefined {
  for (const { spec } of ranges()) {
    const [term] = spec.nodeSelector!.nodeSelectorTerms
    if (!term!.matchExpressions!.every(({ key, values }) => values!.includes(labels[key] ?? ''))) continue
    const [first, last] = bounds(spec.ipv4!)
    for (let at = first; at < last; at += 256) {
      if (isFree(at, at + 255, used)) return `${Address.format({ family: 4, value: at })}/24`
    }
  }
  return undefined
}

function isFree(first: number, last: number, used: readonly number[]): boolean {
  for (let i = 0; i < used.length; i += 2) if (used[i]! <= last && used[i + 1]! >= first) return false
  return true
}

/** A Node is deleted and comes back under another uid, and is planned each time. */
function events(count: number): Side {
  const planner = plannerOf(count)
  let version = count
  let next = 0
  const run = () => {
    next = (next + 7) % 50
    const before = planner.context.cache.nodes.entry(`node-${next}`)!.object.metadata.uid
    const ref = { apiVersion: 'v1', kind: 'Node', name: `node-${next}` }
    let planned = 0
    const plan = (keys: readonly string[]) => {
      for (const key of keys) if (planner.plan(key, { nowMs: 0 }) !== undefined) planned++
    }
    plan(planner.observe({ kind: 'absent', ref, uid: before }))
    const node = nodeOf(next, ++version)
    const metadata = { ...node.metadata, uid: `${version}` }
    plan(planner.observe({ kind: 'present', object: { ...node, metadata } }))
    return planned
  }
  return { run, operations: 2, answer: () => run() }
}

function heartbeats(count: number): Side {
  const planner = plannerOf(count)
  const status = {
    images: Array.from({ length: 50 }, (_, nth) => ({ names: [`example.com/${nth}`.padEnd(380, 'x')] })),
  }
  let version = count
  let next = 0
  const run = () => {
    next = (next + 7) % 50
    return planner.observe({ kind: 'present', object: { ...nodeOf(next, ++version), status } as Node }).length
  }
  return { run, operations: 1, answer: () => run() }
}

/** The first list of Nodes that all have one subnet, and a plan for each: an Event for each Node. */
function oneSubnet(count: number): Side {
  const objects = Array.from({ length: count }, (_, nth) => {
    return { ...nodeOf(nth, nth + 1), spec: { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] } }
  })
  const start = () => {
    const planner = nodeIPAM()
    const keys = new Set<string>()
    for (const object of [...ranges(), ...objects]) {
      for (const key of planner.observe({ kind: 'present', object })) keys.add(key)
    }
    let sent = 0
    for (const key of keys) {
      const plan = planner.plan(key, { nowMs: 0 })
      if (plan !== undefined) planner.begin?.(plan)
      sent += plan?.effects.length ?? 0
    }
    return sent
  }
  return { run: start, operations: count, answer: () => start() / count }
}

function plannerOf(count: number) {
  const planner = nodeIPAM()
  for (const object of ranges()) planner.observe({ kind: 'present', object })
  for (const object of nodes().slice(0, count)) planner.observe({ kind: 'present', object })
  return planner
}

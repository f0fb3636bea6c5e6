#!/usr/bin/env node
import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
// Nodes get the subnets of their Pods from a range: tsx docs/examples/node-ipam.ts
import { unwrap } from 'ipam-kit/errors'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { asciiMap } from 'ipam-kit/render'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'

const store = memoryStore({ now: Date.now, kinds: [Node.info, ClusterCIDR.info] })
const spec = { perNodeHostBits: 8, ipv4: '10.0.0.0/20', ipv6: 'fd00::/116' }
unwrap(
  await store.create({ apiVersion: 'networking.x-k8s.io/v1', kind: 'ClusterCIDR', metadata: { name: 'pods' }, spec }),
)
for (const name of ['n1', 'n2', 'n3']) {
  unwrap(await store.create({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: {} }))
}
const planner = nodeIPAM()
await runUntilQuiet(store, [planner], { now: Date.now })

for (const { prefix, holder } of planner.entries()) console.log(`${Prefix.format(prefix)} ${holder.key}`)

const addresses = RangeSet.parse([spec.ipv4, spec.ipv6])
const inUse = RangeSet.fromPrefixes(planner.entries().map(({ prefix }) => prefix))
console.log(asciiMap({ addresses, available: addresses, inUse }, { columns: 16, maxRows: 1 }).join('\n'))

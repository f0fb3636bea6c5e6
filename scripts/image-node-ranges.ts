// Three maps of a ClusterCIDR: the planner of Node ranges gives a subnet to each Node.
import { Range, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { svgMap } from 'ipam-kit/render'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { stackedMaps } from './svg-parts.js'

const RANGE = '10.0.0.0/20'

export async function nodeRanges(): Promise<string> {
  const store = memoryStore({ now: () => 0, kinds: [Node.info, ClusterCIDR.info] })
  const spec = { perNodeHostBits: 8, ipv4: RANGE }
  unwrap(
    await store.create({ apiVersion: 'networking.x-k8s.io/v1', kind: 'ClusterCIDR', metadata: { name: 'pods' }, spec }),
  )
  const planner = nodeIPAM()
  const maps: string[] = []
  let nodes = 0
  for (const count of [3, 9, 16]) {
    for (; nodes < count; nodes++) {
      const name = `n${nodes + 1}`
      unwrap(await store.create({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: {} }))
    }
    await runUntilQuiet(store, [planner], { now: () => 0 })
    const entries = planner.entries()
    const addresses = RangeSet.parse([RANGE])
    const inUse = RangeSet.fromPrefixes(entries.map(({ prefix }) => prefix))
    const labels = entries.map(({ prefix, holder }) => ({ range: Range.fromPrefix(prefix), text: nameOf(holder.key) }))
    maps.push(
      svgMap(
        { addresses, available: addresses, inUse },
        { title: `${count} Nodes in ${RANGE}`, columns: 64, maxRows: 4, labels },
      ),
    )
  }
  return stackedMaps({ title: 'A range of Nodes that fills: 3, 9 and 16 Nodes', maps })
}

function nameOf(key: string): string {
  return key.split(' ').at(-1)!
}

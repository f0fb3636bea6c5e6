// Maps and metrics of pools: docs/guides/maps-and-metrics.md shows this file, and what it prints.
import { AddressPool } from 'ipam-kit/allocator'
import { Range, RangeSet } from 'ipam-kit/cidr'
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { unwrap } from 'ipam-kit/errors'
import { timers } from 'ipam-kit/node'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { asciiMap, asciiMapLegend, ControllerMetrics, poolMetrics, prometheusText, svgMap } from 'ipam-kit/render'
import { Controller, runUntilQuiet } from 'ipam-kit/run'
import { create } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

// A planner that has served two claims.
const store = memoryStore({ now: Date.now })
const metadata = { namespace: 'default', name: 'lab' }
const spec = { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' }
unwrap(await create(store, InClusterIPPool, { metadata, spec }))
const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }
for (const name of ['web-0', 'web-1']) {
  unwrap(await create(store, IPAddressClaim, { metadata: { ...metadata, name }, spec: { poolRef } }))
}
const planner = inCluster()
await runUntilQuiet(store, [planner], { now: Date.now })

// A map needs three sets: all addresses, those that can be given, and those in use.
const addresses = RangeSet.parse(spec.addresses)
const kept = RangeSet.parse(['10.0.0.0-10.0.0.1', '10.0.0.15'])
const entries = planner.entries()
const inUse = RangeSet.fromPrefixes(entries.map(({ prefix }) => prefix))
const map = { addresses, available: RangeSet.subtract(addresses, kept), inUse }
console.log(asciiMapLegend)
console.log(asciiMap(map, { columns: 16 }).join('\n'))

// The same as a picture, with holders in its tooltips.
const labels = entries.map(({ prefix, holder }) => ({ range: Range.fromPrefix(prefix), text: holder.key }))
const svg = svgMap(map, { title: 'Pool lab', columns: 16, labels })
console.log(/<desc>(.*)<\/desc>/.exec(svg)?.[1])

// A character of a large pool is a block of addresses, with a shade for how many are in use.
const large = new AddressPool({ ranges: ['10.0.0.0/16'] })
for (let nth = 0; nth < 20_000; nth++) large.allocate({ owner: { uid: `owner-${nth}` } })
const whole = RangeSet.parse(['10.0.0.0/16'])
const { available } = large
console.log(asciiMap({ addresses: whole, available, inUse: large.inUse() }, { columns: 32, maxRows: 2 }).join('\n'))

// Metrics: pass the hooks of ControllerMetrics to the Controller, and answer /metrics with this text.
const metrics = new ControllerMetrics()
const { onProblem, onResult } = metrics
const controller = new Controller({ store, planners: [planner], timers, onProblem, onResult })
const metricsText = () => prometheusText([...metrics.metrics(controller), ...poolMetrics([planner])])
for (const line of metricsText().split('\n')) if (line.startsWith('ipam_pool')) console.log(line)

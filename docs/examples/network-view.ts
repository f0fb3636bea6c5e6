// Which addresses do the Pods of a cluster have? docs/guides/network-view.md shows this file, and
// what it prints.

import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import {
  networkView,
  networkViewPlanner,
  renderFlannel,
  renderIpMasqAgent,
  renderKubeProxy,
} from 'ipam-kit/provider/network-view'
import { asciiMap } from 'ipam-kit/render'
import { runUntilQuiet } from 'ipam-kit/run'
import { read } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

const range = (name: string, ipv4: string, deletionTimestamp?: string) =>
  ClusterCIDR.parse({
    apiVersion: ClusterCIDR.info.apiVersion,
    kind: 'ClusterCIDR',
    metadata: { name, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
    spec: { perNodeHostBits: 6, ipv4 },
  })
const node = (name: string, podCIDR: string) =>
  Node.parse({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { podCIDR, podCIDRs: [podCIDR] } })

// `old` is deleted and still in use. The range of node-3 was deleted by hand.
const clusterCIDRs = [range('blue', '10.0.0.0/23'), range('old', '10.0.4.0/24', '2026-01-01T00:00:00Z')]
const nodes = [node('node-1', '10.0.0.0/26'), node('node-2', '10.0.4.64/26'), node('node-3', '10.0.6.0/26')]

// All that is known, in the fewest prefixes; and in one prefix, with what that adds.
const view = networkView({ nodes, clusterCIDRs, serviceCIDRs: ['10.0.1.128/25'] })
console.log('known:', RangeSet.prefixes(view.known).map(Prefix.format).join(' '))
const { prefixes, added } = view.ipv4.summary(1)
console.log('in one prefix:', prefixes.map(Prefix.format).join(), `with ${added} addresses of other networks`)
for (const { node: name, prefix, owners } of view.ipv4.inUse) {
  console.log(name, Prefix.format(prefix), owners.length === 0 ? 'is in no range' : `of ${owners.join()}`)
}
for (const { kind, between } of view.ipv4.conflicts) {
  console.log(kind, between.map(({ name, prefix }) => `${name} (${Prefix.format(prefix)})`).join(' and '))
}

// The same as a map.
const inUse = RangeSet.fromPrefixes(view.ipv4.inUse.map(({ prefix }) => prefix))
const active = RangeSet.fromPrefixes(view.ipv4.active.map(({ prefix }) => prefix))
for (const line of asciiMap({ addresses: view.known, available: active, inUse }, { columns: 16, maxRows: 8 })) {
  console.log(line)
}

// What consumers are told, and what they cannot be told.
for (const { content, lost } of [renderKubeProxy(view), renderFlannel(view), renderIpMasqAgent(view)]) {
  console.log(JSON.stringify(content))
  for (const { kind, message } of lost) console.log(`  ${kind}: ${message}`)
}

// The planner publishes the view in one object. A new range is proposed first, where consumers have
// to accept it.
const store = memoryStore({ now: () => 0, kinds: [Node.info, ClusterCIDR.info, ClusterNetwork.info] })
const network = { apiVersion: ClusterNetwork.info.apiVersion, kind: 'ClusterNetwork', name: 'pods' }
unwrap(
  await store.create({
    ...ClusterNetwork.parse({ ...network, metadata: { name: 'pods' }, spec: { consumers: [{ name: 'flannel' }] } }),
  }),
)
unwrap(await store.create(range('green', '10.0.8.0/24')))
const publish = async () => {
  await runUntilQuiet(store, [networkViewPlanner()], { now: () => 0 })
  const { families = [], ranges = [] } = unwrap(await read(store, ClusterNetwork, network)).status ?? {}
  console.log('published:', families.flatMap(({ known }) => known).join(), ranges.map(({ state }) => state).join())
}
await publish()
const answers = [{ cidr: '10.0.8.0/24', consumer: 'flannel', accepted: true }]
unwrap(await store.patch(network, { status: { answers } }, { subresource: 'status' }))
await publish()

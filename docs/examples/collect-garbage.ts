// What follows its owner, on a store without a collector: docs/guides/garbage-collection.md shows
// this file, and what it prints.

import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { unwrap } from 'ipam-kit/errors'
import { explain, type Outcome, type Planner } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'

const group = 'ipam.cluster.x-k8s.io'
const machine = { apiVersion: 'example.com/v1', kind: 'Machine', namespace: 'lab', name: 'web' }
const machines = { ...machine, plural: 'machines', namespaced: true, statusSubresource: false }

// uids that are the same in each run: they are part of what it prints
const store = memoryStore({ now: Date.now, uid: (n) => `uid-${n}` })
unwrap(
  await store.create({
    apiVersion: `${group}/v1alpha2`,
    kind: 'InClusterIPPool',
    metadata: { name: 'nodes', namespace: 'lab' },
    spec: { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' },
  }),
)
const { uid = '' } = unwrap(
  await store.create({
    apiVersion: 'example.com/v1',
    kind: 'Machine',
    metadata: { name: 'web', namespace: 'lab' },
  }),
).metadata
unwrap(
  await store.create({
    apiVersion: `${group}/v1beta2`,
    kind: 'IPAddressClaim',
    metadata: {
      name: 'web-eth0',
      namespace: 'lab',
      ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Machine', name: 'web', uid }],
    },
    spec: { poolRef: { apiGroup: group, kind: 'InClusterIPPool', name: 'nodes' } },
  }),
)

const gc = gcPlanner({ kinds: [machines, IPAddressClaim.info, IPAddress.info] })
const planners: Planner<Outcome>[] = [inCluster(), gc]
await runUntilQuiet(store, planners, { now: Date.now })
console.log(await addresses())

unwrap(await store.delete(machine))
for (const key of gc.observe({ kind: 'absent', ref: machine, uid })) {
  const plan = gc.plan(key, { nowMs: Date.now() })
  if (plan !== undefined) console.log(explain(plan))
}
await runUntilQuiet(store, planners, { now: Date.now })
console.log(await addresses())

async function addresses(): Promise<readonly string[]> {
  const listed = await store.list(IPAddress.info)
  return listed.ok ? listed.value.items.map(({ kind, metadata }) => `${kind} ${metadata.name}`) : []
}

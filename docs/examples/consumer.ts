// A machine with two devices, both families: docs/guides/consumer.md shows this file, and what it
// prints.

import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { unwrap } from 'ipam-kit/errors'
import { explain } from 'ipam-kit/plan'
import {
  type ConsumerInput,
  dialects,
  machineConfig,
  netplan,
  planClaims,
  protectedBy,
  releasePlan,
} from 'ipam-kit/provider/consumer'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runPlan, runUntilQuiet } from 'ipam-kit/run'
import { readAll } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

const group = 'ipam.cluster.x-k8s.io'
// uids that are the same in each run: they are part of what it prints
const store = memoryStore({ now: Date.now, uid: (n) => `uid-${n}` })
const pools = [
  { name: 'front-v4', spec: { addresses: ['10.0.0.10-10.0.0.99'], prefix: 24, gateway: '10.0.0.1' } },
  { name: 'front-v6', spec: { addresses: ['fd00:a::/64'], prefix: 64, gateway: 'fd00:a::1' } },
  { name: 'storage', spec: { addresses: ['10.1.0.10-10.1.0.99'], prefix: 24 } },
]
for (const { name, spec } of pools) {
  const metadata = { name, namespace: 'lab' }
  unwrap(await store.create({ apiVersion: `${group}/v1alpha2`, kind: 'InClusterIPPool', metadata, spec }))
}
const machine = { apiVersion: 'example.com/v1', kind: 'ExampleMachine', namespace: 'lab', name: 'web' }
unwrap(
  await store.create({ ...machine, metadata: { namespace: 'lab', name: 'web', finalizers: ['example.com/machine'] } }),
)

const mine = { ...dialects.contract, name: 'mine', ...protectedBy('example.com/ip-claim') }
const fromPool = (name: string) => ({ apiGroup: group, kind: 'InClusterIPPool', name })
const devices = [
  { name: 'front', pools: [fromPool('front-v4'), fromPool('front-v6')] },
  { name: 'storage', pools: [fromPool('storage')] },
]

const first = planClaims(await observed())
console.log(explain(first))
unwrap(await runPlan(first, store))
await runUntilQuiet(store, [inCluster()], { now: Date.now })

const { outcome } = planClaims(await observed())
console.log(`${outcome.kind}: ${outcome.message}`)

const macs = ['02:00:00:00:00:01', '02:00:00:00:00:02']
const config = machineConfig(
  macs.map((macAddress, index) => ({
    macAddress,
    claims: outcome.claims.filter(({ desired }) => desired.deviceIndex === index),
  })),
)
switch (config.kind) {
  case 'waiting':
    console.log(config.message)
    break
  case 'invalid':
    for (const { message } of config.problems) console.log(message)
    break
  case 'configured': {
    const { network } = netplan(
      macs.map((macAddress) => ({ macAddress })),
      config.settings,
    )
    for (const [id, { addresses, gateway4, gateway6 }] of Object.entries(network.ethernets)) {
      console.log(id, addresses?.join(' '), gateway4 ?? '-', gateway6 ?? '-')
    }
  }
}

unwrap(await store.delete(machine))
console.log(planClaims(await observed()).outcome.message)
// ... and when the machine is gone:
const last = releasePlan(await observed())
console.log(explain(last).split('\n').slice(0, 3).join('\n'))
unwrap(await runPlan(last, store))
await runUntilQuiet(store, [inCluster()], { now: Date.now })
unwrap(await store.patch(machine, { metadata: { finalizers: [] } }))

/** What a controller has in its caches. */
async function observed(): Promise<ConsumerInput> {
  const owner = unwrap(await store.get(machine))
  const claims = unwrap(await readAll(store, IPAddressClaim, { namespace: 'lab' }))
  const addresses = unwrap(await readAll(store, IPAddress, { namespace: 'lab' }))
  return { owner, naming: mine, devices, claims, addresses }
}

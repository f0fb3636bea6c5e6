// A pool of floating IPs, two claims and a server, over a fake cloud in memory: npx tsx
// docs/examples/floating-ips.ts

import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool, OpenStackServer } from 'ipam-kit/crd/openstack'
import { unwrap } from 'ipam-kit/errors'
import { uid } from 'ipam-kit/node'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { cloudCaller, isCloudCall } from 'ipam-kit/provider/external'
import { floatingIPPools, floatingServers, serverCloudCaller } from 'ipam-kit/provider/openstack'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { FakeCloud } from 'ipam-kit/testing'

// A fixed clock, so that each run prints the same.
const now = () => Date.UTC(2026, 0, 2)
const models = [OpenStackFloatingIPPool, OpenStackServer, IPAddressClaim, IPAddress, Cluster]
// the markers in the cloud are made of uids: no other run may have the same
const store = memoryStore({ now, uid, kinds: models.map((model) => model.info) })
const cloud = new FakeCloud({ now })
cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] })

const identityRef = { name: 'clouds', cloudName: 'openstack' }
const { apiVersion, kind } = OpenStackFloatingIPPool.info
const spec = { identityRef, reclaimPolicy: 'Delete' }
unwrap(await store.create({ apiVersion, kind, metadata: { namespace: 'shop', name: 'blue' }, spec }))
const poolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind, name: 'blue' }
for (const name of ['mail', 'web']) {
  const claim = { apiVersion: IPAddressClaim.info.apiVersion, kind: 'IPAddressClaim', spec: { poolRef } }
  unwrap(await store.create({ ...claim, metadata: { namespace: 'shop', name } }))
}
unwrap(
  await store.create({
    ...{ apiVersion, kind: 'OpenStackServer', metadata: { namespace: 'shop', name: 'w1' } },
    spec: { floatingIPPoolRef: poolRef, identityRef },
  }),
)

const [ofPools, ofServers] = [cloudCaller(cloud), serverCloudCaller(cloud)]
const planners: Planner<Outcome>[] = [floatingIPPools(), floatingServers()]
const { outcomes } = await runUntilQuiet(store, planners, {
  now,
  external: (call) => (isCloudCall(call) ? ofPools(call) : ofServers(call)),
})
for (const [key, outcome] of outcomes) console.log(`${key}: ${outcome.kind}: ${outcome.message}`)

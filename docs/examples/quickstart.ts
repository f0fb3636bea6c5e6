import { inCluster, memoryStore, read, runUntilQuiet, unwrap } from 'ipam-kit'
import { IPAddress } from 'ipam-kit/crd/cluster-api'

const group = 'ipam.cluster.x-k8s.io'
const store = memoryStore({ now: Date.now })
const pool = {
  apiVersion: `${group}/v1alpha2`,
  kind: 'InClusterIPPool',
  metadata: { name: 'lab', namespace: 'default' },
  spec: { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' },
}
const claim = {
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddressClaim',
  metadata: { name: 'web-0', namespace: 'default' },
  spec: { poolRef: { apiGroup: group, kind: 'InClusterIPPool', name: 'lab' } },
}
for (const object of [pool, claim]) unwrap(await store.create(object)) // throws what the store refuses
await runUntilQuiet(store, [inCluster()], { now: Date.now })

const { spec } = unwrap(await read(store, IPAddress, { namespace: 'default', name: 'web-0' }))
console.log(spec.address, spec.prefix, spec.gateway) // 10.0.0.2 28 10.0.0.1

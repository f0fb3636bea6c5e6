import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'

const group = 'ipam.cluster.x-k8s.io'
const store = memoryStore({ now: Date.now })
await store.create({
  apiVersion: `${group}/v1alpha2`,
  kind: 'InClusterIPPool',
  metadata: { name: 'lab', namespace: 'default' },
  spec: { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' },
})
await store.create({
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddressClaim',
  metadata: { name: 'web-0', namespace: 'default' },
  spec: { poolRef: { apiGroup: group, kind: 'InClusterIPPool', name: 'lab' } },
})
await runUntilQuiet(store, [inCluster()], { now: Date.now })

const address = { apiVersion: `${group}/v1beta2`, kind: 'IPAddress', namespace: 'default', name: 'web-0' }
console.log(await store.get(address)) // spec.address: '10.0.0.2', spec.prefix: 28, spec.gateway: '10.0.0.1'

import { create, inCluster, memoryStore, read, runUntilQuiet, unwrap } from 'ipam-kit'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'

const store = memoryStore({ now: Date.now })
const pool = {
  metadata: { name: 'lab', namespace: 'default' },
  spec: { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' },
}
const claim = {
  metadata: { name: 'web-0', namespace: 'default' },
  spec: { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' } },
}
// unwrap throws if the store refuses the object
unwrap(await create(store, InClusterIPPool, pool))
unwrap(await create(store, IPAddressClaim, claim))
await runUntilQuiet(store, [inCluster()], { now: Date.now })

const { spec } = unwrap(await read(store, IPAddress, claim.metadata))
console.log(spec.address, spec.prefix, spec.gateway) // 10.0.0.2 28 10.0.0.1

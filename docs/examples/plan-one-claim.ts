import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { explain } from 'ipam-kit/plan'
import { PoolLedger, planClaim } from 'ipam-kit/provider/in-cluster'

// What a controller has read, from its cache or from the API: plain JSON.
const group = 'ipam.cluster.x-k8s.io'
const poolRef = { apiGroup: group, kind: 'InClusterIPPool', name: 'lab' }
const claim = IPAddressClaim.parse({
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddressClaim',
  metadata: { name: 'web-1', namespace: 'default', uid: '7c1e', resourceVersion: '41', generation: 1 },
  spec: { poolRef },
})
const pool = InClusterIPPool.parse({
  apiVersion: `${group}/v1alpha2`,
  kind: 'InClusterIPPool',
  metadata: { name: 'lab', namespace: 'default', uid: '0b5a', resourceVersion: '12', generation: 1 },
  spec: { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' },
})
const taken = IPAddress.parse({
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddress',
  metadata: { name: 'web-0', namespace: 'default', uid: '93ff', resourceVersion: '40' },
  spec: { claimRef: { name: 'web-0' }, poolRef, address: '10.0.0.2', prefix: 28, gateway: '10.0.0.1' },
})

const plan = planClaim({ claim, pool, ledger: PoolLedger.build(pool, [taken]) }, { nowMs: Date.now() })
console.log(explain(plan))

import { Address } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { addressSpace, InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { PoolLedger, planClaim } from 'ipam-kit/provider/in-cluster'
import type { Row } from '../harness.js'
import { findFreeAddress } from '../peers/in-cluster-model.js'

export const provider: readonly Row[] = [
  ...[100, 1000, 10_000].map((inUse) => ({
    name: `plan a claim, ${inUse.toLocaleString('en')} addresses in use`,
    setUp: () => {
      const scene = sceneWith(inUse)
      const space = addressSpace(scene.pool.spec)
      if (!space.ok) throw new Error('the pool of the benchmark is invalid')
      const { available } = space.value
      const texts = scene.addresses.map((address) => address.spec.address)
      return {
        ours: { operations: 1, work: () => planClaim(scene, { nowMs: 0 }) },
        peers: {
          'model of the in-cluster algorithm (address search alone)': {
            operations: 1,
            work: () => findFreeAddress(available, texts),
          },
        },
      }
    },
  })),
  {
    name: 'plan a claim, 50,000 addresses in use',
    setUp: () => {
      const full = sceneWith(50_000)
      const empty = sceneWith(100)
      return {
        ours: { operations: 1, work: () => planClaim(full, { nowMs: 0 }) },
        peers: { 'the same with 100 in use': { operations: 1, work: () => planClaim(empty, { nowMs: 0 }) } },
      }
    },
  },
]

/** A pool of a /14 with addresses in use, and a claim that wants one more. */
function sceneWith(inUse: number) {
  const group = 'ipam.cluster.x-k8s.io'
  const poolRef = { apiGroup: group, kind: 'InClusterIPPool', name: 'pool' }
  const pool = InClusterIPPool.parse({
    apiVersion: `${group}/v1alpha2`,
    kind: 'InClusterIPPool',
    metadata: { name: 'pool', namespace: 'default', uid: 'pool', resourceVersion: '1' },
    spec: { addresses: ['10.0.0.0/14'], prefix: 14, gateway: '10.0.0.1' },
  })
  const claim = IPAddressClaim.parse({
    apiVersion: `${group}/v1beta2`,
    kind: 'IPAddressClaim',
    metadata: { name: 'claim', namespace: 'default', uid: 'claim', resourceVersion: '1' },
    spec: { poolRef },
  })
  const addresses = Array.from({ length: inUse }, (_, index) =>
    IPAddress.parse({
      apiVersion: `${group}/v1beta2`,
      kind: 'IPAddress',
      metadata: { name: `claim-${index}`, namespace: 'default', uid: `address-${index}` },
      spec: {
        claimRef: { name: `claim-${index}` },
        poolRef,
        address: Address.format(Address.from4(0x0a000002 + index)),
        prefix: 14,
      },
    }),
  )
  return { claim, pool, addresses, ledger: PoolLedger.build(pool, addresses) }
}

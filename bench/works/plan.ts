import { Address, type Address4 } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { addressSpace, InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { PoolLedger, planClaim } from 'ipam-kit/provider/in-cluster'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { findFreeAddress } from '../peers/in-cluster-model.js'

export const planWorks: readonly Work[] = [
  ...[100, 1000, 10_000].map((inUse) => ({
    name: `plan a claim, ${inUse.toLocaleString('en')} addresses in use`,
    ours: () => plan(inUse),
    peers: {
      'model of the in-cluster algorithm (address search alone)': () => {
        const { pool, addresses } = sceneWith(inUse)
        const space = addressSpace(pool.spec)
        if (!space.ok) throw new Error('the pool of the benchmark is invalid')
        const { available } = space.value
        const texts = addresses.map((address) => address.spec.address)
        const run = () => findFreeAddress(available, texts)
        return { run, operations: 1, answer: () => beyond(inUse, run() as Address4) }
      },
    },
  })),
  {
    name: 'plan a claim, 50,000 addresses in use',
    ours: () => plan(50_000),
    peers: { 'the same with 100 in use': () => plan(100) },
  },
]

function plan(inUse: number): Side {
  const scene = sceneWith(inUse)
  const run = () => planClaim(scene, { nowMs: 0 })
  const answer = () => {
    const { outcome } = run()
    if (outcome.kind !== 'bound') throw new Error(`the claim of the benchmark is ${outcome.kind}`)
    return beyond(inUse, Address.parse(outcome.address) as Address4)
  }
  return { run, operations: 1, answer }
}

/** How far an address lies behind the lowest that is free. */
function beyond(inUse: number, { value }: Address4): number {
  return value - FIRST - inUse
}

/** The first address of the pool that is given out: the one before is the gateway. */
const FIRST = 0x0a000002

/** A pool of a /14 with addresses in use, and a claim that wants one more. */
const sceneWith = once((inUse: number) => {
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
        address: Address.format(Address.from4(FIRST + index)),
        prefix: 14,
      },
    }),
  )
  return { claim, pool, addresses, ledger: PoolLedger.build(pool, addresses) }
})

import { Address4 as PeerAddress4, Address6 as PeerAddress6 } from 'ip-address'
import { AddressPool, type Owner } from 'ipam-kit/allocator'
import { Address, type Address4, RangeSet } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { addressSpace, InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { PoolLedger, planClaim } from 'ipam-kit/provider/in-cluster'
import { type Row, random } from './harness.js'
import { findFreeAddress } from './peers/in-cluster-model.js'
import { SetAndLoop } from './peers/set-and-loop.js'

const TEXTS = 4096

export const rows: readonly Row[] = [
  {
    name: 'parse IPv4',
    peer: 'ip-address',
    setUp: () => {
      const texts = texts4()
      return {
        ours: () => each(texts, Address.parse),
        theirs: () => each(texts, (text) => new PeerAddress4(text)),
        operations: { ours: TEXTS, theirs: TEXTS },
      }
    },
  },
  {
    name: 'parse IPv6',
    peer: 'ip-address',
    setUp: () => {
      const texts = texts6()
      return {
        ours: () => each(texts, Address.parse),
        theirs: () => each(texts, (text) => new PeerAddress6(text)),
        operations: { ours: TEXTS, theirs: TEXTS },
      }
    },
  },
  {
    name: 'format IPv6 (RFC 5952)',
    peer: 'ip-address',
    setUp: () => {
      const texts = texts6()
      const ours = texts.map((text) => Address.parse(text))
      const theirs = texts.map((text) => new PeerAddress6(text))
      // the last character is read, so that a text that is only a plan to join pieces is joined
      return {
        ours: () => each(ours, (address) => Address.format(address).at(-1)),
        theirs: () => each(theirs, (address) => address.correctForm().at(-1)),
        operations: { ours: TEXTS, theirs: TEXTS },
      }
    },
  },
  ...[1000, 4000].map((used) => ({
    name: `allocate and release, /16, ${used.toLocaleString('en')} in use`,
    peer: 'Set and loop',
    setUp: () => {
      const pool = filledPool('10.0.0.0/16', used)
      const model = new SetAndLoop(0x0a000000, 0x0a00ffff)
      for (let i = 0; i < used; i++) model.allocate()
      return {
        ours: () => allocateAndRelease(pool),
        theirs: () => model.release(model.allocate() as string),
        operations: { ours: 1, theirs: 1 },
      }
    },
  })),
  {
    name: 'allocate and release, 1,048,576 addresses half full',
    peer: 'the same with 65,536 addresses',
    setUp: () => {
      const large = filledPool('10.0.0.0/12', 524_288)
      const small = filledPool('10.0.0.0/16', 32_768)
      return {
        ours: () => allocateAndRelease(large),
        theirs: () => allocateAndRelease(small),
        operations: { ours: 1, theirs: 1 },
      }
    },
  },
  {
    name: 'the last free address of a /16',
    peer: 'the first one of it',
    setUp: () => {
      const full = filledPool('10.0.0.0/16', 65_535)
      const empty = filledPool('10.0.0.0/16', 0)
      return {
        ours: () => allocateAndRelease(full),
        theirs: () => allocateAndRelease(empty),
        operations: { ours: 1, theirs: 1 },
      }
    },
  },
  ...[100, 1000, 10_000].map((inUse) => ({
    name: `plan a claim, ${inUse.toLocaleString('en')} addresses in use`,
    peer: 'model of the in-cluster algorithm (address search alone)',
    setUp: () => {
      const scene = sceneWith(inUse)
      const space = addressSpace(scene.pool.spec)
      if (!space.ok) throw new Error('the pool of the benchmark is invalid')
      const { available } = space.value
      const texts = scene.addresses.map((address) => address.spec.address)
      return {
        ours: () => planClaim(scene, { nowMs: 0 }),
        theirs: () => findFreeAddress(available, texts),
        operations: { ours: 1, theirs: 1 },
      }
    },
  })),
  {
    name: 'plan a claim, 50,000 addresses in use',
    peer: 'the same with 100 in use',
    setUp: () => {
      const full = sceneWith(50_000)
      const empty = sceneWith(100)
      return {
        ours: () => planClaim(full, { nowMs: 0 }),
        theirs: () => planClaim(empty, { nowMs: 0 }),
        operations: { ours: 1, theirs: 1 },
      }
    },
  },
]

function each<T>(items: readonly T[], work: (item: T) => unknown): unknown {
  let last: unknown
  for (const item of items) last = work(item)
  return last
}

function texts4(): string[] {
  const next = random(4)
  return Array.from({ length: TEXTS }, () => Address.format(Address.from4(Math.floor(next() * 2 ** 32))))
}

function texts6(): string[] {
  const next = random(6)
  const group = () => (next() < 0.3 ? '0' : Math.floor(next() * 65_536).toString(16))
  return Array.from({ length: TEXTS }, () => Address.format(Address.parse(Array.from({ length: 8 }, group).join(':'))))
}

const claimant: Owner = { uid: 'claimant' }

function allocateAndRelease(pool: AddressPool): unknown {
  const outcome = pool.allocate({ owner: claimant })
  if (outcome.kind !== 'allocated') throw new Error(`the pool of the benchmark is ${outcome.kind}`)
  pool.release(outcome.address, claimant)
  return outcome
}

function filledPool(cidr: string, used: number): AddressPool {
  const pool = new AddressPool({ ranges: RangeSet.parse([cidr]) })
  const first = Address.parse('10.0.0.0') as Address4
  for (let i = 0; i < used; i++) pool.occupy(Address.from4(first.value + i), { uid: String(i) })
  return pool
}

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

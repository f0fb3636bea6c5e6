import { Address } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { Service } from 'ipam-kit/crd/core'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPAddress as ServiceAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import type { Change, Outcome, Planner } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { SYSTEMS } from '../start/objects.js'

const [MANY, FEW] = [100_000, 1000]
const POOLS = 10_000

/** A planner, the objects that hold addresses, and those of them that change. */
interface World {
  readonly planner: Planner<Outcome>
  readonly objects: Iterable<KubeObject>
  /** Whether the holding of this object changes. */
  isChanged(object: KubeObject): boolean
}

const WORLDS: { readonly [system: string]: (holdings: number) => World } = {
  'in-cluster': (holdings) => ({
    planner: inCluster(),
    objects: SYSTEMS['in-cluster'](2 * holdings),
    isChanged: ({ kind }) => kind === IPAddress.info.kind,
  }),
  'service IPs': (holdings) => ({
    planner: serviceIPs({ seed: 1 }),
    objects: services(holdings),
    isChanged: ({ kind }) => kind === Service.info.kind || kind === ServiceAddress.info.kind,
  }),
  'node IPAM': (holdings) => ({
    planner: nodeIPAM(),
    objects: SYSTEMS['node-ipam'](holdings),
    isChanged: ({ kind }) => kind === 'Node',
  }),
}

export const manyHoldingsWorks: readonly Work[] = Object.entries(WORLDS).map(([system, world]) => ({
  name: `${system}: one change among 100,000 holdings`,
  ours: () => changes(world(MANY)),
  peers: { 'the same among 1,000': () => changes(world(FEW)) },
}))

export const manyPoolsWorks: readonly Work[] = [
  {
    name: 'in-cluster: counts of one of 10,000 pools with avoid',
    ours: () => plans(avoiding(POOLS), POOL_KEY),
    peers: { 'a pool of its own': () => plans(avoiding(1), POOL_KEY) },
  },
  {
    name: 'in-cluster: plan of a claim in one of 10,000 pools with avoid',
    ours: () => plans(avoiding(POOLS), CLAIM_KEY),
    peers: { 'a pool of its own': () => plans(avoiding(1), CLAIM_KEY) },
  },
  {
    name: 'in-cluster: one change in one of 10,000 pools with avoid',
    ours: () => poolChanges(avoiding(POOLS)),
    peers: { 'a pool of its own': () => poolChanges(avoiding(1)) },
  },
]

/** Objects change, are deleted and created again, and the keys that each change wakes are planned. */
function changes({ planner, objects, isChanged }: World): Side {
  const changed: KubeObject[] = []
  for (const object of objects) {
    planner.observe({ kind: 'present', object })
    if (changed.length < 50 && isChanged(object)) changed.push(object)
  }
  for (const selection of planner.watches) planner.complete?.(selection)
  return changesOf(planner, changed)
}

function changesOf(planner: Planner<Outcome>, changed: KubeObject[]): Side {
  let [next, version] = [0, 10_000_000]
  const run = () => {
    next = (next + 7) % changed.length
    const before = changed[next]!
    const { apiVersion, kind, metadata } = before
    const { namespace, name, uid } = metadata
    const labels = { ...metadata.labels, changed: `${version}` }
    const patched = { ...before, metadata: { ...metadata, labels, resourceVersion: `${++version}` } }
    const again = { ...before, metadata: { ...metadata, uid: `${++version}`, resourceVersion: `${version}` } }
    changed[next] = again
    return (
      observe(planner, { kind: 'present', object: patched }) +
      observe(planner, { kind: 'absent', ref: { apiVersion, kind, namespace, name }, uid }) +
      observe(planner, { kind: 'present', object: again })
    )
  }
  // the same number of plans, however many holdings there are
  return { run, operations: 3, answer: () => changed.map(run) }
}

/** @returns the number of plans of the keys that a change wakes */
function observe(planner: Planner<Outcome>, change: Change): number {
  const keys = new Set(planner.observe(change))
  for (const key of keys) planner.plan(key, { nowMs: 0 })
  return keys.size
}

/** Services with an address each, of one range, and the IPAddress objects of these. */
function* services(count: number): Generator<KubeObject> {
  const created = '2026-01-01T00:00:00Z'
  const ready = { type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: created }
  yield {
    ...identityOf(ServiceCIDR.info, { name: 'range' }, 0),
    spec: { cidrs: ['10.0.0.0/12'] },
    status: { conditions: [ready] },
  } as KubeObject
  for (let nth = 0; nth < count; nth++) {
    const [namespace, name] = ['default', `service-${nth}`]
    const text = Address.format(Address.from4(FIRST + nth))
    const spec = { clusterIP: text, clusterIPs: [text], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }
    yield { ...identityOf(Service.info, { namespace, name }, nth), spec } as KubeObject
    const labels = {
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    }
    const parentRef = { group: '', resource: 'services', namespace, name }
    yield { ...identityOf(ServiceAddress.info, { name: text, labels }, nth), spec: { parentRef } } as KubeObject
  }
}

function identityOf({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>, metadata: object, nth: number) {
  const uid = `${kind}-${nth}`
  return {
    apiVersion,
    kind,
    metadata: { uid, resourceVersion: `${nth + 1}`, creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  }
}

/** 10.0.0.2: the first address that is given. */
const FIRST = 0x0a000002
/** The pool that is measured. */
const MEASURED = POOLS / 2
const POOL_KEY = `InClusterIPPool default/pool-${MEASURED}`
const CLAIM_KEY = 'IPAddressClaim default/waiting'
/** Addresses of that pool in use, the place of the first one, and the place of one of each hundredth pool. */
const [IN_USE, PLACE, OWN_PLACE, USED_POOLS] = [100, 64, 200, 100]

/**
 * Pools of one namespace, each of which has addresses in common with the next one. The pool that is
 * measured has 100 addresses more in use, and a claim that waits.
 */
const avoiding = once((pools: number) => {
  const planner = inCluster({ overlaps: 'avoid' })
  const show = (object: KubeObject) => void planner.observe({ kind: 'present', object })
  const [from, to] = pools === 1 ? [MEASURED, MEASURED + 1] : [0, pools]
  for (let nth = from; nth < to; nth++) show(poolOf(nth))
  for (let nth = from; nth < to; nth += USED_POOLS) show(addressOf(nth, OWN_PLACE))
  for (let nth = 0; nth < IN_USE; nth++) show(addressOf(MEASURED, PLACE + nth))
  const { info } = IPAddressClaim
  show({
    ...identityOf(info, { namespace: 'default', name: 'waiting' }, 0),
    spec: { poolRef: refOf(MEASURED) },
  } as KubeObject)
  for (const selection of planner.watches) planner.complete?.(selection)
  return planner
})

function refOf(pool: number) {
  return { apiGroup: 'ipam.cluster.x-k8s.io', kind: InClusterIPPool.info.kind, name: `pool-${pool}` }
}

/** 288 addresses: the last 32 are the first ones of the next pool. */
function poolOf(nth: number): KubeObject {
  const start = FIRST + nth * 256
  const addresses = [`${Address.format(Address.from4(start))}-${Address.format(Address.from4(start + 287))}`]
  const metadata = { namespace: 'default', name: `pool-${nth}` }
  return { ...identityOf(InClusterIPPool.info, metadata, nth), spec: { addresses, prefix: 8 } } as KubeObject
}

function addressOf(pool: number, place: number): KubeObject {
  const name = `claim-${pool}-${place}`
  const nth = pool * 256 + place
  const address = Address.format(Address.from4(FIRST + nth))
  const spec = { claimRef: { name }, poolRef: refOf(pool), address, prefix: 8 }
  return { ...identityOf(IPAddress.info, { namespace: 'default', name }, nth), spec } as KubeObject
}

function plans(planner: Planner<Outcome>, key: string): Side {
  const run = () => planner.plan(key, { nowMs: 0 })
  return { run, operations: 1, answer: () => run()?.outcome }
}

function poolChanges(planner: Planner<Outcome>): Side {
  return changesOf(planner, [addressOf(MEASURED, PLACE)])
}

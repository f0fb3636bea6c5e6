import { RangeSet } from 'ipam-kit/cidr'
import { phaseOf } from 'ipam-kit/claim'
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { isDeleting, type KubeObject, type ObjectRef } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import {
  type CloudFacts,
  cloudCaller,
  type ExternalPoolKind,
  externalPools,
  reservationsOf,
} from 'ipam-kit/provider/external'
import type { Store } from 'ipam-kit/store'
import { type Dice, FakeCloud, type SimulatedSystem, type SimulationRules } from 'ipam-kit/testing'
import { floatingIPPoolKind } from '../../../src/provider/openstack/pools.js'

const PAUSED = 'cluster.x-k8s.io/paused'
const CLAIMS = 5
/** The namespaces, with a pool of the same name in each, in one project of the cloud. */
const POOLS: {
  readonly [namespace: string]: {
    readonly reclaimPolicy: 'Delete' | 'Retain'
    readonly maxIPs: number
    readonly own: string
  }
} = {
  'team-a': { reclaimPolicy: 'Delete', maxIPs: 2, own: '203.0.113.200' },
  'team-b': { reclaimPolicy: 'Retain', maxIPs: 3, own: '203.0.113.201' },
}
/** Where pools of a cloud that can be asked for an address choose. */
const CHOSEN: { readonly [namespace: string]: string } = { 'team-a': '203.0.113.64/28', 'team-b': '203.0.113.208/28' }
/** Longer than any answer takes in a simulation. */
const CALL_SECONDS = 300

/**
 * A system of floating IP pools in two namespaces and one project of a cloud. Users create, delete
 * and pause claims, raise limits, and delete, restore and attach addresses in the cloud.
 *
 * Always: no two IPAddress objects have one address. No address is created without a reservation,
 * or beyond the limit. No address is deleted that no call has created, or that a pool retains. A
 * claim is Bound to an existing IPAddress. At rest: every created address belongs to a claim or is
 * available, and every claim that waits has a reason.
 */
export function floatingIPsSystem(facts: CloudFacts): SimulatedSystem {
  let now = () => 0
  const cloud = new FakeCloud({ now: () => now(), facts })
  const { id: network } = cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'], isExternal: true })
  const router = cloud.addNetwork({ name: 'inside', cidrs: ['10.0.0.0/24'], isExternal: false })
  const { id: port } = cloud.addPort({ device: 'other', network: router.id, fixedIPs: [] })
  const kind = facts.choosesAddress ? choosing : floatingIPPoolKind
  let starts = 0
  // what is marked afterwards belongs to the only pool of its network
  const second = cloud.addNetwork({ name: 'second', cidrs: ['203.0.113.192/26'], isExternal: true }).id
  const networkOf = (namespace: string) => (namespace === 'team-b' && facts.marker === 'after' ? second : network)
  const world: World = { cloud, networkOf, port }
  return {
    kinds: [IPAddressClaim, IPAddress, Cluster, OpenStackFloatingIPPool].map((model) => model.info),
    planner: () =>
      externalPools({ name: 'floating-ips', kind, facts, identity: `writer-${++starts}`, callSeconds: CALL_SECONDS }),
    external: cloudCaller(cloud),
    externalReads: ['findNetwork', 'listAddresses'],
    clock: (clock) => {
      now = clock
    },
    prepare: async (store) => {
      for (const [namespace, { own }] of Object.entries(POOLS)) {
        cloud.byHand.create({ network: networkOf(namespace), address: own })
        unwrap(await store.create(pool(namespace, networkOf(namespace))))
      }
    },
    act: (store, dice) => act(store, dice, world),
    rules: () => new FloatingIPRules(world, facts),
  }
}

interface World {
  readonly cloud: FakeCloud
  /** The id of the network of a pool. */
  networkOf(namespace: string): string
  /** Of a server of others. */
  readonly port: string
}

const choosing: ExternalPoolKind<OpenStackFloatingIPPool> = {
  ...floatingIPPoolKind,
  policyOf: (pool) => {
    const read = floatingIPPoolKind.policyOf(pool)
    const ranges = RangeSet.parse([CHOSEN[pool.metadata.namespace ?? ''] ?? ''])
    return read.ok ? { ok: true, policy: { ...read.policy, ranges } } : read
  },
}

async function act(store: Store, dice: Dice, { cloud, networkOf, port }: World): Promise<void> {
  const namespace = dice.pick(Object.keys(POOLS))
  const ref = refTo(IPAddressClaim.info, namespace, `claim-${dice.below(CLAIMS)}`)
  const blue = refTo(OpenStackFloatingIPPool.info, namespace, 'blue')
  const { own, maxIPs } = POOLS[namespace]!
  const draw = dice.next()
  if (draw < 0.4) await store.create(claim(ref))
  else if (draw < 0.66) await store.delete(ref)
  else if (draw < 0.72)
    await store.patch(ref, { metadata: { annotations: { [PAUSED]: dice.chance(0.5) ? '' : null } } })
  else if (draw < 0.76) await store.patch(blue, { spec: { maxIPs: maxIPs + 1 } })
  else if (draw < 0.8)
    await store.patch(blue, { metadata: { annotations: { 'ipam-kit.dev/min-free': `${dice.below(3)}` } } })
  else if (draw < 0.84)
    await store.patch(blue, { metadata: { annotations: { [PAUSED]: dice.chance(0.3) ? '' : null } } })
  else if (draw < 0.88) limit(cloud)
  else {
    const found = cloud.floatingIPs.find(({ address }) => address === own)
    const addresses = unwrap(await store.list(IPAddress.info)).items.map((object) => IPAddress.parse(object))
    if (addresses.some(({ spec }) => spec.address === own)) return
    // an address that people have brought goes, comes back, and is used otherwise for a while
    if (found === undefined) cloud.byHand.create({ network: networkOf(namespace), address: own })
    else if (found.port !== '') cloud.byHand.detach(found.id)
    else if (dice.chance(0.5) && !cloud.floatingIPs.some((each) => each.port === port))
      cloud.byHand.attach(found.id, port)
    else cloud.byHand.delete(found.id)
  }
}

/** A quota that is used up, for a minute. */
function limit(cloud: FakeCloud): void {
  const untilMs = cloud.nowMs + 60_000
  const used = cloud.floatingIPs.length
  Object.defineProperty(cloud, 'quota', {
    configurable: true,
    get: () => (cloud.nowMs < untilMs ? used : Number.POSITIVE_INFINITY),
  })
}

class FloatingIPRules implements SimulationRules {
  readonly #world: World
  readonly #facts: CloudFacts
  /** The text of each IPAddress that exists, by its uid, and the uids by text. */
  readonly #addresses = new Map<string, string>()
  readonly #names = new Set<string>()
  /** The pools as they are stored, by uid. */
  readonly #pools = new Map<string, OpenStackFloatingIPPool>()
  #created = 0
  #deleted = 0

  constructor(world: World, facts: CloudFacts) {
    this.#world = world
    this.#facts = facts
  }

  observe(change: Change): string | undefined {
    const problem = this.#inCloud()
    if (problem !== undefined) return problem
    const ref = change.kind === 'present' ? change.object : change.ref
    if (OpenStackFloatingIPPool.is(ref) && change.kind === 'present') {
      const read = OpenStackFloatingIPPool.parse(change.object)
      this.#pools.set(read.metadata.uid ?? '', read)
    }
    if (IPAddress.is(ref)) return this.#observeAddress(change)
    return IPAddressClaim.is(ref) ? this.#observeClaim(change) : undefined
  }

  async atRest(store: Store): Promise<string | undefined> {
    const list = async (model: typeof IPAddress | typeof IPAddressClaim | typeof OpenStackFloatingIPPool) =>
      unwrap(await store.list(model.info)).items
    const problem = this.#inCloud()
    if (problem !== undefined) return problem
    const pools = (await list(OpenStackFloatingIPPool)).map((object) => OpenStackFloatingIPPool.parse(object))
    const claims = (await list(IPAddressClaim)).map((object) => IPAddressClaim.parse(object))
    const addresses = (await list(IPAddress)).map((object) => IPAddress.parse(object))
    if (pools.some(isPaused)) return undefined
    const known = new Set([
      ...addresses.map(({ spec }) => spec.address),
      ...pools.flatMap(({ status }) => status?.availableIPs ?? []),
      ...pools.flatMap((pool) => {
        const read = reservationsOf(pool)
        const paused = claims.filter(isPaused).map(({ metadata }) => metadata.uid)
        return read.ok
          ? read.value.entries.flatMap((each) => (paused.includes(each.uid) ? (each.address ?? '') : []))
          : []
      }),
    ])
    // without a marker, and without a choice, what was created by a call whose answer was lost is
    // lost
    const mayLeak = this.#facts.marker === 'none' && !this.#facts.choosesAddress
    const isPending = claims.some((claim) => isPaused(claim) && phaseOf(claim) !== 'Bound')
    const lost = this.#made().filter(({ address }) => !known.has(address))
    if (lost.length > 0 && !mayLeak && !isPending)
      return `${lost.map(({ address }) => address).join(', ')}: created, and lost`
    for (const address of addresses) {
      const claim = claims.find(({ metadata }) => isSameName(metadata, address.metadata))
      if (claim === undefined) return `${address.metadata.name} is left without its claim`
    }
    for (const claim of claims) {
      const { name, namespace } = claim.metadata
      if (isPaused(claim)) continue
      if (isDeleting(claim)) return `${namespace}/${name} is still being deleted`
      if (phaseOf(claim) === 'Bound') continue
      const pool = pools.find(({ metadata }) => metadata.namespace === namespace)
      const reason = claim.status?.conditions?.find(({ type }) => type === 'Ready')?.reason
      const isFull = reason === 'PoolExhausted' || reason === 'BackendExhausted'
      if (!isFull) return `${namespace}/${name} waits for ${reason}`
      if ((pool?.status?.availableIPs ?? []).length > 0) return `${namespace}/${name} waits, and its pool has addresses`
    }
    return undefined
  }

  /** Floating IPs that calls have created and that are there. */
  #made() {
    const created = new Set(this.#world.cloud.created.filter(({ by }) => by === 'call').map(({ id }) => id))
    return this.#world.cloud.floatingIPs.filter(({ id }) => created.has(id))
  }

  /** What was done in the cloud since it was looked at. */
  #inCloud(): string | undefined {
    const { created, deleted } = this.#world.cloud
    const news = created.slice(this.#created)
    this.#created = created.length
    for (const { by, marker, address } of news) {
      if (by !== 'call') continue
      if (this.#facts.marker === 'atomic') {
        const [pool = '', claim = ''] = marker.split('/')
        const read = reservationsOf(this.#pools.get(pool) ?? { apiVersion: '', kind: '', metadata: { name: '' } })
        if (!read.ok || !read.value.entries.some(({ uid }) => uid === claim))
          return `${address} was created without a reservation`
        const max = this.#pools.get(pool)?.spec.maxIPs ?? 0
        const made = this.#world.cloud.created.filter((act) => act.by === 'call' && act.marker.startsWith(`${pool}/`))
        const there = made.filter(({ id }) => this.#world.cloud.floatingIPs.some((each) => each.id === id))
        if (there.length > max) return `${there.length} addresses of a pool that may have ${max}`
      }
    }
    const gone = deleted.slice(this.#deleted)
    this.#deleted = deleted.length
    for (const act of gone) {
      if (act.by !== 'call') continue
      const made = created.find(({ id }) => id === act.id)
      if (made?.by !== 'call') return `${act.address} was deleted, and no call had created it`
      const pool = this.#pools.get(act.marker.split('/')[0] ?? '')
      if (pool?.spec.reclaimPolicy === 'Retain') return `${act.address} was deleted, and its pool retains`
    }
    return undefined
  }

  #observeAddress(change: Change): string | undefined {
    const uid = (change.kind === 'present' ? change.object.metadata.uid : change.uid) as string
    const { namespace, name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (change.kind === 'absent') {
      this.#addresses.delete(uid)
      this.#names.delete(`${namespace}/${name}`)
      return undefined
    }
    const { address } = IPAddress.parse(change.object).spec
    this.#names.add(`${namespace}/${name}`)
    this.#addresses.set(uid, address)
    const holders = [...this.#addresses.values()].filter((held) => held === address).length
    if (holders > 1) return `${address} was given to ${holders} claims`
    return undefined
  }

  #observeClaim(change: Change): string | undefined {
    if (change.kind === 'absent' || isDeleting(change.object)) return undefined
    const claim = IPAddressClaim.parse(change.object)
    const { namespace, name } = claim.metadata
    const isBound = phaseOf(claim) === 'Bound'
    return isBound && !this.#names.has(`${namespace}/${name}`) ? `${namespace}/${name} is Bound to nothing` : undefined
  }
}

function isSameName(left: KubeObject['metadata'], right: KubeObject['metadata']): boolean {
  return left.name === right.name && left.namespace === right.namespace
}

function isPaused({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[PAUSED] !== undefined
}

function refTo(
  { apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>,
  namespace: string,
  name: string,
): ObjectRef {
  return { apiVersion, kind, namespace, name }
}

function pool(namespace: string, id: string): KubeObject {
  const { own, ...limits } = POOLS[namespace]!
  const { apiVersion, kind } = OpenStackFloatingIPPool.info
  const identityRef = { name: 'cloud', cloudName: 'openstack', type: 'Secret' }
  const spec = { identityRef, floatingIPNetwork: { id }, preAllocatedFloatingIPs: [own], ...limits }
  return { apiVersion, kind, metadata: { namespace, name: 'blue' }, spec } as KubeObject
}

function claim({ namespace, name }: ObjectRef): KubeObject {
  const { apiVersion, kind } = IPAddressClaim.info
  const { kind: poolKind } = OpenStackFloatingIPPool.info
  const poolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: poolKind, name: 'blue' }
  return { apiVersion, kind, metadata: { namespace, name }, spec: { poolRef } } as KubeObject
}

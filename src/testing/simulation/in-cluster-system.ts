import { Cluster } from '../../crd/cluster-api/cluster.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { InClusterIPPool, poolModels } from '../../crd/in-cluster/pools.js'
import { isDeleting, type KubeObject, type ObjectRef } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { unwrap } from '../../errors/index.js'
import type { Change } from '../../plan/index.js'
import { inCluster, PoolLedger } from '../../provider/in-cluster/index.js'
import type { Store } from '../../store/index.js'
import type { Dice } from './dice.js'
import type { ObservedWrite, SimulatedSystem, SimulationRules } from './simulate.js'

const NAMESPACE = 'default'
const PAUSED = 'cluster.x-k8s.io/paused'
const CLAIMS = 6

/**
 * What the pools have, and what they may be changed to: too little for all claims, and with
 * addresses that fall out.
 */
const POOLS: { readonly [name: string]: readonly (readonly string[])[] } = {
  'pool-a': [['10.0.0.2-10.0.0.4'], ['10.0.0.2-10.0.0.3'], ['10.0.0.3-10.0.0.7']],
  'pool-b': [['10.1.0.2-10.1.0.3'], ['10.1.0.2-10.1.0.5'], ['10.1.0.9']],
}

export interface InClusterSystemOptions {
  /**
   * As in the options of `inCluster`. With it, users also delete claims by force, and remove their
   * finalizers.
   */
  readonly sweepAfterSeconds?: number | undefined
  /** Whether consumers hold some claims by a finalizer, and release them later. Default false. */
  readonly consumers?: boolean | undefined
  /**
   * Whether writers may be suspended between their check that they may write and a write
   * (`stand-still` of the faults). A late write may then create a second IPAddress with an address.
   * No two claims are Bound to one address even then. At rest no such IPAddress is left, except one
   * that looks restored. Default false.
   */
  readonly standing?: boolean | undefined
}

const IN_CLUSTER_SYSTEM_OPTIONS: KindOf<InClusterSystemOptions> = {
  sweepAfterSeconds: 'number?',
  consumers: 'flag?',
  standing: 'flag?',
}

/**
 * A system of the in-cluster provider of Cluster API with two small pools. Users create, delete and
 * pause claims, and change the pools.
 *
 * Always: no two IPAddress objects of a pool have one address. No claim that lives, or that a
 * consumer holds, loses its address. At rest: every claim that can have an address has one, and no
 * address is left without a claim.
 */
export function inClusterSystem(options: InClusterSystemOptions = {}): SimulatedSystem {
  check('inClusterSystem', 'options', options, IN_CLUSTER_SYSTEM_OPTIONS)

  // an object that arrives after its claim was deleted is swept
  const { consumers = false, standing = false, sweepAfterSeconds = standing ? 1 : undefined } = options
  const people = sweepAfterSeconds === undefined ? act : actOrForce
  return {
    kinds: [IPAddressClaim, IPAddress, Cluster, ...poolModels].map((model) => model.info),
    planner: () => inCluster({ sweepAfterSeconds }),
    prepare: async (store) => {
      for (const [name, [addresses = []]] of Object.entries(POOLS)) unwrap(await store.create(pool(name, addresses)))
    },
    act: consumers ? (store, dice) => (dice.chance(0.3) ? actAsConsumer(store, dice) : people(store, dice)) : people,
    rules: () => new InClusterRules({ isForced: sweepAfterSeconds !== undefined, isStanding: standing }),
  }
}

async function act(store: Store, dice: Dice): Promise<void> {
  const name = `claim-${dice.below(CLAIMS)}`
  const ref = refTo(IPAddressClaim.info, name)
  const draw = dice.next()
  if (draw < 0.5) await store.create(claim(name, dice.pick(Object.keys(POOLS))))
  else if (draw < 0.8) await store.delete(ref)
  else if (draw < 0.9) {
    const poolName = dice.pick(Object.keys(POOLS))
    await store.patch(refTo(InClusterIPPool.info, poolName), { spec: { addresses: dice.pick(POOLS[poolName]!) } })
  } else await store.patch(ref, { metadata: { annotations: { [PAUSED]: dice.chance(0.5) ? '' : null } } })
}

async function actOrForce(store: Store, dice: Dice): Promise<void> {
  if (!dice.chance(0.2)) return act(store, dice)
  const ref = refTo(IPAddressClaim.info, `claim-${dice.below(CLAIMS)}`)
  await store.patch(ref, { metadata: { finalizers: [] } })
  await store.delete(ref)
}

const CONSUMER = 'example.com/in-use'

/**
 * Holds a claim that is not held, or lets one go. Now and then an IPAddress is deleted under it.
 */
async function actAsConsumer(store: Store, dice: Dice): Promise<void> {
  const name = `claim-${dice.below(CLAIMS)}`
  if (dice.chance(0.2)) return void (await store.delete(refTo(IPAddress.info, name)))
  const found = await store.get(refTo(IPAddressClaim.info, name))
  if (!found.ok) return
  const { finalizers = [], resourceVersion } = found.value.metadata
  const others = finalizers.filter((finalizer) => finalizer !== CONSUMER)
  const changed = isHeld(found.value) ? others : [...others, CONSUMER]
  await store.patch(refTo(IPAddressClaim.info, name), { metadata: { finalizers: changed } }, { resourceVersion })
}

/** Whether a consumer holds a claim. */
export function isHeld({ metadata: { finalizers } }: KubeObject): boolean {
  return finalizers?.includes(CONSUMER) === true
}

/** What always has to hold of pools, claims and IPAddress objects of the in-cluster provider. */
export class InClusterRules implements SimulationRules {
  readonly #isForced: boolean
  readonly #isStanding: boolean
  readonly #hasRows: boolean

  /**
   * @param isForced whether claims may go without their addresses
   * @param isStanding whether only claims that are Bound have an address to themselves at all times
   * @param hasRows whether rows in blocks are the ledger: an IPAddress whose create was held back
   * is then no more than a leftover, as long as its claim is not Bound
   */
  constructor(options: { readonly isForced: boolean; readonly isStanding?: boolean; readonly hasRows?: boolean }) {
    const { isForced, isStanding = false, hasRows = false } = options
    this.#isForced = isForced
    this.#isStanding = isStanding
    this.#hasRows = hasRows
  }

  /** The uids of the IPAddress objects that have an address, by pool and address. */
  readonly #holders = new Map<string, Set<string>>()
  /** Under which of those each of them is. */
  readonly #places = new Map<string, string>()
  readonly #living = new Set<string>()
  /** Of those, the ones that are Bound. */
  readonly #bound = new Set<string>()
  /** The IPAddress objects whose create was held back, by uid. */
  readonly #late = new Set<string>()

  observe(change: Change, { isHeldBack }: ObservedWrite): string | undefined {
    const ref = change.kind === 'present' ? change.object : change.ref
    if (IPAddressClaim.is(ref)) return this.#observeClaim(change)
    return IPAddress.is(ref) ? this.#observeAddress(change, isHeldBack) : undefined
  }

  /** @param beside what is held otherwise than by the IPAddress objects that are stored */
  async atRest(store: Store, beside: readonly IPAddress[] = []): Promise<string | undefined> {
    const list = async (kind: ObjectKind) =>
      unwrap(await store.list({ apiVersion: kind.apiVersion, kind: kind.kind })).items
    const claims = (await list(IPAddressClaim.info)).map((object) => IPAddressClaim.parse(object))
    const addresses = (await list(IPAddress.info)).map((object) => IPAddress.parse(object))
    const pools = (await list(InClusterIPPool.info)).map((object) => InClusterIPPool.parse(object))
    const claimed = new Set(claims.map(({ metadata }) => metadata.uid))
    const isRefused = (name: string) => this.#isStanding && isRefusedAdoption(name, claims, addresses)
    // nothing is done about what came late for a claim that is paused
    const isLeft = ({ uid = '', name }: IPAddress['metadata']) =>
      (this.#isStanding || this.#late.has(uid)) &&
      claims.some((claim) => claim.metadata.name === name && isPaused(claim))
    const places = addresses.filter(({ metadata }) => !isRefused(metadata.name) && !isLeft(metadata)).map(placeOf)
    if (new Set(places).size < places.length) return 'two IPAddress objects have one address'
    for (const address of addresses) {
      const owner = ownerOf(address)
      // a claim that is paused has not adopted yet what one before it has left
      const heir = this.#isForced ? claims.find(({ metadata }) => metadata.name === address.metadata.name) : undefined
      if (heir !== undefined && (isPaused(heir) || isRefused(heir.metadata.name))) continue
      if (owner === undefined || !claimed.has(owner)) return `${address.metadata.name} is left without its claim`
    }
    for (const it of claims) {
      const { name } = it.metadata
      if (isPaused(it) || isRefused(name)) continue
      if (isDeleting(it) && isHeld(it)) continue
      if (isDeleting(it)) return `${name} is still being deleted`
      const own = addresses.find((address) => ownerOf(address) === it.metadata.uid)
      const named = it.status?.addressRef?.name
      if (own !== undefined && named !== own.metadata.name) return `${name} does not name its address`
      if (own === undefined && named !== undefined) return `${name} names an address that is not there`
      if (own !== undefined) continue
      const from = pools.find(({ metadata }) => metadata.name === it.spec.poolRef.name)!
      const ledger = PoolLedger.build(
        from,
        [...addresses, ...beside].filter(({ spec }) => spec.poolRef.name === from.metadata.name),
      )
      if (ledger.next() !== undefined) return `${name} waits, and ${from.metadata.name} has free addresses`
    }
    return undefined
  }

  #observeClaim(change: Change): string | undefined {
    const uid = change.kind === 'present' ? change.object.metadata.uid! : change.uid!
    const isAlive = change.kind === 'present' && (!isDeleting(change.object) || isHeld(change.object))
    const claim = isAlive ? IPAddressClaim.parse(change.object) : undefined
    if (claim === undefined) this.#living.delete(uid)
    else this.#living.add(uid)
    if (claim?.status?.addressRef?.name === undefined) this.#bound.delete(uid)
    else this.#bound.add(uid)
    const place = this.#isStanding || this.#late.size > 0 ? this.#placeOf(uid) : undefined
    return place === undefined ? undefined : this.#problemAt(place)
  }

  /** Where the IPAddress of a claim is. */
  #placeOf(claim: string): string | undefined {
    for (const [address, owner] of this.#owners)
      if (owner === claim && this.#places.has(address)) return this.#places.get(address)
    return undefined
  }

  /** What is wrong about those that have one address. */
  #problemAt(place: string): string | undefined {
    const holders = [...(this.#holders.get(place) ?? [])]
    const isBound = (uid: string) => this.#bound.has(this.#owners.get(uid) ?? '')
    const counts = (uid: string) => isBound(uid) || !(this.#isStanding || this.#late.has(uid))
    const count = holders.filter(counts).length
    return count > 1 ? `${place} was given to ${count} claims` : undefined
  }

  #observeAddress(change: Change, isHeldBack: boolean): string | undefined {
    const uid = change.kind === 'present' ? change.object.metadata.uid! : change.uid!
    if (change.kind === 'absent') {
      const place = this.#places.get(uid)
      const owner = this.#owners.get(uid)
      if (place !== undefined) this.#holders.get(place)?.delete(uid)
      this.#places.delete(uid)
      const users = this.#isStanding || this.#late.delete(uid) ? this.#bound : this.#living
      return owner !== undefined && users.has(owner) ? `${place} was taken from a claim that lives` : undefined
    }
    const place = placeOf(IPAddress.parse(change.object))
    if (isHeldBack && this.#hasRows && !this.#places.has(uid)) this.#late.add(uid)
    this.#places.set(uid, place)
    const owner = ownerOf(change.object)
    if (owner !== undefined) this.#owners.set(uid, owner)
    const holders = this.#holders.get(place) ?? new Set<string>()
    this.#holders.set(place, holders.add(uid))
    return this.#problemAt(place)
  }

  readonly #owners = new Map<string, string>()
}

function placeOf({ spec }: IPAddress): string {
  return `${spec.poolRef.kind} ${spec.poolRef.name} ${spec.address}`
}

/**
 * Whether a claim has no address because an IPAddress of its name is of an earlier claim, whose
 * address another one has by now: that is what a restored one looks like, and only people know.
 */
function isRefusedAdoption(name: string, claims: readonly IPAddressClaim[], addresses: readonly IPAddress[]): boolean {
  const claim = claims.find(({ metadata }) => metadata.name === name)
  const own = addresses.find(({ metadata }) => metadata.name === name)
  const ready = claim?.status?.conditions?.find(({ type }) => type === 'Ready')
  if (claim === undefined || own === undefined || ownerOf(own) === claim.metadata.uid) return false
  const isShared = addresses.some((other) => other !== own && placeOf(other) === placeOf(own))
  return isShared && ready?.reason === 'AllocationFailed' && ready.message.includes('is also that of')
}

export function isPaused({ metadata: { annotations } }: KubeObject): boolean {
  return annotations !== undefined && PAUSED in annotations
}

type ObjectKind = Pick<ObjectRef, 'apiVersion' | 'kind'>

/** The uid of the claim that an address belongs to. */
function ownerOf({ metadata }: KubeObject): string | undefined {
  return metadata.ownerReferences?.find(({ kind }) => kind === IPAddressClaim.info.kind)?.uid
}

function refTo({ apiVersion, kind }: ObjectKind, name: string): ObjectRef {
  return { apiVersion, kind, namespace: NAMESPACE, name }
}

function claim(name: string, poolName: string): KubeObject {
  const { apiVersion, kind } = IPAddressClaim.info
  const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: InClusterIPPool.info.kind, name: poolName }
  return { apiVersion, kind, metadata: { namespace: NAMESPACE, name }, spec: { poolRef } }
}

function pool(name: string, addresses: readonly string[]): KubeObject {
  const { apiVersion, kind } = InClusterIPPool.info
  return { apiVersion, kind, metadata: { namespace: NAMESPACE, name }, spec: { addresses, prefix: 24 } }
}

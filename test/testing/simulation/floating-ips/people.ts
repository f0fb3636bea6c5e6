import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Dice } from 'ipam-kit/testing'
import type { WorldClock } from './clock.js'
import { type Cluster, type Room, refOf } from './cluster.js'
import type { FaultKind } from './faults.js'
import {
  claimObject,
  isAlive,
  isPaused,
  MOVING,
  PAUSED,
  type PoolSpec,
  poolObject,
  serverObject,
  specOf,
} from './kinds.js'
import { OWN_ADDRESSES, type Project } from './project.js'
import type { Trace } from './trace.js'

const POOL = 'blue'
const NAMESPACES = ['team-a', 'team-b'] as const
const CLAIMS = 3
const SERVERS = 2
/** The id of a network that does not exist. */
const NO_NETWORK = '00000000-0000-4000-8000-00000000dead'
const MIN_FREE = 'ipam-kit.dev/min-free'

/** What people need of the world. */
export interface PeopleWorld {
  readonly clock: WorldClock
  readonly trace: Trace
  readonly project: Project
  readonly clusters: readonly Cluster[]
  dice(kind: FaultKind | 'people'): Dice
  isOn(kind: FaultKind): boolean
  /** The claim or the pool that the last fault was about, if people know it. */
  readonly hotSpot: string
}

/** The users of clusters: they create, change and delete claims, pools and servers. */
export class People {
  readonly #world: PeopleWorld
  /** The port of each server, by its cluster and its key. */
  readonly ports = new Map<string, string>()
  #instances = 0

  constructor(world: PeopleWorld) {
    this.#world = world
  }

  /** The pools of the first cluster, and the addresses that people bring. */
  async prepare(): Promise<void> {
    const { project } = this.#world
    const [network = ''] = project.networks
    for (const address of OWN_ADDRESSES.slice(0, 3)) project.cloud.byHand.create({ network, address })
    project.note(undefined)
    const [cluster] = this.#world.clusters
    const own: readonly (readonly string[])[] = [OWN_ADDRESSES.slice(0, 2), OWN_ADDRESSES.slice(2, 3)]
    for (const [nth, namespace] of NAMESPACES.entries()) {
      const named = this.#world.isOn('shared-address') ? OWN_ADDRESSES.slice(0, 3) : own[nth]
      await this.#createPool(cluster as Cluster, namespace, named)
    }
  }

  /** One step that no fault is needed for. */
  async act(): Promise<void> {
    const dice = this.#world.dice('people')
    const cluster = dice.pick(this.#world.clusters)
    const { hotSpot } = this.#world
    const isHot = dice.chance(0.4)
    const [namespace = ''] = isHot && hotSpot !== '' ? hotSpot.split('/') : [dice.pick(NAMESPACES)]
    const key = isHot && hotSpot.includes('/claim-') ? hotSpot : `${namespace}/claim-${dice.below(CLAIMS)}`
    if (this.#world.isOn('servers') && dice.chance(0.4)) {
      await this.#actOnServer(cluster, `${namespace}/server-${dice.below(SERVERS)}`)
    } else if (cluster.claims.has(key) && dice.chance(0.8)) await this.#delete(cluster, 'claims', key)
    else await this.#createClaim(cluster, key)
  }

  /** One step of a kind of fault. */
  async actOf(kind: FaultKind): Promise<void> {
    const dice = this.#world.dice(kind)
    const cluster = dice.pick(this.#world.clusters)
    const [namespace] = this.#world.hotSpot.split('/')
    const hot = `${namespace}/${POOL}`
    const pools = [...cluster.pools.keys()]
    if (pools.length === 0) return
    const pool = cluster.pools.has(hot) && dice.chance(0.5) ? hot : dice.pick(pools)
    if (kind === 'recreate-claims') await this.#recreateClaim(cluster, dice)
    else if (kind === 'recreate-pools') await this.#recreatePool(cluster, pool, dice)
    else if (kind === 'limit') await this.#edit(cluster, pool, { maxIPs: dice.pick([0, 1, 1, 2, 2, 3, 4, null]) })
    else if (kind === 'reclaim') await this.switchReclaim(cluster, pool)
    else if (kind === 'edit-spec') await this.#editSpec(cluster, pool, dice)
    else if (kind === 'pause') await this.#pause(cluster, pool, dice)
  }

  async switchReclaim(cluster: Cluster, key: string): Promise<void> {
    const pool = cluster.pools.get(key)
    if (pool === undefined) return
    await this.#edit(cluster, key, { reclaimPolicy: specOf(pool).reclaimPolicy === 'Delete' ? 'Retain' : 'Delete' })
  }

  /** Nothing is paused any more. */
  async unpauseAll(): Promise<void> {
    for (const cluster of this.#world.clusters) {
      for (const room of ['pools', 'claims'] as const) {
        for (const [key, object] of [...cluster[room]])
          if (isPaused(object)) await this.#setPause(cluster, room, key, null)
      }
    }
  }

  async #createPool(cluster: Cluster, namespace: string, named: readonly string[] = []): Promise<boolean> {
    const { project } = this.#world
    const dice = this.#world.dice('people')
    const limits = dice.chance(0.8) ? { maxIPs: 1 + dice.below(4) } : {}
    const spec: PoolSpec = {
      reclaimPolicy: dice.chance(0.65) ? 'Delete' : 'Retain',
      floatingIPNetwork: { id: project.networks[0] ?? '' },
      preAllocatedFloatingIPs: dice.chance(0.7) ? named : [],
      ...limits,
    }
    const minFree = dice.below(5)
    const annotations: { [name: string]: string } = minFree > 2 ? { [MIN_FREE]: String(minFree - 2) } : {}
    const isDone = await cluster.create(poolObject({ namespace, name: POOL }, spec, annotations))
    if (isDone) this.#tell(cluster, `create pool ${namespace}/${POOL} ${JSON.stringify({ ...spec, minFree })}`)
    return isDone
  }

  async #createClaim(cluster: Cluster, key: string): Promise<boolean> {
    const [namespace = '', name = ''] = key.split('/')
    const isDone = await cluster.create(claimObject({ namespace, name }, POOL))
    if (isDone) this.#tell(cluster, `create claim ${key}`)
    return isDone
  }

  async #actOnServer(cluster: Cluster, key: string): Promise<void> {
    if (cluster.servers.has(key)) return this.#delete(cluster, 'servers', key)
    const [namespace = '', name = ''] = key.split('/')
    const instanceID = `instance-${++this.#instances}`
    const created = await cluster.store.create(serverObject({ namespace, name }, POOL))
    if (!created.ok) return
    const { uid } = created.value.metadata
    const port = this.#world.project.addPort(instanceID)
    this.ports.set(`${cluster.name} ${key}`, port)
    this.#tell(cluster, `create server ${key} with ${instanceID} and port ${port}`)
    await this.#world.clock.wait(this.#world.dice('servers').below(20_000))
    const patched = { subresource: 'status', uid } as const
    const { ok } = await cluster.store.patch(refOf('servers', key), { status: { instanceID } }, patched)
    if (ok) this.#tell(cluster, `server ${key} has ${instanceID}`)
  }

  async #recreateClaim(cluster: Cluster, dice: Dice): Promise<void> {
    const keys = [...cluster.claims.keys()].filter((key) => key.includes('/claim-'))
    if (keys.length === 0) return
    const { hotSpot } = this.#world
    const key = keys.includes(hotSpot) && dice.chance(0.5) ? hotSpot : dice.pick(keys)
    await this.#delete(cluster, 'claims', key)
    await this.#untilDone(() => this.#createClaim(cluster, key), dice, 40)
  }

  /** A pool ends when its claims have ended. */
  async #recreatePool(cluster: Cluster, key: string, dice: Dice): Promise<void> {
    const [namespace = ''] = key.split('/')
    const named = specOf(cluster.pools.get(key) as KubeObject).preAllocatedFloatingIPs
    await this.#delete(cluster, 'pools', key)
    await this.#world.clock.wait(dice.pick([0, 500, 5000, 30_000]))
    for (const room of ['servers', 'claims'] as const) {
      for (const each of [...cluster[room].keys()].filter((other) => other.startsWith(`${namespace}/`))) {
        if (dice.chance(0.9)) await this.#delete(cluster, room, each)
      }
    }
    await this.#untilDone(() => this.#createPool(cluster, namespace, named), dice, 200)
  }

  async #untilDone(action: () => Promise<boolean>, dice: Dice, times: number): Promise<void> {
    for (let tried = 0; tried < times; tried++) {
      await this.#world.clock.wait(dice.pick([20, 200, 2000]))
      if (await action()) return
    }
  }

  async #editSpec(cluster: Cluster, key: string, dice: Dice): Promise<void> {
    const { project } = this.#world
    if (dice.chance(0.25)) {
      await this.#edit(cluster, key, { floatingIPNetwork: { id: dice.pick([...project.networks, NO_NETWORK]) } })
      return
    }
    const before = specOf(cluster.pools.get(key) as KubeObject).preAllocatedFloatingIPs ?? []
    const created = project.existing.filter(({ owner }) => owner?.pool === key).map(({ text }) => text)
    const text = dice.pick([...OWN_ADDRESSES, ...created, 'no address'])
    const named = before.includes(text) ? before.filter((each) => each !== text) : [...before, text]
    await this.#edit(cluster, key, { preAllocatedFloatingIPs: named })
  }

  async #pause(cluster: Cluster, pool: string, dice: Dice): Promise<void> {
    const claims = [...cluster.claims.keys()]
    const room = claims.length > 0 && dice.chance(0.7) ? 'claims' : 'pools'
    const key = room === 'claims' ? dice.pick(claims) : pool
    await this.#setPause(cluster, room, key, '')
    await this.#world.clock.wait(dice.pick([1000, 20_000, 60_000]))
    await this.#setPause(cluster, room, key, null)
  }

  async #setPause(cluster: Cluster, room: Room, key: string, value: '' | null): Promise<void> {
    const object = cluster[room].get(key)
    if (value !== null && !isAlive(object)) return
    // what a move has paused stays so
    if (object?.metadata.annotations?.[PAUSED] === MOVING) return
    const isDone = await cluster.patch(room, key, { metadata: { annotations: { [PAUSED]: value } } })
    if (isDone) this.#tell(cluster, `${value === null ? 'continue' : 'pause'} ${room} ${key}`)
  }

  async #edit(cluster: Cluster, key: string, spec: object): Promise<void> {
    if (await cluster.patch('pools', key, { spec } as never))
      this.#tell(cluster, `edit pool ${key} ${JSON.stringify(spec)}`)
  }

  async #delete(cluster: Cluster, room: Room, key: string): Promise<void> {
    if (!isAlive(cluster[room].get(key))) return
    this.#tell(cluster, `delete ${room} ${key}`)
    await cluster.delete(room, key)
  }

  #tell({ name }: Cluster, text: string): void {
    this.#world.trace.step(`people of ${name}`, text)
  }
}

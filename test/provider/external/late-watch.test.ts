import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, Model } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { type Effect, ObjectCache } from 'ipam-kit/plan'
import { RESERVATIONS_ANNOTATION } from 'ipam-kit/provider/external'
import { expect, test } from 'vitest'
import type { Reservations } from '../../../src/provider/external/reservations.js'
import { claim, NAMESPACE, pool, unwrap, World } from './world.js'

const keyOf = (name: string) => `OpenStackFloatingIPPool ${NAMESPACE}/${name}`

const NO_ANSWER = { ok: false, failure: { message: 'no answer', retryable: true } } as const

/**
 * A process that is told of the objects of one kind when the test says so, and whose plans are not
 * carried out.
 */
class Watcher {
  readonly #world: World
  readonly #cache = new ObjectCache()
  readonly #planner: ReturnType<World['start']>

  constructor(world: World) {
    this.#world = world
    this.#planner = world.start()
    this.#planner.share(this.#cache)
  }

  /** Lists a kind, as of now, or as nothing if it is late. */
  async hears(model: Pick<Model<KubeObject>, 'info'>, { isLate = false } = {}): Promise<void> {
    const listed = unwrap(await this.#world.store.list(model.info))
    const items = isLate ? [] : listed.items
    for (const object of items) {
      this.#planner.wakes(this.#cache.apply({ kind: 'present', object }))
    }
    const selection = this.#planner.watches.find(({ kind }) => kind === model.info.kind)!
    this.#cache.complete(selection, isLate ? '1' : listed.resourceVersion)
  }

  /** The effects of a plan, with the cloud asked until it has nothing to ask any more. */
  async plan(key: string): Promise<readonly Effect[]> {
    for (;;) {
      const effects = this.#planner.plan(key, { nowMs: this.#world.nowMs })?.effects ?? []
      const asked = effects.find((effect) => effect.kind === 'external')
      if (asked === undefined) return effects
      const answer = await this.#world.external(asked.call)
      this.#planner.onResult?.({ call: asked.call, answer, atMs: this.#world.nowMs })
    }
  }

  /** What a plan of the pool reserves anew; `undefined`: nothing. */
  async reserves(name = 'blue'): Promise<readonly string[] | undefined> {
    const patches = (await this.plan(keyOf(name))).filter((effect) => effect.kind === 'patch')
    const texts = patches.flatMap(({ patch }) => {
      const { metadata } = patch as { metadata?: { annotations?: { [name: string]: string } } }
      return metadata?.annotations?.[RESERVATIONS_ANNOTATION] ?? []
    })
    return texts[0] === undefined ? undefined : (JSON.parse(texts[0]) as Reservations).entries.map((each) => each.claim)
  }
}

test('a process whose watch of IPAddress objects is late reserves nothing', async () => {
  const world = new World()
  world.cloud.byHand.create({ network: world.network, address: '203.0.113.20' })
  const policy = { maxIPs: 0, reclaimPolicy: 'Retain', preAllocatedFloatingIPs: ['203.0.113.20'] } as const
  await world.create(pool(policy), claim('c1'))
  const first = world.start()
  await world.run({ planner: first })
  expect(await world.claims()).toEqual({ c1: '203.0.113.20' })
  await world.create(claim('c2'))

  const second = new Watcher(world)
  for (const model of [Cluster, OpenStackFloatingIPPool, IPAddressClaim]) await second.hears(model)
  await second.hears(IPAddress, { isLate: true })
  await second.plan(`IPAddressClaim ${NAMESPACE}/c2`)
  // the entry of c1 has gone, and its IPAddress is not known yet
  expect(await second.reserves()).toBeUndefined()
  await second.hears(IPAddress)
  expect(await second.reserves()).toBeUndefined()
})

test('a process sends no call for an entry of another one', async () => {
  const world = new World()
  await world.create(pool(), claim('c1'))
  const lost: World['external'] = async (call) =>
    call.operation === 'createAddress'
      ? { ok: false, failure: { message: 'no answer', retryable: true } }
      : world.external(call)
  await world.run({ external: lost })
  const second = new Watcher(world)
  for (const model of [Cluster, OpenStackFloatingIPPool, IPAddressClaim, IPAddress]) await second.hears(model)
  await second.plan(keyOf('blue'))
  expect(await second.plan(`IPAddressClaim ${NAMESPACE}/c1`)).toEqual([])
  expect(world.cloud.calls.get('createAddress')).toBeUndefined()
})

test('of two pools that name an address the younger one reserves it for nothing, whatever the older one has done', async () => {
  const world = new World()
  world.cloud.byHand.create({ network: world.network, address: '203.0.113.20' })
  const policy = { maxIPs: 0, preAllocatedFloatingIPs: ['203.0.113.20'] }
  for (const name of ['blue', 'green']) {
    await world.create(pool(policy, { name }), claim(`of-${name}`, { pool: name }))
    world.nowMs += 1000
  }
  // what each pool begins with
  for (const _ of [1, 2]) await world.run({ planner: new World().start(), external: async () => NO_ANSWER })
  const second = new Watcher(world)
  for (const model of [Cluster, OpenStackFloatingIPPool, IPAddressClaim, IPAddress]) await second.hears(model)
  for (const name of ['blue', 'green']) await second.plan(keyOf(name))
  await second.plan(`IPAddressClaim ${NAMESPACE}/of-green`)
  expect(await second.reserves('green')).toBeUndefined()
  await second.plan(`IPAddressClaim ${NAMESPACE}/of-blue`)
  expect(await second.reserves('blue')).toEqual(['of-blue'])
})

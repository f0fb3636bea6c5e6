import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, Model } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { type Effect, ObjectCache } from 'ipam-kit/plan'
import { RESERVATIONS_ANNOTATION } from 'ipam-kit/provider/external'
import type { Reservations } from '../../../src/provider/external/reservations.js'
import { passResult } from '../pass-result.js'
import { NAMESPACE, unwrap, type World } from './world.js'

export const keyOf = (name: string) => `OpenStackFloatingIPPool ${NAMESPACE}/${name}`

/**
 * A process that is told of the objects of one kind when the test says so, and whose plans are not
 * carried out.
 */
export class Watcher {
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
    const list = isLate ? { items: [], resourceVersion: '1' } : listed
    const selection = this.#planner.watches.find(({ kind }) => kind === model.info.kind)!
    const found = this.#cache.changesOf(selection, list, this.#cache.clock)
    if (found.kind === 'went-back') throw new Error(found.how)
    for (const change of found.changes) this.#planner.wakes(this.#cache.apply(change))
    this.#cache.complete(selection, list.resourceVersion)
  }

  /** Lists each kind, as of now. */
  async hearsAll(): Promise<void> {
    for (const model of [Cluster, OpenStackFloatingIPPool, IPAddressClaim, IPAddress]) await this.hears(model)
  }

  /** The effects of a plan, with the cloud asked until it has nothing to ask any more. */
  async plan(key: string): Promise<readonly Effect[]> {
    for (;;) {
      const effects = this.#planner.plan(key, { nowMs: this.#world.nowMs })?.effects ?? []
      const asked = effects.find((effect) => effect.kind === 'external')
      if (asked === undefined) return effects
      const answer = await this.#world.external(asked.call)
      passResult(this.#planner, { call: asked.call, answer, atMs: this.#world.nowMs })
    }
  }

  /** What a plan of the pool reserves anew; `undefined`: nothing. */
  async reserves(name = 'blue'): Promise<readonly string[] | undefined> {
    return (await this.writes(name))?.entries.map((each) => each.claim)
  }

  /** The reservations that a plan of the pool writes; `undefined`: none. */
  async writes(name = 'blue'): Promise<Reservations | undefined> {
    const patches = (await this.plan(keyOf(name))).filter((effect) => effect.kind === 'patch')
    const texts = patches.flatMap(({ patch }) => {
      const { metadata } = patch as { metadata?: { annotations?: { [name: string]: string } } }
      return metadata?.annotations?.[RESERVATIONS_ANNOTATION] ?? []
    })
    return texts[0] === undefined ? undefined : (JSON.parse(texts[0]) as Reservations)
  }
}

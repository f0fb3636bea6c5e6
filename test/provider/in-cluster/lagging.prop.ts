import fc from 'fast-check'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runPlan } from 'ipam-kit/run'
import type { WatchEvent } from 'ipam-kit/store'
import { expect, test } from 'vitest'
import { isDeep, runs } from '../../setup/depth.js'
import { claim, claimRef, kinds, pool, World } from './world.js'

const CLAIMS = ['a', 'b', 'c']
/** Places in `kinds` of the watches that have something to tell: claims, addresses, pools. */
const HEARD = [0, 0, 0, 0, 1, 1, 1, 3]

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('claim' as const), name: fc.constantFrom(...CLAIMS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('unclaim' as const), name: fc.constantFrom(...CLAIMS) }) },
  { weight: 14, arbitrary: fc.record({ do: fc.constant('onResult' as const), kind: fc.constantFrom(...HEARD) }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('plan' as const), which: fc.nat(5) }) },
)

/**
 * A controller whose watches, one for each kind, may lag behind its own writes and behind each
 * other as far as they like.
 */
class Controller {
  readonly planner = inCluster()
  readonly #world: World
  readonly #watches: AsyncIterator<WatchEvent>[]
  readonly #keys = new Set<string>()

  constructor(world: World) {
    this.#world = world
    this.#watches = kinds.map((kind) => world.store.watch(kind, { resourceVersion: '1' })[Symbol.asyncIterator]())
  }

  /** The next event of one watch, if there is one. */
  async hear(kind: number): Promise<boolean> {
    const watch = this.#watches[kind] as AsyncIterator<WatchEvent>
    const nothing = Symbol('nothing')
    this.#pending[kind] ??= watch.next()
    // an event that is there resolves within a few turns; what is still open after them is the wait
    // for one that is not
    const turns = (async () => {
      for (let turn = 0; turn < 10; turn++) await undefined
      return nothing
    })()
    const next = await Promise.race([this.#pending[kind], turns])
    if (next === nothing) return false
    this.#pending[kind] = undefined
    const event = (next as IteratorResult<WatchEvent>).value as WatchEvent
    if (event.type === 'ADDED' || event.type === 'MODIFIED') this.#show(event.object)
    else if (event.type === 'DELETED') {
      const { apiVersion, kind: name, metadata } = event.object
      const ref = { apiVersion, kind: name, namespace: metadata.namespace, name: metadata.name }
      this.#enqueue(this.planner.observe({ kind: 'absent', ref, uid: metadata.uid }))
    }
    return true
  }
  readonly #pending: (Promise<IteratorResult<WatchEvent>> | undefined)[] = []

  /** Plans one of the waiting keys and writes. */
  async plan(which: number): Promise<boolean> {
    const keys = [...this.#keys]
    const key = keys[which % Math.max(1, keys.length)]
    if (key === undefined) return false
    this.#keys.delete(key)
    const plan = this.planner.plan(key, { nowMs: this.#world.nowMs })
    if (plan === undefined) return true
    const onChange = (change: Parameters<typeof this.planner.observe>[0]) => this.#enqueue(this.planner.observe(change))
    const ended = await runPlan(plan, this.#world.store, { onChange })
    if (ended.kind === 'conflict') this.#keys.add(key)
    return ended.kind !== 'conflict'
  }

  #show(object: KubeObject): void {
    this.#enqueue(this.planner.observe({ kind: 'present', object }))
  }

  #enqueue(keys: Iterable<string>): void {
    for (const key of keys) this.#keys.add(key)
  }
}

async function nothingTwice(world: World): Promise<void> {
  const given = (await world.addresses()).map((it) => it.spec.address)
  expect(new Set(given).size, given.join()).toBe(given.length)
}

test('watches that lag behind lead to no address twice, and in the end to what a fresh provider makes of it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 50, maxLength: 250, size: 'max' }), async (steps) => {
      const world = new World()
      await world.create({
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name: 'first', namespace: 'x' },
      })
      const controller = new Controller(world)
      await world.create(pool(['10.0.0.5-10.0.0.6']))
      for (const each of steps) {
        if (each.do === 'claim') await world.store.create(claim(each.name))
        else if (each.do === 'unclaim') await world.store.delete(claimRef(each.name))
        else if (each.do === 'onResult') await controller.hear(each.kind)
        else await controller.plan(each.which)
        world.nowMs += 1000
        await nothingTwice(world)
      }
      for (let busy = true; busy; ) {
        busy = false
        for (const kind of kinds.keys()) while (await controller.hear(kind)) busy = true
        while (await controller.plan(0)) busy = true
      }
      await nothingTwice(world)
      expect((await world.run()).written, 'a fresh provider finds nothing left to do').toBe(0)
    }),
    // a planner without its sense for echoes gets through a few hundred of these
    { numRuns: runs(isDeep ? 4 : 2) },
  )
})

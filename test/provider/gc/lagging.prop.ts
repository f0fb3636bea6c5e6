import fc from 'fast-check'
import { refOf } from 'ipam-kit/crd/meta'
import type { Change } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { runPlan, settle } from 'ipam-kit/run'
import type { Store, WatchEvent } from 'ipam-kit/store'
import { expect, test } from 'vitest'
import { isDeep, runs } from '../../setup/depth.js'
import { judged, type Step, step, Users, watched } from './steps.js'
import { expectQuiet, isDeleting } from './truth.js'
import { kinds, World } from './world.js'

type Turn =
  | Step
  | { readonly do: 'onResult'; readonly kind: number }
  | { readonly do: 'echo'; readonly which: number }
  | { readonly do: 'plan'; readonly which: number; readonly during: readonly Turn[] }

const hear = fc.record({ do: fc.constant('onResult' as const), kind: fc.nat(kinds.length - 1) })
const echo = fc.record({ do: fc.constant('echo' as const), which: fc.nat(200) })
/** What may happen between two writes of one plan. */
const during: fc.Arbitrary<Turn> = fc.oneof({ weight: 3, arbitrary: step }, { weight: 3, arbitrary: hear }, echo)
const plan = fc.record({
  do: fc.constant('plan' as const),
  which: fc.nat(5),
  during: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(during, { maxLength: 4 }) },
  ),
})
const turn: fc.Arbitrary<Turn> = fc.oneof(
  { weight: 8, arbitrary: step },
  { weight: 12, arbitrary: hear },
  { weight: 3, arbitrary: echo },
  { weight: 10, arbitrary: plan },
)

/**
 * A host whose watches, one for each kind, lag behind its own writes and behind each other as far
 * as they like, and tell things again. It hears and the users write while a plan is being carried
 * out.
 */
class Host {
  readonly planner = gcPlanner({ kinds })
  readonly #world: World
  readonly #users: Users
  readonly #store: Store
  readonly #watches: AsyncIterator<WatchEvent>[]
  readonly #pending: (Promise<IteratorResult<WatchEvent>> | undefined)[] = []
  readonly #heard: Change[] = []
  readonly #keys = new Set<string>()
  #during: Turn[] = []

  constructor(world: World) {
    this.#world = world
    this.#users = new Users(world)
    this.#watches = kinds.map((kind) => world.below.watch(kind, { resourceVersion: '1' })[Symbol.asyncIterator]())
    this.#store = judged(world, { sees: 'late' }, async () => {
      const next = this.#during.shift()
      if (next !== undefined) await this.play(next)
    })
  }

  async play(turn: Turn): Promise<void> {
    switch (turn.do) {
      case 'onResult':
        await this.hear(turn.kind)
        return
      case 'echo': {
        const again = this.#heard[turn.which % Math.max(1, this.#heard.length)]
        if (again !== undefined) this.#show(again)
        return
      }
      case 'plan':
        this.#during = [...turn.during]
        await this.plan(turn.which)
        this.#during = []
        return
      default:
        await this.#users.play(turn)
    }
  }

  async freeAll(): Promise<void> {
    await this.#users.freeAll()
  }

  /** The next event of one watch, if there is one. */
  async hear(kind: number): Promise<boolean> {
    this.#pending[kind] ??= this.#watches[kind]!.next()
    const nothing = Symbol('nothing')
    // an event that is there resolves within a few turns; what is still open after them is the wait
    // for one that is not
    const turns = (async () => {
      for (let turn = 0; turn < 30; turn++) await undefined
      return nothing
    })()
    const next = await Promise.race([this.#pending[kind], turns])
    if (typeof next === 'symbol') return false
    this.#pending[kind] = undefined
    const event = next?.value as WatchEvent
    if (event.type === 'BOOKMARK' || event.type === 'ERROR') return true
    const { object } = event
    const change: Change =
      event.type === 'DELETED'
        ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
        : { kind: 'present', object }
    this.#heard.push(change)
    this.#show(change)
    return true
  }

  /** Plans one of the waiting keys and writes. False if there was none. */
  async plan(which: number): Promise<boolean> {
    const keys = [...this.#keys]
    const key = keys[which % Math.max(1, keys.length)]
    if (key === undefined) return false
    this.#keys.delete(key)
    const plan = this.planner.plan(key, { nowMs: this.#world.nowMs })
    if (plan === undefined) return true
    const ended = await runPlan(plan, this.#store, { onChange: (change) => this.#show(change) })
    expect(ended.kind).not.toBe('failed')
    if (ended.kind === 'conflict') {
      const settled = await settle(this.#world.below, ended)
      if (settled.ok) this.#show(settled.value.change)
      this.#keys.add(key)
    }
    return true
  }

  /** Hears all there is to hear, and plans until nothing waits. */
  async settle(): Promise<void> {
    for (let busy = true, left = 3000; busy; left--) {
      busy = false
      for (const kind of kinds.keys()) while (await this.hear(kind)) busy = true
      if (await this.plan(0)) busy = true
      expect(left, `still busy with ${[...this.#keys]}`).toBeGreaterThan(0)
    }
  }

  #show(change: Change): void {
    for (const key of this.planner.observe(change)) this.#keys.add(key)
  }
}

test('watches that lag behind cost no dependent of an owner that lives, and in the end all is as it should be', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 50, maxLength: 250, size: 'max' }), async (turns) => {
      const world = new World()
      // so that there is a version to watch from
      await world.below.create({ apiVersion: 'example.com/v1', kind: 'Zone', metadata: { name: 'zone-first' } })
      const host = new Host(world)
      for (const each of turns) await host.play(each)
      await host.settle()
      expectQuiet(await watched(world))
      await host.freeAll()
      await host.settle()
      expectQuiet(await watched(world))
      expect(
        (await watched(world)).filter((it) => isDeleting(it) && it.metadata.finalizers?.includes('orphan')),
      ).toEqual([])
      expect((await world.run()).written, `a fresh collector: ${world.asked.join(', ')}`).toBe(0)
    }),
    { numRuns: runs(isDeep ? 4 : 2) },
  )
})

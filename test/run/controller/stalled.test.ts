import { fail } from 'ipam-kit/errors'
import type { Change, Effect, Outcome, Plan, Planner } from 'ipam-kit/plan'
import { Controller, type ControllerProblem } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ControllerOptions } from '../../../src/run/controller/controller.js'
import { counter, counterKind, ref } from '../task/counter.js'
import { VirtualTimers } from './virtual-timers.js'

let timers: VirtualTimers
let store: Store
let problems: ControllerProblem[]
beforeEach(() => {
  timers = new VirtualTimers()
  store = memoryStore({ now: () => timers.now(), kinds: [counterKind] })
  problems = []
})

/** A planner of counters, whose plans a test decides. */
class Any implements Planner {
  readonly name: string
  readonly watches = [counterKind]
  plans = 0
  readonly versions = new Map<string, string>()
  readonly #plan: (name: string, planner: Any) => Partial<Plan>
  readonly #sums: string

  constructor(plan: (name: string, planner: Any) => Partial<Plan>, { name = 'any', sums = '' } = {}) {
    this.#plan = plan
    this.name = name
    this.#sums = sums
  }

  observe(change: Change): readonly string[] {
    if (change.kind === 'absent') return []
    const { name, resourceVersion = '' } = change.object.metadata
    if (this.versions.get(name) === resourceVersion) return []
    this.versions.set(name, resourceVersion)
    return [name]
  }

  plan(name: string): Plan<Outcome> {
    this.plans++
    const outcome = { kind: 'planned', message: '' }
    return { outcome, effects: [], ...this.#plan(name, this) }
  }

  begin(): () => readonly string[] {
    return () => []
  }

  isAggregate(key: string): boolean {
    return key === this.#sums
  }

  reset(): void {}
}

/** The same as {@link Any}, one plan at a time. */
class OneAtATime extends Any {
  override begin = undefined as unknown as () => () => readonly string[]
}

function start(planners: readonly Planner[], options: Partial<ControllerOptions> = {}) {
  const controller = new Controller({ store, planners, timers, onProblem: (each) => problems.push(each), ...options })
  const running = controller.run()
  const stop = async () => {
    controller.stop()
    await timers.pass(5_000)
    await running
  }
  return { controller, stop }
}

const patch = (name: string, label: string): Effect => ({
  kind: 'patch',
  ref: ref(name),
  patch: { metadata: { labels: { label } } },
  if: {},
  why: 'to change it',
})
const stalled = () => problems.filter((problem) => problem.kind === 'stalled')

/** Passes the time in steps, and does something after each of them. */
async function passing(seconds: number, stepSeconds: number, action: (step: number) => unknown): Promise<void> {
  for (let step = 0; step < seconds / stepSeconds; step++) {
    await timers.pass(stepSeconds * 1000)
    await action(step)
  }
}

describe('a key that never has nothing to do is told of', () => {
  test.each([
    ['comes again at once, and ever later', 0],
    ['comes again after a second', 1],
    ['comes again after half a minute', 30],
  ])('where it %s', async (_, requeueAfterSeconds) => {
    await store.create(counter('a'))
    const planner: Any = new Any((name) => ({ effects: [patch(name, 'same')], requeueAfterSeconds }))
    const { stop } = start([planner])
    await timers.pass(60_000)
    expect(problems).toEqual([])
    await timers.pass(30_000)
    expect(problems).toMatchObject([{ kind: 'stalled', reason: 'unfinished', planner: 'any', key: 'a', keys: 1 }])
    const [told] = stalled()
    expect(told?.forMs).toBeGreaterThan(60_000)
    expect(told?.plans).toBeGreaterThan(1)
    await stop()
  })

  test('where two planners undo what the other one has done', async () => {
    await store.create(counter('a'))
    const left: Any = new Any((name) => ({ effects: [patch(name, `left-${left.plans}`)] }), { name: 'left' })
    const right: Any = new Any((name) => ({ effects: [patch(name, `right-${right.plans}`)] }), { name: 'right' })
    const slow: Store = {
      ...methodsOf(store),
      patch: async (...args) => {
        await new Promise<void>((resolve) => void timers.after(2_000, resolve))
        return store.patch(...args)
      },
    }
    const { stop } = start([left, right], { store: slow })
    await timers.pass(90_000)
    expect(new Set(stalled().map(({ planner }) => planner))).toEqual(new Set(['left', 'right']))
    await stop()
  })

  test('where it also waits in its queue: only the time outside of the queue counts', async () => {
    for (const name of 'abcdef') await store.create(counter(name))
    const planner: Any = new OneAtATime((name) => ({
      effects: [patch(name, `${planner.plans}`)],
      requeueAfterSeconds: name === 'a' ? 1 : 3600,
    }))
    const slow: Store = {
      ...methodsOf(store),
      patch: async (...args) => {
        await new Promise<void>((resolve) => void timers.after(20_000, resolve))
        return store.patch(...args)
      },
    }
    const { stop } = start([planner], { store: slow })
    await timers.pass(135_000)
    expect(stalled().filter(({ reason }) => reason === 'unfinished')).toEqual([])
    await timers.pass(600_000)
    expect(stalled().find(({ reason }) => reason === 'unfinished')).toMatchObject({ planner: 'any' })
    await stop()
  })

  test('where its plan does not end', async () => {
    await store.create(counter('a'))
    const planner: Any = new Any((name) => ({ effects: [patch(name, 'x')] }))
    const { controller } = start([planner], { store: { ...methodsOf(store), patch: () => new Promise(() => {}) } })
    await timers.pass(90_000)
    expect(stalled()).toMatchObject([{ reason: 'unfinished', key: 'a', plans: 1 }])
    controller.stop()
  })

  test('once a minute, with how many there are', async () => {
    for (const name of ['a', 'b', 'c']) await store.create(counter(name))
    const planner: Any = new Any((name) => ({ effects: [patch(name, 'same')], requeueAfterSeconds: 5 }))
    const { stop } = start([planner])
    await timers.pass(6 * 60_000 + 1)
    expect(stalled().length).toBeGreaterThanOrEqual(4)
    expect(stalled().length).toBeLessThanOrEqual(5)
    expect(stalled().at(-1)).toMatchObject({ keys: 3, planner: 'any' })
    await stop()
  })
})

describe('a queue whose oldest key has waited for more than a minute is told of', () => {
  test('where the plan in front of it does not end', async () => {
    for (const name of ['a', 'b', 'c']) await store.create(counter(name))
    const planner = new OneAtATime((name) => ({ effects: [patch(name, 'x')] }))
    const { controller } = start([planner], { store: { ...methodsOf(store), patch: () => new Promise(() => {}) } })
    await timers.pass(60_000)
    expect(controller.queues).toEqual([{ planner: 'any', waiting: 2, oldestKey: 'b', oldestMs: 60_000 }])
    expect(problems).toEqual([])
    await timers.pass(20_000)
    expect(stalled().find(({ reason }) => reason === 'waiting')).toMatchObject({ key: 'b', keys: 2, plans: 0 })
    controller.stop()
    await timers.pass(5_000)
    expect(controller.queues).toEqual([{ planner: 'any', waiting: 0, oldestKey: undefined, oldestMs: 0 }])
  })

  test('where one planner takes all the room of another', async () => {
    await store.create(counter('a'))
    const greedy = new Any((name) => ({ effects: [patch(name, 'x')] }), { name: 'greedy' })
    const meek = new Any(() => ({}), { name: 'meek' })
    const endless = { ...methodsOf(store), patch: () => new Promise<never>(() => {}) }
    const { controller } = start([greedy, meek], { concurrency: 1, store: endless })
    await timers.pass(90_000)
    expect(controller.queues).toMatchObject([
      { planner: 'greedy', waiting: 0, oldestMs: 0 },
      { planner: 'meek', waiting: 1, oldestKey: 'a', oldestMs: 90_000 },
    ])
    expect(
      stalled()
        .map(({ planner, reason }) => `${planner} ${reason}`)
        .sort(),
    ).toEqual(['greedy unfinished', 'meek waiting'])
    controller.stop()
  })
})

/** The same as {@link Any}, with keys that are served, and keys with which a process has begun. */
class Counted extends OneAtATime {
  readonly served = new Set<string>()
  readonly begun = new Set<string>()

  isServed(key: string): boolean {
    return this.served.has(key)
  }

  isBegun(key: string): boolean {
    return this.begun.has(key)
  }
}

describe('the depth of a queue, and its alarm, count what is left to do:', () => {
  const endless = () => ({ ...methodsOf(store), patch: () => new Promise<never>(() => {}) })
  const waiting = () => stalled().filter(({ reason }) => reason === 'waiting')
  let planner: Counted
  beforeEach(() => {
    planner = new Counted((name) => ({ effects: [patch(name, 'x')] }))
  })

  test('not keys that are served', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await store.create(counter(name))
    for (const name of ['b', 'c']) planner.served.add(name)
    const { controller } = start([planner], { store: endless() })
    await timers.pass(90_000)
    expect(controller.load.waiting).toBe(3)
    expect(controller.queues).toEqual([{ planner: 'any', waiting: 1, oldestKey: 'd', oldestMs: 90_000 }])
    expect(waiting()).toMatchObject([{ key: 'd', keys: 1 }])
    planner.served.add('d')
    await store.patch(ref('d'), { metadata: { labels: { is: 'served' } } })
    await timers.pass(90_000)
    expect(controller.queues).toEqual([{ planner: 'any', waiting: 0, oldestKey: undefined, oldestMs: 0 }])
    expect(waiting()).toHaveLength(1)
    planner.served.delete('c')
    await store.patch(ref('c'), { metadata: { labels: { is: 'unserved' } } })
    await timers.pass(1000)
    expect(controller.queues).toEqual([{ planner: 'any', waiting: 1, oldestKey: 'c', oldestMs: 1000 }])
    controller.stop()
  })

  test('the alarm leaves out keys with which another process has begun', async () => {
    await store.create(counter('a'))
    const { controller } = start([planner], { store: endless(), identity: 'process-1' })
    await timers.pass(1000)
    planner.begun.add('b')
    await store.create(counter('b'))
    await timers.pass(29_000)
    await store.create(counter('c'))
    await timers.pass(50_000)
    expect(controller.queues).toEqual([{ planner: 'any', waiting: 2, oldestKey: 'c', oldestMs: 50_000 }])
    expect(waiting()).toEqual([])
    await timers.pass(30_000)
    expect(waiting()).toMatchObject([{ key: 'c', keys: 2 }])
    controller.stop()
  })

  test('a key that another process has served after conflicts is not told of', async () => {
    await store.create(counter('a'))
    planner = new Counted((name) => (planner.served.has(name) ? {} : { effects: [patch(name, 'x')] }))
    const conflict = fail('STORE_CONFLICT', { object: 'a', expected: '1', actual: '2' })
    const lost: Store = { ...methodsOf(store), patch: async () => conflict }
    const { stop } = start([planner], { store: lost, identity: 'process-1' })
    await timers.pass(55_000)
    expect(planner.plans).toBeGreaterThan(4)
    planner.served.add('a')
    await timers.pass(120_000)
    expect(problems).toEqual([])
    await stop()
  })

  test('a key that has more to do after a first plan that took long is not told of', async () => {
    await store.create(counter('a'))
    planner = new Counted(() => (planner.plans <= 2 ? { effects: [patch('a', `${planner.plans}`)] } : {}))
    const slow: Store = {
      ...methodsOf(store),
      patch: async (to, ...rest) => {
        const seconds = planner.plans === 1 ? 62 : 12
        await new Promise<void>((resolve) => void timers.after(seconds * 1000, resolve))
        await store.patch(ref('a'), { metadata: { labels: { by: `hand-${planner.plans}` } } })
        return store.patch(to, ...rest)
      },
    }
    const { stop } = start([planner], { store: slow })
    await timers.pass(300_000)
    expect(planner.plans).toBe(3)
    expect(problems).toEqual([])
    await stop()
  })

  test('a key whose plans have ended, and that waits to be looked at again, is not told of', async () => {
    for (const name of ['a', 'b']) await store.create(counter(name))
    planner = new Counted((name) => (planner.served.has(name) ? {} : { effects: [patch(name, 'x')] }))
    const slow: Store = {
      ...methodsOf(store),
      patch: async (to, ...rest) => {
        if (!planner.begun.has(to.name)) {
          planner.begun.add(to.name)
          await new Promise<void>((resolve) => void timers.after(62_000, resolve))
          return fail('STORE_CONFLICT', { object: to.name, expected: '1', actual: '2' })
        }
        planner.served.add(to.name)
        const patched = await store.patch(to, ...rest)
        await store.patch(ref(to.name), { metadata: { labels: { by: 'hand' } } })
        return patched
      },
    }
    const { controller, stop } = start([planner], { store: slow })
    await timers.pass(100_000)
    // its plans took more than a minute: a conflict, and then its write
    expect([...planner.served]).toEqual(['a'])
    expect(controller.load.waiting).toBe(1)
    expect(problems).toEqual([])
    await timers.pass(300_000)
    expect([...planner.served]).toEqual(['a', 'b'])
    expect(problems).toEqual([])
    await stop()
  })
})

describe('no problem is', () => {
  test('a key that had something to do, and has nothing any more', async () => {
    await store.create(counter('a'))
    const planner: Any = new Any((name) => (planner.plans === 1 ? { effects: [patch(name, 'x')] } : {}))
    const { stop } = start([planner])
    await passing(300, 5, (step) => store.patch(ref('a'), { metadata: { labels: { by: `hand-${step}` } } }))
    expect(problems).toEqual([])
    await stop()
  })

  /**
   * A store whose every patch takes 8 seconds, and the first patch of each object ends after the
   * object has changed.
   */
  const slowStore = (): Store => {
    const changed = new Set<string>()
    return {
      ...methodsOf(store),
      patch: async (to, ...rest) => {
        await new Promise<void>((resolve) => void timers.after(8_000, resolve))
        if (!changed.has(to.name)) {
          changed.add(to.name)
          await store.patch(ref(to.name), { metadata: { labels: { by: 'hand' } } })
        }
        return store.patch(to, ...rest)
      },
    }
  }

  test('a key that waits in its queue between two plans for longer than a minute', async () => {
    for (const name of 'abcdefghijkl') await store.create(counter(name))
    const planned = new Map<string, number>()
    const planner = new OneAtATime((name) => {
      const times = (planned.get(name) ?? 0) + 1
      planned.set(name, times)
      return times <= 2 ? { effects: [patch(name, `${times}`)] } : {}
    })
    const { stop } = start([planner], { store: slowStore() })
    await timers.pass(600_000)
    expect([...planned.values()].every((times) => times >= 3)).toBe(true)
    expect(stalled().filter(({ reason }) => reason === 'unfinished')).toEqual([])
    await stop()
  })

  test('a key that has new work every half minute', async () => {
    await store.create(counter('a'))
    const planner: Any = new Any((name) =>
      planner.plans % 2 === 1 ? { effects: [patch(name, `${planner.plans}`)] } : {},
    )
    const { stop } = start([planner])
    await passing(300, 30, (step) => store.patch(ref('a'), { metadata: { labels: { by: `hand-${step}` } } }))
    expect(planner.plans).toBeGreaterThan(5)
    expect(problems).toEqual([])
    await stop()
  })

  test('a key that waits for an hour after what it has done', async () => {
    await store.create(counter('a'))
    const planner: Any = new Any((name) => ({ effects: [patch(name, 'x')], requeueAfterSeconds: 3600 }))
    const { stop } = start([planner])
    await timers.pass(4 * 3600_000)
    expect(planner.plans).toBeGreaterThan(3)
    expect(problems).toEqual([])
    await stop()
  })

  test('a sum that changes all the time', async () => {
    await store.create(counter('sum'))
    const planner: Any = new Any((name) => ({ effects: [patch(name, `${planner.plans}`)], requeueAfterSeconds: 1 }), {
      sums: 'sum',
    })
    const { stop } = start([planner])
    await timers.pass(300_000)
    expect(planner.plans).toBeGreaterThan(200)
    expect(problems).toEqual([])
    await stop()
  })

  test('a plan that does nothing but tell', async () => {
    await store.create(counter('a'))
    const event: Effect = { kind: 'event', about: ref('a'), uid: '', type: 'Warning', reason: 'Told', message: 'told' }
    const { stop } = start([new Any(() => ({ effects: [event], requeueAfterSeconds: 1 }))])
    await timers.pass(300_000)
    expect(problems).toEqual([])
    await stop()
  })

  test('a controller at rest: it sets no timer', async () => {
    await store.create(counter('a'))
    const planner: Any = new Any((name) => (planner.plans === 1 ? { effects: [patch(name, 'x')] } : {}))
    const { stop } = start([planner])
    await timers.pass(60_000)
    expect(timers.size).toBe(0)
    await stop()
  })
})

test('a stopped controller sets no timer, and tells nothing', async () => {
  await store.create(counter('a'))
  const { stop } = start([new Any((name) => ({ effects: [patch(name, 'same')], requeueAfterSeconds: 1 }))])
  await timers.pass(5_000)
  await stop()
  expect(timers.size).toBe(0)
})

/** The methods of a store, which are not its own properties. */
function methodsOf({ capabilities, ...own }: Store): Store {
  const names = ['get', 'list', 'create', 'update', 'patch', 'delete', 'watch'] as const
  const methods = Object.fromEntries(names.map((name) => [name, (store[name] as () => unknown).bind(store)]))
  return { ...own, ...methods, capabilities } as Store
}

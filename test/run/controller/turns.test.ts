import { fail, ok, unwrap } from 'ipam-kit/errors'
import type { CallResult, Change, ExternalCall, Outcome, Plan, Planner } from 'ipam-kit/plan'
import { Controller, type ExternalCaller, LEASE, LeaderElection } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, expect, test } from 'vitest'
import type { ControllerOptions } from '../../../src/run/controller/controller.js'
import { counter, counterKind, ref } from '../task/counter.js'
import { VirtualTimers } from './virtual-timers.js'

const OBJECTS = 2000
/** A turn of the event loop may work for so long, and begin one more piece of work before that. */
const MOST_MS = 10 + 5

let timers: VirtualTimers
let store: Store
/** The work of the present turn of the event loop, and the most of one turn, in milliseconds. */
let inTurn: number
let longest: number
beforeEach(() => {
  timers = new VirtualTimers()
  store = memoryStore({ now: () => timers.now(), kinds: [counterKind, LEASE] })
  inTurn = 0
  longest = 0
})

function work(ms: number): void {
  timers.work(ms)
  inTurn += ms
  longest = Math.max(longest, inTurn)
}

/** Lets time pass, and looks at each turn of the event loop. */
async function pass(ms: number): Promise<void> {
  let isOver = false
  const turn = () => {
    inTurn = 0
    if (!isOver) setImmediate(turn)
  }
  turn()
  await timers.pass(ms)
  isOver = true
}

/** A planner of counters with nothing to write, of which each step takes a time. */
class Slow implements Planner {
  readonly name = 'slow'
  readonly watches = [counterKind]
  /** How long it takes to observe a change, to wake a key, to look whether it is served, and to plan it. */
  readonly costs = { observe: 0, wake: 0, look: 0, plan: 0 }
  readonly planned: string[] = []
  readonly present = new Set<string>()

  constructor(costs: Partial<Slow['costs']>) {
    Object.assign(this.costs, costs)
  }

  observe(change: Change): readonly string[] {
    work(this.costs.observe)
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (change.kind === 'present') this.present.add(name)
    else this.present.delete(name)
    return [name]
  }

  plan(name: string): Plan<Outcome> {
    work(this.costs.plan)
    this.planned.push(name)
    return { outcome: { kind: 'planned', message: '' }, effects: [] }
  }

  begin(): () => readonly string[] {
    return () => []
  }

  isAggregate(): boolean {
    work(this.costs.wake)
    return false
  }

  isServed(name: string): boolean {
    work(this.costs.look)
    // all but the last one
    return name !== nameOf(OBJECTS - 1)
  }

  reset(): void {}
}

const nameOf = (nth: number) => `c-${String(nth).padStart(5, '0')}`

async function fill(count = OBJECTS): Promise<void> {
  for (let nth = 0; nth < count; nth++) unwrap(await store.create(counter(nameOf(nth))))
}

type Options = Partial<Pick<ControllerOptions, 'store' | 'identity' | 'external'>>

function start(planner: Planner, options: Options = {}) {
  const controller = new Controller({ store, planners: [planner], timers, onProblem: () => {}, ...options })
  const running = controller.run()
  return async () => {
    controller.stop()
    await timers.pass(1000)
    await running
  }
}

test('a new leader with many objects keeps its Lease', async () => {
  await fill()
  const planner = new Slow({ observe: 5, plan: 5 })
  const lease = { namespace: 'system', name: 'ipam' }
  unwrap(await store.create({ apiVersion: LEASE.apiVersion, kind: LEASE.kind, metadata: lease }))
  const election = new LeaderElection({ store, timers, lease, identity: 'a', onProblem: () => {} })
  const ended = election.run(async ({ ending, canWrite }) => {
    const controller = new Controller({ store, planners: [planner], timers, onProblem: () => {}, canWrite })
    const running = controller.run()
    await ending
    controller.stop()
    await running
  })
  // twice the renew deadline: the work alone takes as long
  await pass(25_000)
  expect(new Set(planner.planned).size).toBe(OBJECTS)
  election.stop()
  await timers.pass(1000)
  expect(await ended).toBe('stopped')
})

test('a first list gives way to the event loop', async () => {
  await fill()
  const planner = new Slow({ observe: 1 })
  const stop = start(planner)
  await pass(60_000)
  expect(planner.planned).toHaveLength(OBJECTS)
  expect(longest).toBeLessThanOrEqual(MOST_MS)
  await stop()
})

test.each([undefined, 'a'])('plans with nothing to do give way to the event loop (identity: %s)', async (identity) => {
  await fill()
  const planner = new Slow({ plan: 1 })
  const stop = start(planner, { identity })
  await pass(60_000)
  expect(planner.planned).toHaveLength(OBJECTS)
  expect(longest).toBeLessThanOrEqual(MOST_MS)
  await stop()
})

test('looking for the one key that is not served gives way to the event loop, and it is planned first', async () => {
  await fill()
  const planner = new Slow({ look: 1 })
  const stop = start(planner)
  await pass(60_000)
  expect(planner.planned).toHaveLength(OBJECTS)
  expect(planner.planned[0]).toBe(nameOf(OBJECTS - 1))
  expect(longest).toBeLessThanOrEqual(MOST_MS)
  await stop()
})

test('many events of a watch give way to the event loop', async () => {
  const planner = new Slow({ observe: 1 })
  const stop = start(planner)
  await pass(1000)
  await fill()
  await pass(60_000)
  expect(planner.present.size).toBe(OBJECTS)
  expect(longest).toBeLessThanOrEqual(MOST_MS)
  await stop()
})

test.each([
  [10, [50, 500, 500, 500, 500]],
  [60_000, [50, 58, 58]],
  [5_000_000, [50, 1]],
])(
  'pages of a list are so long that a client reads each in a short time (%s characters an object)',
  async (length, wanted) => {
    const text = 'x'.repeat(length)
    const objects = length === 10 ? OBJECTS : length === 60_000 ? 140 : 51
    const item = (nth: number) => ({ ...counter(nameOf(nth)), spec: { value: nth, text } })
    const limits: (number | undefined)[] = []
    const pages = storeOver(store, {
      list: async (_, { limit = Number.POSITIVE_INFINITY, continue: from = '0' } = {}) => {
        limits.push(limit)
        const end = Math.min(objects, Number(from) + limit)
        const items = Array.from({ length: end - Number(from) }, (_, nth) => item(Number(from) + nth))
        return ok({ items, resourceVersion: '1', ...(end < objects && { continue: `${end}` }) })
      },
    })
    const planner = new Slow({})
    const stop = start(planner, { store: pages })
    await pass(10_000)
    expect(planner.present.size).toBe(objects)
    expect(limits).toEqual(wanted)
    await stop()
  },
)

/** A planner of counters of which a change of the first one concerns all. */
class AllByOne extends Slow {
  override observe(change: Change): readonly string[] {
    const keys = super.observe(change)
    return keys[0] === nameOf(0) && this.present.size === OBJECTS ? [...this.present] : keys
  }
}

test('a change that concerns many keys gives way to the event loop', async () => {
  await fill()
  const planner = new AllByOne({ wake: 1 })
  const stop = start(planner)
  await pass(60_000)
  planner.planned.length = 0
  unwrap(await store.patch(ref(nameOf(0)), { spec: { value: 1 } }))
  await pass(60_000)
  expect(new Set(planner.planned).size).toBe(OBJECTS)
  expect(longest).toBeLessThanOrEqual(MOST_MS)
  await stop()
})

/** A planner of counters that asks an external system about each one, and plans with its answer. */
class Asking extends Slow {
  readonly #answered = new Set<string>()

  override plan(name: string): Plan<Outcome> {
    const plan = super.plan(name)
    if (this.#answered.has(name)) return plan
    const call: ExternalCall = { operation: 'ask', about: ref(name), key: name, input: null }
    return { ...plan, effects: [{ kind: 'external', call, why: 'to know it' }] }
  }

  onResult({ call }: CallResult): readonly string[] {
    this.#answered.add(call.about.name)
    return [call.about.name]
  }
}

test('calls that are answered together give way to the event loop', async () => {
  await fill(200)
  const planner = new Asking({ plan: 1 })
  let answers: Promise<void> | undefined
  const external: ExternalCaller = async () => {
    answers ??= new Promise((resolve) => {
      timers.after(1000, () => {
        answers = undefined
        resolve()
      })
    })
    await answers
    return { ok: true, value: null }
  }
  const stop = start(planner, { identity: 'a', external })
  await pass(60_000)
  expect(planner.planned).toHaveLength(400)
  expect(longest).toBeLessThanOrEqual(MOST_MS)
  await stop()
})

test('nothing is planned while a later list is applied, and what changes meanwhile is not lost', async () => {
  await fill()
  const planner = new Slow({ observe: 1 })
  let cut = () => {}
  const end = new Promise<void>((resolve) => {
    cut = resolve
  })
  let isCut = false
  const breaking = storeOver(store, {
    watch(query, options) {
      if (isCut) return store.watch(query, options)
      return (async function* () {
        await end
        isCut = true
        const gone = fail('STORE_VERSION_GONE', { resourceVersion: '1', oldest: '2' })
        if (!gone.ok) yield { type: 'ERROR', failure: gone.failure } as const
      })()
    },
  })
  const stop = start(planner, { store: breaking })
  await pass(60_000)
  const before = planner.planned.length
  for (let nth = 0; nth < 500; nth++) {
    unwrap(await store.delete(ref(nameOf(nth))))
    unwrap(await store.create(counter(nameOf(OBJECTS + nth))))
  }
  cut()
  await pass(400)
  expect(planner.present.has(nameOf(OBJECTS))).toBe(true)
  expect(planner.present.has(nameOf(499))).toBe(true)
  expect(planner.planned).toHaveLength(before)
  // the watch begins where the list ends
  unwrap(await store.delete(ref(nameOf(OBJECTS))))
  unwrap(await store.create(counter(nameOf(0))))
  await pass(60_000)
  expect(planner.planned.length).toBeGreaterThan(before)
  const stored = unwrap(await store.list(counterKind)).items.map(({ metadata }) => metadata.name)
  expect([...planner.present].sort()).toEqual(stored)
  expect(longest).toBeLessThanOrEqual(MOST_MS)
  await stop()
})

test('a stop in the middle of a list ends the run', async () => {
  await fill()
  const planner = new Slow({ observe: 1 })
  const stop = start(planner)
  await pass(200)
  expect(planner.present.size).toBeGreaterThan(0)
  expect(planner.present.size).toBeLessThan(OBJECTS)
  await stop()
  expect(planner.planned).toEqual([])
  expect(unwrap(await store.get(ref(nameOf(0)))).metadata.name).toBe(nameOf(0))
})

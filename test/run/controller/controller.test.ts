import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import { type Change, definePlanner, type Plan, type Planner } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { Controller, type ControllerProblem, type ControllerResult } from 'ipam-kit/run'
import type { Store, WatchEvent } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ControllerOptions } from '../../../src/run/controller/controller.js'
import { claim, claimRef, kinds, pool } from '../../provider/in-cluster/world.js'
import { counter, counterKind, ref } from '../task/counter.js'
import { VirtualTimers } from './virtual-timers.js'

/** Counts every object up to a goal, one at a time, and sums up how many there are. */
class CountTo implements Planner {
  readonly name: string = 'count'
  readonly watches = [counterKind]
  readonly seen = new Map<string, KubeObject>()
  /** What was planned, in order. */
  readonly planned: string[] = []
  /** What was taken away. */
  readonly gone: string[] = []
  goal = 1

  observe(change: Change): string[] {
    const name = change.kind === 'present' ? change.object.metadata.name : change.ref.name
    if (change.kind === 'present') this.seen.set(name, change.object)
    else {
      this.seen.delete(name)
      this.gone.push(name)
    }
    return [name, 'sum']
  }

  plan(key: string): Plan | undefined {
    this.planned.push(key)
    if (key === 'sum') return { outcome: { kind: 'summed', message: `${this.seen.size}` }, effects: [] }
    const object = this.seen.get(key)
    if (object === undefined) return undefined
    const { value } = object.spec as { value: number }
    const { uid, resourceVersion } = object.metadata
    const outcome = { kind: 'counted', message: `${value}` }
    if (value >= this.goal) return { outcome, effects: [] }
    const patch = { spec: { value: value + 1 } }
    return { outcome, effects: [{ kind: 'patch', ref: ref(key), patch, if: { uid, resourceVersion }, why: '' }] }
  }

  isAggregate(key: string): boolean {
    return key === 'sum'
  }

  reset(): void {
    this.seen.clear()
  }
}

/** As above; what it is about to write is nobody else's affair. */
class CountSideBySide extends CountTo {
  begin(): () => readonly string[] {
    return () => []
  }
}

let timers: VirtualTimers
let store: Store
let problems: ControllerProblem[]
let results: ControllerResult[]
beforeEach(() => {
  timers = new VirtualTimers()
  store = memoryStore({ now: () => timers.now(), kinds: [...kinds, counterKind] })
  problems = []
  results = []
})

function start(planners: readonly Planner[], options: Partial<ControllerOptions> = {}) {
  const controller = new Controller({
    store,
    planners,
    timers,
    onProblem: (problem) => problems.push(problem),
    onResult: (result) => results.push(result),
    ...options,
  })
  const running = controller.run()
  const stop = async () => {
    controller.stop()
    await timers.pass(60_000)
    await running
  }
  return { controller, running, stop }
}

const storedValue = async (name: string) => (unwrap(await store.get(ref(name))).spec as { value: number }).value
const down = fail('STORE_IO', { operation: 'any', problem: 'down' })
const unknown = fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'a', problem: 'cut' })

describe('a controller', () => {
  test('plans what is there, what comes and what changes, and ends when it is told to', async () => {
    await store.create(counter('a'))
    const planner = new CountTo()
    const { controller, stop } = start([planner])
    expect(controller.load.synced).toBe(false)
    await timers.pass(10)
    expect(controller.load).toEqual({ waiting: 0, running: 0, calling: 0, unsettled: 0, synced: true })
    expect(await storedValue('a')).toBe(1)
    await store.create(counter('b'))
    await timers.pass(10)
    expect(await storedValue('b')).toBe(1)
    planner.goal = 3
    await store.patch(ref('a'), { metadata: { labels: { touched: 'yes' } } })
    await timers.pass(10)
    expect([await storedValue('a'), await storedValue('b')]).toEqual([3, 1])
    await stop()
    expect(timers.size).toBe(0)
    await store.create(counter('c'))
    await timers.pass(10)
    expect(await storedValue('c')).toBe(0)
    expect(problems).toEqual([])
  })

  test('plans a key no more once its write is done that had failed, where the planner has no `isServed`', async () => {
    await store.create(counter('a'))
    const planned: string[] = []
    let failures = 2
    const failing = storeOver(store, {
      patch: async (...args) => (failures-- > 0 ? down : store.patch(...args)),
    })
    const planner = definePlanner({
      name: 'once',
      watches: { counters: { ...counterKind, parse: (object) => ({ ok: true, value: object }) as const } },
      wakes: { counters: ({ ref: { name } }) => [name] },
      plan(key, { cache }): Plan | undefined {
        planned.push(key)
        const object = cache.counters.get(`default/${key}`)
        if (object === undefined) return undefined
        const outcome = { kind: 'counted', message: '' }
        const { uid, resourceVersion } = object.metadata
        if ((object.spec as { value: number }).value === 1) return { outcome, effects: [] }
        const effect = { kind: 'patch', ref: ref(key), patch: { spec: { value: 1 } }, why: '' } as const
        return { outcome, effects: [{ ...effect, if: { uid, resourceVersion } }] }
      },
    })
    const { stop } = start([planner], { store: failing })
    await timers.pass(60_000)
    expect(await storedValue('a')).toBe(1)
    const before = planned.length
    await timers.pass(86_400_000)
    expect(planned.slice(before)).toEqual([])
    await stop()
  })

  test('plans what sums up others soon after a change, whenever it was to be planned again', async () => {
    await store.create(counter('a'))
    const planner = new CountTo()
    const plan = planner.plan.bind(planner)
    planner.plan = (key) => {
      const planned = plan(key)
      return planned && key === 'sum' ? { ...planned, requeueAfterSeconds: 3600 } : planned
    }
    const { stop } = start([planner])
    const sums = () => planner.planned.filter((key) => key === 'sum').length
    await timers.pass(2000)
    const before = sums()
    await timers.pass(60_000)
    expect(sums()).toBe(before)
    await store.create(counter('b'))
    await timers.pass(100)
    expect(sums()).toBe(before)
    await timers.pass(1000)
    expect(sums()).toBeGreaterThan(before)
    const after = sums()
    await timers.pass(3_600_000)
    expect(sums()).toBe(after + 1)
    await stop()
    expect(timers.size).toBe(0)
  })

  test.each([Number.NaN, -1])(
    'does not plan without a pause for a plan that is to be made again after %d s',
    async (seconds) => {
      await store.create(counter('a'))
      const planner = new CountTo()
      const plan = planner.plan.bind(planner)
      planner.plan = (key) => {
        const planned = plan(key)
        return planned && key === 'a' ? { ...planned, requeueAfterSeconds: seconds } : planned
      }
      const { stop } = start([planner])
      await timers.pass(60_000)
      expect(planner.planned.filter((key) => key === 'a').length).toBeLessThan(20)
      expect(problems).toContainEqual(expect.objectContaining({ kind: 'thrown', key: 'a' }))
      await stop()
    },
  )

  test('does not list without a pause where watches end by themselves', async () => {
    await store.create(counter('a'))
    let lists = 0
    const list: Store['list'] = async (query, options) => {
      if (++lists > 1000) throw new Error('listed without a pause')
      return store.list(query, options)
    }
    const watch: Store['watch'] = async function* () {}
    const { stop } = start([new CountTo()], { store: storeOver(store, { list, watch }) })
    await timers.pass(60_000)
    expect(await storedValue('a')).toBe(1)
    expect(lists).toBeLessThan(20)
    expect(problems).toContainEqual(expect.objectContaining({ kind: 'informer' }))
    await stop()
  })

  test('keeps nothing pending of a plan whose events the host could not take', async () => {
    let isFull = true
    const onEvent = () => {
      if (isFull) throw new Error('disk full')
    }
    const { stop } = start([inCluster()], { onEvent })
    await store.create(pool(['10.0.0.5']))
    await store.create(claim('a'))
    await timers.pass(10_000)
    expect(problems).toContainEqual(expect.objectContaining({ kind: 'thrown' }))
    isFull = false
    await store.delete(claimRef('a'))
    await timers.pass(10_000)
    await store.create(claim('b'))
    await timers.pass(10_000)
    expect(unwrap(await store.get(claimRef('b'))).status).toMatchObject({ addressRef: { name: 'b' } })
    await stop()
  })

  test('plans nothing before all kinds were listed', async () => {
    await store.create(counter('a'))
    const planner = new CountTo()
    let isDown = true
    const list: Store['list'] = async (query, options) => (isDown ? down : store.list(query, options))
    const { stop } = start([planner], { store: storeOver(store, { list }) })
    await timers.pass(1000)
    expect(planner.planned).toEqual([])
    expect(problems.length).toBeGreaterThan(3)
    expect(problems.length).toBeLessThan(12)
    expect(problems[0]).toMatchObject({ kind: 'informer', of: { kind: 'Counter' }, failure: { code: 'STORE_IO' } })
    isDown = false
    await timers.pass(60_000)
    expect(await storedValue('a')).toBe(1)
    await stop()
  })

  test('sums up once for many changes', async () => {
    for (let i = 0; i < 50; i++) await store.create(counter(`c${i}`))
    const planner = new CountTo()
    const { stop } = start([planner], { summaryDelayMs: 100 })
    await timers.pass(99)
    expect(planner.planned.filter((key) => key === 'sum')).toEqual([])
    expect(planner.planned.length).toBeGreaterThanOrEqual(50)
    await timers.pass(101)
    expect(planner.planned.filter((key) => key === 'sum')).toHaveLength(1)
    await stop()
  })

  test('comes back when a plan wants to be made again, and after a failure ever later', async () => {
    await store.create(counter('a'))
    const planner = new CountTo()
    const times: number[] = []
    planner.plan = (key) => {
      if (key === 'a') times.push(timers.now() - Date.UTC(2026, 0, 1))
      return { outcome: { kind: 'waits', message: '' }, effects: [], requeueAfterSeconds: 30 }
    }
    const first = start([planner])
    await timers.pass(95_000)
    expect(times).toEqual([0, 30_000, 60_000, 90_000])
    await first.stop()

    times.length = 0
    const began = timers.now()
    planner.plan = (key) => {
      if (key === 'a') times.push(timers.now() - began)
      throw new Error('broken')
    }
    const second = start([planner])
    await timers.pass(80)
    expect(times).toEqual([0, 5, 15, 35, 75])
    expect(problems.filter((problem) => problem.kind === 'thrown' && problem.key === 'a')).toHaveLength(5)
    await second.stop()
  })

  test('waits after a failure also if its own writes have woken the key', async () => {
    await store.create(counter('a'))
    const planner = new CountTo()
    let plans = 0
    planner.plan = (key) => {
      if (key !== 'a') return undefined
      const touch = { kind: 'patch', ref: ref('a'), patch: { spec: { value: ++plans } }, if: {}, why: '' } as const
      const refused = { kind: 'create', object: counter('no'), why: '' } as const
      return { outcome: { kind: 'fails', message: '' }, effects: [touch, refused] }
    }
    const create: Store['create'] = async () => fail('STORE_INVALID', { object: 'no', path: '', problem: 'no' })
    const { stop } = start([planner], { store: storeOver(store, { create }) })
    await timers.pass(80)
    expect(plans).toBe(5)
    await stop()
  })

  test.each([
    ['that changes something', 'before'],
    ['that changes nothing', 'before'],
    ['that changes something', 'after'],
  ])(
    'does not wait after a failure if there was news while it was planned, with a write %s %s that',
    async (write, when) => {
      await store.create(counter('a'))
      await store.create(counter('b'))
      const planner = new CountSideBySide()
      let plans = 0
      planner.plan = (key) => {
        if (key !== 'a') return undefined
        plans++
        const touch = {
          kind: 'patch',
          ref: ref('a'),
          patch: { spec: { value: write === 'that changes nothing' ? 0 : plans } },
          if: {},
          why: '',
        } as const
        const refused = { kind: 'create', object: counter('no'), why: '' } as const
        return { outcome: { kind: 'fails', message: '' }, effects: [touch, refused] }
      }
      const second = () => new Promise<void>((resolve) => void timers.after(1000, resolve))
      const patch: Store['patch'] = async (...args) => {
        if (when === 'after') await second()
        return store.patch(...args)
      }
      const create: Store['create'] = async () => {
        if (when === 'before') await second()
        return fail('STORE_INVALID', { object: 'no', path: '', problem: 'no' })
      }
      const { stop } = start([planner], { store: storeOver(store, { create, patch }), backoff: { firstMs: 60_000 } })
      await timers.pass(1500)
      expect(plans).toBe(1)
      await timers.pass(60_000)
      expect(plans).toBe(2)
      // others change it while its plan is carried out
      await store.patch(ref('a'), { metadata: { labels: { by: 'others' } } })
      await timers.pass(1000)
      expect(plans).toBe(3)
      await timers.pass(59_000)
      expect(plans).toBe(3)
      await stop()
    },
  )

  test('never plans a key twice at a time, and again what was woken meanwhile', async () => {
    const planner = new CountSideBySide()
    planner.goal = 5
    const running = new Map<string, number>()
    let most = 0
    const patch: Store['patch'] = async (place, change, options) => {
      const now = (running.get(place.name) ?? 0) + 1
      running.set(place.name, now)
      most = Math.max(most, [...running.values()].filter((count) => count > 0).length)
      expect(now).toBe(1)
      await new Promise<void>((resolve) => void timers.after(10, resolve))
      running.set(place.name, now - 1)
      return store.patch(place, change, options)
    }
    for (const name of 'abcdef') await store.create(counter(name))
    const { stop } = start([planner], { store: storeOver(store, { patch }), concurrency: 4 })
    await timers.pass(1000)
    for (const name of 'abcdef') expect(await storedValue(name)).toBe(5)
    expect(most).toBe(4)
    await stop()
  })

  test('makes one plan at a time for a planner without begin, and serves others meanwhile', async () => {
    const single = new CountTo()
    const other = new CountTo()
    Object.assign(other, { name: 'other', goal: 0 })
    let running = 0
    const patch: Store['patch'] = async (place, change, options) => {
      expect(++running).toBe(1)
      await new Promise<void>((resolve) => void timers.after(10, resolve))
      running--
      return store.patch(place, change, options)
    }
    for (const name of 'abc') await store.create(counter(name))
    const { stop } = start([single, other], { store: storeOver(store, { patch }) })
    await timers.pass(5)
    expect(other.planned.sort()).toEqual(['a', 'b', 'c'])
    await timers.pass(100)
    for (const name of 'abc') expect(await storedValue(name)).toBe(1)
    await stop()
  })

  test('refuses to begin twice, and what it cannot work with', async () => {
    const { controller, stop } = start([new CountTo()])
    await expect(controller.run()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', context: { argument: 'run' } })
    await stop()
    await expect(controller.run()).rejects.toMatchObject({ context: { got: 'a call of one that is stopped' } })
    const good = { store, planners: [new CountTo()], timers, onProblem: () => {} }
    for (const [bad, argument] of [
      [{ onProblem: undefined }, 'options.onProblem'],
      [{ timers: { now: () => 0 } }, 'options.timers.after'],
      [{ timers: undefined }, 'options.timers'],
      [{ concurrency: 0 }, 'concurrency'],
      [{ concurrency: 1.5 }, 'concurrency'],
      [{ summaryDelayMs: -1 }, 'summaryDelayMs'],
      [{ serverLimitMs: Number.NaN }, 'options.serverLimitMs'],
      [{ planners: [new CountTo(), new CountTo()] }, 'planners'],
      [{ planners: undefined }, 'options.planners'],
      // the call of the function that makes a planner is forgotten
      [{ planners: [inCluster] }, 'options.planners[0]'],
      [{ concurency: 1 }, 'options.concurency'],
      [{ store: undefined }, 'options.store'],
    ] as const) {
      const options = { ...good, ...bad } as unknown as ControllerOptions
      expect(() => new Controller(options)).toThrow(
        expect.objectContaining({ context: expect.objectContaining({ argument }) }),
      )
    }
  })
})

describe('a watch', () => {
  /** The store with watches that end as they are told to. */
  function cutting() {
    const cuts: (() => void)[] = []
    const from: (string | undefined)[] = []
    let lists = 0
    let failure = down.failure as typeof down.failure | ReturnType<typeof fail>['failure']
    const watch: Store['watch'] = (query, options) => {
      from.push(options?.resourceVersion)
      const below = store.watch(query, options)[Symbol.asyncIterator]()
      const cut = new Promise<IteratorResult<WatchEvent>>((resolve) => {
        cuts.push(() => resolve({ done: false, value: { type: 'ERROR', failure } as WatchEvent }))
      })
      const iterator = { next: () => Promise.race([below.next(), cut]), return: () => below.return!() }
      return { [Symbol.asyncIterator]: () => iterator }
    }
    const cutAll = (how = down.failure as typeof failure) => {
      failure = how
      for (const cut of cuts.splice(0)) cut()
    }
    const list: Store['list'] = (query, options) => {
      lists++
      return store.list(query, options)
    }
    return { store: storeOver(store, { watch, list }), cutAll, from, lists: () => lists }
  }
  const gone = fail('STORE_VERSION_GONE', { resourceVersion: '1', oldest: '2' }).failure

  test('that is cut continues from where it was, without another list', async () => {
    const world = cutting()
    const planner = new CountTo()
    const { stop } = start([planner], { store: world.store })
    await timers.pass(10)
    await store.create(counter('a'))
    await timers.pass(10)
    world.cutAll()
    await store.create(counter('b'))
    await store.delete(ref('a'))
    await timers.pass(100)
    expect(world.lists()).toBe(1)
    expect(world.from).toHaveLength(2)
    expect(Number(world.from[1])).toBeGreaterThan(Number(world.from[0]))
    expect([...planner.seen.keys()]).toEqual(['b'])
    expect(problems).toMatchObject([{ kind: 'informer', failure: { code: 'STORE_IO' } }])
    await stop()
  })

  test('whose past is gone begins from a list, which tells of the objects that were deleted meanwhile', async () => {
    const world = cutting()
    const planner = new CountTo()
    const { stop } = start([planner], { store: world.store })
    for (const name of 'abc') await store.create(counter(name))
    await timers.pass(10)
    planner.gone.length = 0
    world.cutAll(gone)
    await store.delete(ref('b'))
    await timers.pass(10)
    expect(world.lists()).toBe(2)
    expect(planner.gone).toEqual(['b'])
    expect([...planner.seen.keys()].sort()).toEqual(['a', 'c'])
    expect(problems).toEqual([])
    // a second time at once is no accident any more
    world.cutAll(gone)
    await timers.pass(0)
    world.cutAll(gone)
    await timers.pass(100)
    expect(problems).toMatchObject([{ kind: 'informer', failure: { code: 'STORE_VERSION_GONE' } }])
    await stop()
  })

  const older = (object: KubeObject): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: '1' },
  })
  interface Listed {
    readonly items: readonly KubeObject[]
    readonly version: number
  }
  test.each<[string, RegExp, (listed: Listed, gone: KubeObject) => Listed]>([
    ['of an earlier version', /version \d+ after \d+/, ({ items, version }) => ({ items, version: version - 1 })],
    [
      'with an object as it was before',
      /an older Counter default\/a/,
      ({ items, version }) => ({
        items: items.map((item) => (item.metadata.name === 'a' ? older(item) : item)),
        version: version + 1_000_000,
      }),
    ],
    [
      'with an object that has gone',
      /again Counter default\/c/,
      ({ items, version }, gone) => ({ items: [...items, gone], version: version + 1_000_000 }),
    ],
  ])('that is followed by a list %s ends the controller, when what it has begun is ended', async (_, why, restore) => {
    const world = cutting()
    const went = unwrap(await store.create(counter('c', 1)))
    let isRestored = false
    const list: Store['list'] = async (query, options) => {
      const listed = await store.list(query, options)
      if (!listed.ok || !isRestored) return listed
      const { items, version } = restore({ ...listed.value, version: Number(listed.value.resourceVersion) }, went)
      return { ok: true, value: { items, resourceVersion: `${version}` } }
    }
    const patch: Store['patch'] = (...args) =>
      new Promise((resolve) => timers.after(5000, () => resolve(store.patch(...args))))
    const { running } = start([new CountTo()], { store: storeOver(world.store, { list, patch }) })
    let end: string | undefined
    const note = (how: unknown) => {
      end = String(how)
    }
    void running.then(note, note)
    await timers.pass(10)
    await store.delete(ref('c'))
    await store.create(counter('a'))
    await timers.pass(10_000)
    // is under way when the list comes
    await store.create(counter('late'))
    await timers.pass(100)
    isRestored = true
    world.cutAll(gone)
    await timers.pass(1000)
    expect(end).toBeUndefined()
    await timers.pass(10_000)
    expect(end).toMatch(why)
    expect(end).toContain('restored to an earlier state: ')
    expect(await storedValue('late')).toBe(1)
  })

  test('and a list that was made before an own write do not take that away', async () => {
    const planner = new CountTo()
    let late: (() => void) | undefined
    let isLate = false
    const world = cutting()
    const list: Store['list'] = async (query, options) => {
      const listed = await store.list(query, options)
      if (isLate)
        await new Promise<void>((resolve) => {
          late = resolve
        })
      return listed
    }
    // makes an object of its own after a second
    let plans = 0
    planner.plan = (key) => {
      const outcome = { kind: 'made', message: '' }
      if (key !== 'a') return undefined
      if (++plans === 1) return { outcome, effects: [], requeueAfterSeconds: 1 }
      return { outcome, effects: plans > 2 ? [] : [{ kind: 'create', object: counter('own'), why: '' }] }
    }
    await store.create(counter('a'))
    const { stop } = start([planner], { store: storeOver(world.store, { list }) })
    await timers.pass(10)
    isLate = true
    world.cutAll(gone)
    await timers.pass(2000)
    // it is written after the list was made, and shown before the list is
    expect(planner.seen.has('own')).toBe(true)
    expect(late).toBeDefined()
    isLate = false
    late?.()
    await timers.pass(100)
    expect(planner.gone).toEqual([])
    await stop()
  })

  test.each(['change', 'deletion'] as const)('and a list that was made before an own %s continue', async (kind) => {
    const planner = new CountTo()
    const world = cutting()
    let answer: (() => void) | undefined
    let isLate = false
    const list: Store['list'] = async (query, options) => {
      const listed = await store.list(query, options)
      if (isLate)
        await new Promise<void>((resolve) => {
          answer = resolve
        })
      return listed
    }
    // changes or deletes its object while the list is under way
    planner.plan = (key) => {
      const outcome = { kind: 'done', message: '' }
      const object = planner.seen.get(key)
      const uid = object?.metadata.uid
      if (object === undefined || uid === undefined) return undefined
      if (!isLate) return { outcome, effects: [], requeueAfterSeconds: 1 }
      if (kind === 'deletion') return { outcome, effects: [{ kind: 'delete', ref: ref(key), if: { uid }, why: '' }] }
      if ((object.spec as { value: number }).value === 1) return { outcome, effects: [] }
      return {
        outcome,
        effects: [{ kind: 'patch', ref: ref(key), patch: { spec: { value: 1 } }, if: { uid }, why: '' }],
      }
    }
    await store.create(counter('a'))
    const { stop } = start([planner], { store: storeOver(world.store, { list }) })
    await timers.pass(10)
    isLate = true
    world.cutAll(gone)
    await timers.pass(2000)
    expect(planner.gone).toEqual(kind === 'deletion' ? ['a'] : [])
    expect(answer).toBeDefined()
    isLate = false
    answer?.()
    await timers.pass(100)
    await store.create(counter('b'))
    await timers.pass(100)
    expect(planner.seen.has('b')).toBe(true)
    await stop()
  })
})

describe('the outcome of a write', () => {
  test('that is not known is found out before the key is planned again', async () => {
    const planner = new CountSideBySide()
    await store.create(counter('a'))
    let calls = 0
    let isDown = true
    const patch: Store['patch'] = async (place, change, options) => {
      const done = await store.patch(place, change, options)
      return ++calls === 1 ? unknown : done
    }
    const get: Store['get'] = async (place) => (isDown ? down : store.get(place))
    const { controller, stop } = start([planner], { store: storeOver(store, { patch, get }) })
    await timers.pass(100)
    const plans = planner.planned.filter((key) => key === 'a').length
    expect(controller.load).toMatchObject({ running: 0, unsettled: 1 })
    expect(problems[0]).toMatchObject({ kind: 'unsettled', key: 'a', failure: { code: 'STORE_IO' } })
    // others are served
    await store.create(counter('b'))
    await timers.pass(100)
    expect(await storedValue('b')).toBe(1)
    expect(planner.planned.filter((key) => key === 'a')).toHaveLength(plans)
    isDown = false
    await timers.pass(60_000)
    expect(controller.load.unsettled).toBe(0)
    expect(await storedValue('a')).toBe(1)
    await stop()
  })

  test('is waited for by stop', async () => {
    const planner = new CountTo()
    await store.create(counter('a'))
    let isDown = true
    const patch: Store['patch'] = async () => unknown
    const get: Store['get'] = async (place) => (isDown ? down : store.get(place))
    const { controller, running } = start([planner], { store: storeOver(store, { patch, get }) })
    await timers.pass(10)
    let hasEnded = false
    void running.then(() => {
      hasEnded = true
    })
    controller.stop()
    await timers.pass(600_000)
    expect(hasEnded).toBe(false)
    isDown = false
    await timers.pass(30_000)
    await running
    expect(timers.size).toBe(0)
  })
})

test('claims that wait for room get it when what was to be created was refused', async () => {
  await store.create(pool(['10.0.0.5']))
  await store.create(claim('first'))
  const create: Store['create'] = async (object) => {
    if (object.kind !== 'IPAddress' || object.metadata.name !== 'first') return store.create(object)
    await new Promise<void>((resolve) => void timers.after(50, resolve))
    return fail('STORE_INVALID', { object: 'first', path: 'metadata.name', problem: 'a webhook says no' })
  }
  const { stop } = start([inCluster()], { store: storeOver(store, { create }) })
  await timers.pass(10)
  await store.create(claim('second'))
  await timers.pass(20)
  const ready = async () => unwrap(await store.get(claimRef('second'))).status as { conditions: { reason: string }[] }
  expect((await ready()).conditions[0]?.reason).toBe('PoolExhausted')
  await timers.pass(40)
  expect((await ready()).conditions[0]?.reason).toBe('AddressAllocated')
  await stop()
})

test('claims that wait for room get it when it is known that nothing was created, and no other claim wants it', async () => {
  await store.create(pool(['10.0.0.5']))
  await store.create(claim('first'))
  let creates = 0
  const create: Store['create'] = async (object) => {
    if (object.kind !== 'IPAddress' || object.metadata.name !== 'first') return store.create(object)
    if (++creates === 1) return fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'first', problem: 'cut' })
    return fail('STORE_INVALID', { object: 'first', path: 'metadata', problem: 'the namespace is going' })
  }
  const { controller, stop } = start([inCluster()], { store: storeOver(store, { create }) })
  await timers.pass(1000)
  await store.create(claim('second'))
  await timers.pass(1000)
  unwrap(await store.patch(claimRef('first'), { metadata: { finalizers: null } }))
  unwrap(await store.delete(claimRef('first')))
  await timers.pass(500_000)
  const ready = async () => unwrap(await store.get(claimRef('second'))).status as { conditions: { reason: string }[] }
  expect(controller.load.unsettled).toBe(1)
  expect((await ready()).conditions[0]?.reason).toBe('PoolExhausted')
  await timers.pass(200_000)
  expect(controller.load.unsettled).toBe(0)
  expect((await ready()).conditions[0]?.reason).toBe('AddressAllocated')
  await stop()
})

test('what was found out of a write is shown before its address can go to others, whether or not the watch tells of it', async () => {
  await store.create(pool(['10.0.0.5']))
  await store.create(claim('first'))
  await store.create(claim('second'))
  let isDown = true
  const create: Store['create'] = async (object) => {
    if (object.kind !== 'IPAddress' || !isDown) return store.create(object)
    if (object.metadata.name === 'first') await store.create(object)
    return fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'first', problem: 'cut' })
  }
  const silent: AsyncIterator<WatchEvent> = {
    next: () => new Promise(() => {}),
    return: async () => ({ done: true, value: undefined }),
  }
  const watch: Store['watch'] = () => ({ [Symbol.asyncIterator]: () => silent })
  start([inCluster()], { store: storeOver(store, { create, watch }) })
  await timers.pass(1000)
  isDown = false
  await timers.pass(60_000)
  const addresses = unwrap(await store.list({ apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress' })).items
  expect(addresses.map(({ metadata }) => metadata.name)).toEqual(['first'])
})

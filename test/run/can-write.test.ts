import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import type { Effect, Plan, Planner, Step, Task } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import {
  Controller,
  type ControllerProblem,
  runKey,
  runPlan,
  runTask,
  runUntilQuiet,
  settle,
  taskCaller,
} from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { claim, kinds, pool } from '../provider/in-cluster/world.js'
import { VirtualTimers } from './controller/virtual-timers.js'
import { counter, counterKind, ref } from './task/counter.js'

const withheld = { code: 'STORE_WRITE_WITHHELD' }
const now = () => 0

let below: Store
let store: Store
/** What was sent, in order. */
let sent: string[]
beforeEach(() => {
  below = memoryStore({ now, kinds: [...kinds, counterKind] })
  sent = []
  const note = <T>(what: string, answer: Promise<T>) => {
    sent.push(what)
    return answer
  }
  store = storeOver(below, {
    create: (object) => note('create', below.create(object)),
    patch: (one, patch, options) => note('patch', below.patch(one, patch, options)),
    delete: (one, options) => note('delete', below.delete(one, options)),
    update: (object, options) => note('update', below.update(object, options)),
    get: (one) => note('get', below.get(one)),
  })
})

/** Says yes so many times. */
function times(most: number): () => boolean {
  let left = most
  return () => left-- > 0
}

/** One effect of each kind that is sent; each can be done. */
async function effects(): Promise<Effect[]> {
  const made = async (name: string) => unwrap(await below.create(counter(name))).metadata.uid as string
  const [patched, gone] = [await made('patched'), await made('gone')]
  const call = { operation: 'allocate', key: 'k', about: ref('patched'), input: {} }
  return [
    { kind: 'create', object: counter('new'), why: '' },
    { kind: 'patch', ref: ref('patched'), patch: { spec: { value: 1 } }, if: { uid: patched }, why: '' },
    // a guard is a write as well
    { kind: 'patch', ref: ref('patched'), patch: {}, if: { uid: patched }, why: '' },
    { kind: 'absent', ref: ref('nobody'), why: '' },
    { kind: 'delete', ref: ref('gone'), if: { uid: gone }, why: '' },
    { kind: 'external', call, why: '' },
  ]
}
const SENT = ['create', 'patch', 'patch', 'get', 'delete', 'external']

describe('runPlan', () => {
  test('asks directly before each write and each external call, and sends nothing after a no', async () => {
    for (let yes = 0; yes <= 5; yes++) {
      sent.length = 0
      below = memoryStore({ now, kinds: [counterKind] })
      const plan: Plan = { outcome: { kind: 'test', message: '' }, effects: await effects() }
      const told: string[] = []
      const ended = await runPlan(plan, store, {
        canWrite: times(yes),
        external: async () => {
          sent.push('external')
          return { ok: true, value: null }
        },
        onChange: (_, effect) => void told.push(effect.kind),
      })
      // reading is free
      const upTo = yes < 3 ? yes : yes + 1
      expect(sent).toEqual(SENT.slice(0, upTo))
      if (yes === 5) expect(ended.kind).toBe('done')
      else
        expect(ended).toMatchObject({
          kind: 'failed',
          failure: withheld,
          effect: { kind: SENT[yes < 3 ? yes : yes + 1]?.replace('get', 'absent') },
        })
      expect(told.filter((kind) => kind === 'create')).toHaveLength(yes > 0 ? 1 : 0)
    }
  })

  test('is asked when the answer to the write before is there, and not before', async () => {
    let mayWrite = true
    const slow = storeOver(store, {
      create: async (object) => {
        const answer = await store.create(object)
        mayWrite = false
        return answer
      },
    })
    const plan: Plan = { outcome: { kind: 'test', message: '' }, effects: await effects() }
    const ended = await runPlan(plan, slow, {
      canWrite: () => mayWrite,
      external: async () => ({ ok: true, value: null }),
    })
    expect(ended).toMatchObject({
      kind: 'failed',
      failure: { ...withheld, context: { operation: 'patch', object: 'Counter default/patched' } },
    })
    expect(sent).toEqual(['create'])
  })
})

describe('runKey', () => {
  const planner = (plan: () => Plan): Planner => ({
    name: 'test',
    watches: [counterKind],
    observe: () => [],
    plan,
    isAggregate: () => false,
    reset: () => {},
  })
  const create = (): Plan => ({
    outcome: { kind: 'test', message: '' },
    effects: [{ kind: 'create', object: counter('a'), why: '' }],
  })

  test('fails, and makes no other plan', async () => {
    let plans = 0
    const counting = planner(() => {
      plans++
      return create()
    })
    const ended = await runKey(counting, 'a', store, { now, show: () => {}, canWrite: () => false })
    expect(ended).toMatchObject({ kind: 'failed', failure: withheld, attempts: 1 })
    expect([plans, sent]).toEqual([1, []])
  })

  test('does not write to find out what has become of a write', async () => {
    const lost = storeOver(store, {
      create: async (object) => {
        await store.create(object)
        return fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })
      },
    })
    const ended = await runKey(planner(create), 'a', lost, { now, show: () => {}, canWrite: times(1) })
    expect(ended).toMatchObject({ kind: 'unsettled', failure: withheld })
    expect(sent).toEqual(['create'])
  })

  test('reads after a conflict all the same', async () => {
    await below.create(counter('a'))
    const ended = await runKey(planner(create), 'a', store, { now, show: () => {}, canWrite: times(1) })
    expect(ended).toMatchObject({ kind: 'failed', failure: withheld, attempts: 2 })
    expect(sent).toEqual(['create', 'get'])
  })
})

test('settle does not create again', async () => {
  const effect: Effect = { kind: 'create', object: counter('a'), why: '' }
  const failure = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' }).failure
  const settled = await settle(store, { effect, failure }, { canWrite: () => false })
  expect(settled).toMatchObject({ ok: false, failure: withheld })
  expect(sent).toEqual([])
  // where nothing can come any more it reads
  expect((await settle(store, { effect, failure }, { canWrite: () => false, serverHasGivenUp: true })).ok).toBe(true)
})

/** Creates an object and counts it up to three. */
class CountToThree implements Task {
  #object: KubeObject | undefined
  #isRead = false
  observe(change: Parameters<Task['observe']>[0]): void {
    this.#isRead = true
    this.#object = change.kind === 'present' ? change.object : undefined
  }
  next(): Step {
    if (!this.#isRead) return { kind: 'get', refs: [ref('a')], why: '' }
    const write = (effect: Effect): Step => ({
      kind: 'write',
      plan: { outcome: { kind: 'writes', message: '' }, effects: [effect] },
    })
    if (this.#object === undefined) return write({ kind: 'create', object: counter('a'), why: '' })
    const { value } = this.#object.spec as { value: number }
    if (value === 3) return { kind: 'done', outcome: { kind: 'counted', message: '3' } }
    const { resourceVersion } = this.#object.metadata
    return write({
      kind: 'patch',
      ref: ref('a'),
      patch: { spec: { value: value + 1 } },
      if: { resourceVersion },
      why: '',
    })
  }
}

describe('runTask', () => {
  test.each([0, 1, 2, 3])('fails after %d writes, and sends nothing after that', async (writes) => {
    const ended = await runTask(new CountToThree(), store, { now, canWrite: times(writes) })
    expect(ended).toMatchObject({ kind: 'failed', failure: withheld })
    expect(sent.filter((what) => what !== 'get')).toHaveLength(writes)
  })

  test('does not write to find out what has become of a write', async () => {
    const lost = storeOver(store, {
      create: async (object) => {
        await store.create(object)
        return fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })
      },
    })
    const ended = await runTask(new CountToThree(), lost, { now, canWrite: times(1) })
    expect(ended).toMatchObject({ kind: 'unsettled', failure: withheld })
    expect(sent).toEqual(['get', 'create'])
  })

  test('is withheld through a caller of tasks as well', async () => {
    const tasks = { taskFor: () => new CountToThree(), answerOf: () => ({ ok: true, value: null }) as const }
    const call = { operation: 'count', key: 'a', about: ref('a'), input: {} }
    const answer = await taskCaller({ store, tasks, now, canWrite: times(2) })(call)
    expect(answer).toMatchObject({
      ok: false,
      failure: { retryable: true, message: expect.stringContaining('was not sent') },
    })
  })
})

test('runUntilQuiet ends, and says which keys it has not written for', async () => {
  await below.create(pool(['10.0.0.5']))
  await below.create(claim('a'))
  const ended = await runUntilQuiet(store, [inCluster()], { now, canWrite: () => false })
  expect(ended.failures.map(({ key, failure }) => `${key} ${failure.code}`).sort()).toEqual([
    'IPAddressClaim default/a STORE_WRITE_WITHHELD',
    'InClusterIPPool default/pool STORE_WRITE_WITHHELD',
  ])
  expect(sent).toEqual([])
})

describe('a controller', () => {
  let timers: VirtualTimers
  let problems: ControllerProblem[]
  beforeEach(() => {
    timers = new VirtualTimers()
    problems = []
  })
  const start = (over: Store, canWrite: () => boolean) => {
    const onProblem = (problem: ControllerProblem) => void problems.push(problem)
    const controller = new Controller({ store: over, planners: [inCluster()], timers, onProblem, canWrite })
    return { controller, running: controller.run() }
  }

  test('ends by itself at the first no, and sends nothing more', async () => {
    await below.create(pool(['10.0.0.5-10.0.0.50']))
    for (let i = 0; i < 30; i++) await below.create(claim(`c${i}`))
    let isOver = false
    const { running } = start(store, () => !isOver)
    void running.then(() => sent.push('ended'))
    while (sent.length < 20) await timers.pass(0)
    isOver = true
    const before = sent.length
    await timers.pass(60_000)
    expect(sent.slice(before)).toEqual(['ended'])
    await running
  })

  test.each([1, 7, 12, 13])('sends exactly what it was let, of many plans at a time: %d', async (most) => {
    await below.create(pool(['10.0.0.5-10.0.0.50']))
    for (let i = 0; i < 30; i++) await below.create(claim(`c${i}`))
    const asked = { isSent: true, no: 0 }
    let left = most
    // each yes is used before the next one is asked for, but for those of the pump
    const { running } = start(store, () => {
      if (sent.filter((what) => what !== 'get').length < left) return true
      asked.no++
      left = 0
      return false
    })
    await timers.pass(60_000)
    await running
    expect(sent.filter((what) => what !== 'get')).toHaveLength(most)
    expect(asked.no).toBe(1)
  })

  test('does not find out what has become of its writes, and does not wait for it', async () => {
    await below.create(pool(['10.0.0.5']))
    await below.create(claim('a'))
    let isOver = false
    const lost = storeOver(store, {
      create: async (object) => {
        await store.create(object)
        isOver = true
        return fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })
      },
    })
    const { running, controller } = start(lost, () => !isOver)
    await timers.pass(60_000)
    await running
    expect(controller.load.unsettled).toBe(0)
    expect(sent.filter((what) => what === 'create')).toEqual(['create'])
    expect(problems).toContainEqual(
      expect.objectContaining({ kind: 'unsettled', failure: expect.objectContaining(withheld) }),
    )
  })

  test.each([
    ['it is told to stop', (controller: Pick<Controller, 'stop'>) => controller.stop()],
    ['another plan is due', async () => void (await below.create(claim('b')))],
  ])(
    'ends at once when it may not write any more, and waits to find out what has become of a write: %s',
    async (_, occasion) => {
      await below.create(pool(['10.0.0.5-10.0.0.50']))
      await below.create(claim('a'))
      let isOver = false
      const cut = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })
      const { running, controller } = start(
        storeOver(store, { create: async () => cut, get: async () => cut }),
        () => !isOver,
      )
      let endedMs = Number.NaN
      void running.then(() => {
        endedMs = timers.now()
      })
      while (controller.load.unsettled === 0) await timers.pass(10)
      // by now it waits for half a minute each time
      await timers.pass(95_000)
      isOver = true
      const overMs = timers.now()
      await occasion(controller)
      await timers.pass(120_000)
      expect(endedMs - overMs).toBeLessThan(100)
    },
  )

  test('ends at once when it may not write any more while it stops', async () => {
    await below.create(pool(['10.0.0.5']))
    await below.create(claim('a'))
    let isOver = false
    const cut = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })
    const { running, controller } = start(
      storeOver(store, { create: async () => cut, get: async () => cut }),
      () => !isOver,
    )
    let hasEnded = false
    void running.then(() => {
      hasEnded = true
    })
    while (controller.load.unsettled === 0) await timers.pass(10)
    await timers.pass(95_000)
    controller.stop()
    await timers.pass(100)
    expect(hasEnded).toBe(false)
    isOver = true
    controller.stop()
    await timers.pass(100)
    expect(hasEnded).toBe(true)
  })

  test('works on for as long as it may', async () => {
    await below.create(pool(['10.0.0.5']))
    await below.create(claim('a'))
    const { running, controller } = start(store, () => true)
    await timers.pass(60_000)
    controller.stop()
    await timers.pass(100)
    await running
    expect(problems).toEqual([])
    expect(sent).toContain('create')
  })
})

test.each([1, 'yes', null, {}])('canWrite is a function, and not %j', async (wrong) => {
  const canWrite = wrong as unknown as () => boolean
  const refused = { code: 'INVALID_ARGUMENT', context: { argument: 'options.canWrite' } }
  const plan: Plan = { outcome: { kind: 'test', message: '' }, effects: [] }
  await expect(runPlan(plan, store, { canWrite })).rejects.toMatchObject(refused)
  await expect(runTask(new CountToThree(), store, { now, canWrite })).rejects.toMatchObject(refused)
  await expect(runKey(inCluster(), 'a', store, { now, show: () => {}, canWrite })).rejects.toMatchObject(refused)
  await expect(runUntilQuiet(store, [inCluster()], { now, canWrite })).rejects.toMatchObject(refused)
  const options = { store, planners: [], timers: new VirtualTimers(), onProblem: () => {}, canWrite }
  expect(() => new Controller(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})

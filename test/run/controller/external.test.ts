import type { ObjectRef } from 'ipam-kit/crd/meta'
import {
  type CallResult,
  type Effect,
  type ExternalResult,
  explain,
  type Outcome,
  type Plan,
  type Planner,
} from 'ipam-kit/plan'
import { Controller, type ControllerProblem, type ExternalCaller, runKey, runPlan, runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { VirtualTimers } from './virtual-timers.js'

const kind = {
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
  statusSubresource: true,
}
const about: ObjectRef = { apiVersion: 'example.com/v1', kind: 'Thing', namespace: 'default', name: 'x' }
const thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { namespace: 'default', name: 'x' } }
const call = { operation: 'allocate', key: 'p/c', about, input: { network: 'lab' } }
const ask: Effect = { kind: 'external', call, why: 'it has none' }
const plan = (...effects: Effect[]): Plan => ({ outcome: { kind: 'test', message: 'a test' }, effects })
const invalid = (argument: string) => ({ code: 'INVALID_ARGUMENT', context: { argument } })
const create: Effect = { kind: 'create', object: thing, why: '' }
const event: Effect = { kind: 'event', about, type: 'Normal', reason: 'Asked', message: '' }

/** Asks once for each thing, and writes the answer down as what came of it. */
class Asker implements Planner<Outcome & { readonly said?: unknown }> {
  readonly name = 'asker'
  readonly watches = [kind]
  readonly heard: CallResult[] = []
  observe = () => ['x']
  isAggregate = () => false
  reset = () => {}
  onResult(answered: CallResult): readonly string[] {
    this.heard.push(answered)
    return ['x']
  }
  plan(): Plan<Outcome & { readonly said?: unknown }> {
    const [last] = this.heard.slice(-1)
    if (last === undefined) return { outcome: { kind: 'asking', message: '' }, effects: [ask] }
    return { outcome: { kind: 'told', message: '', said: last.answer }, effects: [] }
  }
}

describe('an external effect', () => {
  test('is explained', () => {
    expect(explain(plan(ask))).toContain(
      '1. ask the external system to allocate for Thing default/x under p/c: it has none',
    )
  })

  test('is carried out after the writes before it, and the answer is handed on', async () => {
    const store = memoryStore({ now: () => 0 })
    const seen: unknown[] = []
    const ended = await runPlan(plan(create, ask, event), store, {
      external: async (asked) => {
        seen.push(asked, (await store.get(about)).ok)
        return { ok: true, value: '10.0.0.1' }
      },
      onCallResult: (asked, answer) => seen.push(asked, answer),
      onEvent: ({ reason }) => seen.push(reason),
    })
    expect(ended.kind).toBe('done')
    expect(seen).toEqual([call, true, call, { ok: true, value: '10.0.0.1' }, 'Asked'])
  })

  test('is not carried out if a write before it was refused', async () => {
    const store = memoryStore({ now: () => 0 })
    await store.create(thing)
    const external = () => Promise.reject(new Error('called'))
    expect((await runPlan(plan(create, ask), store, { external })).kind).toBe('conflict')
  })

  test('stops the plan before anything is done where no caller can carry it out, or an effect comes after it', async () => {
    const store = memoryStore({ now: () => 0 })
    await expect(runPlan(plan(create, ask), store)).rejects.toMatchObject(invalid('external'))
    const external = async (): Promise<ExternalResult> => ({ ok: true, value: null })
    await expect(runPlan(plan(ask, create), store, { external })).rejects.toMatchObject(invalid('plan'))
    await expect(runPlan(plan(ask, ask), store, { external })).rejects.toMatchObject(invalid('plan'))
    expect((await store.get(about)).ok).toBe(false)
  })
})

describe('a host that carries plans out', () => {
  const answer: ExternalResult = { ok: false, failure: { message: 'down', retryable: true } }
  const external = async () => answer

  test('runKey shows the answer to the planner, with the time, and plans the key again at once', async () => {
    const planner = new Asker()
    const ended = await runKey(planner, 'x', memoryStore({ now: () => 0 }), { now: () => 7, show: () => {}, external })
    expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'told', said: answer }, attempts: 2, wakes: [] })
    expect(planner.heard).toEqual([{ call, answer, atMs: 7 }])
  })

  test('runKey returns the other keys that an answer wakes', async () => {
    const planner = new Asker()
    planner.onResult = (answered) => {
      planner.heard.push(answered)
      return ['y', 'x', 'z']
    }
    const ended = await runKey(planner, 'x', memoryStore({ now: () => 0 }), { now: () => 7, show: () => {}, external })
    expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'told' }, wakes: ['y', 'z'] })
  })

  test('runKey returns a key that asks without end to its queue', async () => {
    const planner = new Asker()
    planner.plan = () => ({ outcome: { kind: 'asking', message: '' }, effects: [ask] })
    const ended = await runKey(planner, 'x', memoryStore({ now: () => 0 }), { now: () => 7, show: () => {}, external })
    expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'asking' }, attempts: 16, wakes: ['x'] })
  })

  test('runUntilQuiet continues from the answer', async () => {
    const store = memoryStore({ now: () => 0, kinds: [kind] })
    await store.create(thing)
    const { outcomes, written } = await runUntilQuiet(store, [new Asker()], { now: () => 0, external })
    expect(outcomes.get('x')).toMatchObject({ kind: 'told', said: answer })
    expect(written).toBe(0)
  })

  test('the controller continues from the answer', async () => {
    const timers = new VirtualTimers()
    const store = memoryStore({ now: () => timers.now(), kinds: [kind] })
    await store.create(thing)
    const results: string[] = []
    const controller = new Controller({
      store,
      planners: [new Asker()],
      timers,
      external,
      onProblem: (problem) => results.push(problem.kind),
      onResult: ({ outcome }) => {
        results.push(outcome?.kind ?? '')
        if (outcome?.kind === 'told') controller.stop()
      },
    })
    await controller.run()
    expect(results).toEqual(['told'])
  })

  test('the controller waits for a call that was not answered when it is to stop', async () => {
    const timers = new VirtualTimers()
    const store = memoryStore({ now: () => timers.now(), kinds: [kind] })
    await store.create(thing)
    let settle: (answer: ExternalResult) => void = () => {}
    const silent = () =>
      new Promise<ExternalResult>((resolve) => {
        settle = resolve
      })
    const planner = new Asker()
    const controller = new Controller({ store, planners: [planner], timers, external: silent, onProblem: () => {} })
    let hasEnded = false
    const running = controller.run().then(() => {
      hasEnded = true
    })
    await timers.pass(86_400_000)
    expect(controller.load.calling).toBe(1)
    controller.stop()
    await timers.pass(86_400_000)
    expect([hasEnded, controller.load.calling]).toEqual([false, 1])
    settle(answer)
    await running
    expect([planner.heard.length, controller.load.calling]).toEqual([1, 0])
  })

  test('the controller makes a call again, a little later each time, that was thrown out of', async () => {
    const timers = new VirtualTimers()
    const store = memoryStore({ now: () => timers.now(), kinds: [kind] })
    await store.create(thing)
    const keys: string[] = []
    const problems: string[] = []
    const thrown: ExternalCaller = async ({ key }) => {
      keys.push(key)
      throw new Error('timed out')
    }
    const onProblem = (problem: ControllerProblem) => void problems.push(problem.kind)
    const controller = new Controller({ store, planners: [new Asker()], timers, external: thrown, onProblem })
    const running = controller.run()
    await timers.pass(80)
    expect([keys, problems]).toEqual([Array(5).fill('p/c'), Array(5).fill('thrown')])
    controller.stop()
    await running
  })

  test('the controller of one of several processes begins the keys of a backlog together', async () => {
    const timers = new VirtualTimers()
    const store = memoryStore({ now: () => timers.now(), kinds: [kind] })
    await store.create(thing)
    const answered = new Set<string>()
    const planner: Planner = {
      ...{ name: 'many', watches: [kind], isAggregate: () => false, reset: () => {}, begin: () => () => [] },
      observe: () => Array.from({ length: 64 }, (_, nth) => `${nth}`),
      onResult: ({ call: { key } }) => {
        answered.add(key)
        return [key]
      },
      plan: (key) => (answered.has(key) ? plan() : plan({ ...ask, call: { ...call, key } } as Effect)),
    }
    const pending: ((answer: ExternalResult) => void)[] = []
    const slow: ExternalCaller = () => new Promise((resolve) => pending.push(resolve))
    const options = { store, timers, external: slow, onProblem: () => {} }
    const controller = new Controller({ ...options, planners: [planner], concurrency: 8, identity: 'a' })
    const running = controller.run()
    const answerSome = async (count: number) => {
      for (const resolve of pending.splice(0, count)) resolve(answer)
      await timers.pass(1)
    }
    await timers.pass(1)
    expect(pending.length).toBe(8)
    await answerSome(5)
    expect(pending.length).toBe(3)
    await answerSome(1)
    expect(pending.length).toBe(8)
    // calls that take long do not keep others from being made
    await answerSome(5)
    expect(pending.length).toBe(3)
    await timers.pass(1000)
    expect(pending.length).toBe(8)
    // the last keys are begun as soon as there is room
    while (controller.load.waiting >= 8) await answerSome(8)
    const before = controller.load.waiting
    await answerSome(1)
    expect([before > 0, controller.load.waiting]).toEqual([true, before - 1])
    controller.stop()
    while (pending.length > 0) await answerSome(8)
    await running
  })

  test('both refuse to begin with a planner that makes calls, and no external caller', async () => {
    const store = memoryStore({ now: () => 0, kinds: [kind] })
    const planners = [new Asker()]
    await expect(runUntilQuiet(store, planners, { now: () => 0 })).rejects.toMatchObject(invalid('external'))
    const options = { store, planners, timers: new VirtualTimers(), onProblem: () => {} }
    expect(() => new Controller(options)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        context: expect.objectContaining({ argument: expect.stringMatching(/external$/u) }),
      }),
    )
    const wrong = { ...options, planners: [], external: 'http://' as never }
    expect(() => new Controller(wrong)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        context: expect.objectContaining({ argument: expect.stringMatching(/external$/u) }),
      }),
    )
  })
})

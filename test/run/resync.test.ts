import type { Planner } from 'ipam-kit/plan'
import { definePlanner, type Watch } from 'ipam-kit/plan'
import { Controller, runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { VirtualTimers } from './controller/virtual-timers.js'
import { counter, counterKind, ref } from './task/counter.js'

const START_MS = Date.UTC(2026, 0, 1)
const counters: Watch<string> = {
  ...counterKind,
  parse: ({ metadata }) => ({ ok: true, value: metadata.name }),
}

interface Planned {
  readonly key: string
  readonly atMs: number
}

/** Notes which keys are planned, and when, in milliseconds since the start. */
function noting(planned: Planned[], options: { readonly resyncSeconds?: number; readonly name?: string } = {}) {
  return definePlanner({
    name: 'noting',
    ...options,
    watches: { counters },
    wakes: { counters: ({ ref: { name } }) => [name] },
    plan: (key, { cache }, { nowMs }) => {
      const found = cache.counters.get(key) ?? cache.counters.get(`default/${key}`)
      if (found === undefined) return undefined
      planned.push({ key, atMs: nowMs - START_MS })
      return { outcome: { kind: 'noted', message: key }, effects: [] }
    },
  })
}

async function hostOf(...planners: Planner[]) {
  const timers = new VirtualTimers(START_MS)
  const store = memoryStore({ now: () => timers.now(), kinds: [counterKind] })
  const problems: unknown[] = []
  const controller = new Controller({ store, planners, timers, onProblem: (problem) => problems.push(problem) })
  return { timers, store, controller, problems }
}

test('a planner with resyncSeconds plans each key once in each period, spread evenly over it', async () => {
  const [planned, others]: Planned[][] = [[], []]
  const host = await hostOf(noting(planned!, { resyncSeconds: 100 }), noting(others!, { name: 'other' }))
  for (let i = 0; i < 50; i++) await host.store.create(counter(`c${i}`))
  const running = host.controller.run()
  await host.timers.pass(1000)
  expect([planned!.length, others!.length]).toEqual([50, 50])
  for (let period = 1; period <= 3; period++) {
    planned!.length = 0
    await host.timers.pass(100_000)
    expect(new Set(planned!.map(({ key }) => key)).size).toBe(50)
    expect(planned!).toHaveLength(50)
    // never more than two of 50 in two seconds of a hundred
    const slots = new Map<number, number>()
    for (const { atMs } of planned!) {
      const slot = Math.floor(atMs / 2000)
      slots.set(slot, (slots.get(slot) ?? 0) + 1)
    }
    expect(Math.max(...slots.values())).toBeLessThanOrEqual(2)
  }
  expect(others!).toHaveLength(50)
  host.controller.stop()
  await running
  expect([host.timers.size, host.problems]).toEqual([0, []])
})

test('a key under which nothing exists is not planned again', async () => {
  const planned: Planned[] = []
  const host = await hostOf(noting(planned, { resyncSeconds: 10 }))
  for (const name of ['stays', 'goes']) await host.store.create(counter(name))
  const running = host.controller.run()
  await host.timers.pass(1000)
  await host.store.delete(ref('goes'))
  await host.timers.pass(1000)
  planned.length = 0
  await host.timers.pass(30_000)
  expect(planned.map(({ key }) => key)).toEqual(['stays', 'stays', 'stays'])
  await host.store.delete(ref('stays'))
  await host.timers.pass(60_000)
  // with no key to plan there is no timer either
  expect(host.timers.size).toBe(0)
  planned.length = 0
  await host.store.create(counter('new'))
  await host.timers.pass(25_000)
  expect(planned).toHaveLength(3)
  host.controller.stop()
  await running
})

test('runUntilQuiet says that it is to run again after resyncSeconds', async () => {
  const store = memoryStore({ now: () => START_MS, kinds: [counterKind] })
  const run = async (planners: Planner[]) =>
    (await runUntilQuiet(store, planners, { now: () => START_MS })).requeueAfterSeconds
  expect(await run([noting([], { resyncSeconds: 60 })])).toBeUndefined()
  await store.create(counter('a'))
  expect(await run([noting([])])).toBeUndefined()
  expect(await run([noting([]), noting([], { name: 'other', resyncSeconds: 60 })])).toBe(60)
})

test.each([0, -1, 0.5, 86_401, Number.NaN])('resyncSeconds of %s is refused', (resyncSeconds) => {
  expect(() => noting([], { resyncSeconds })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})

test.each([0, 0.05, Number.NaN, 86_401])(
  "resyncSeconds %s of a planner of one's own is refused",
  async (resyncSeconds) => {
    const planner = { ...planning(), resyncSeconds }
    await expect(hostOf(planner)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      context: { argument: expect.stringMatching(/resyncSeconds$/u) },
    })
  },
)

function planning(): Planner {
  return {
    name: 'own',
    watches: [counterKind],
    observe: () => [],
    plan: () => undefined,
    isAggregate: () => false,
    reset: () => {},
  }
}

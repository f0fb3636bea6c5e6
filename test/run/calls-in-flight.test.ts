import type { Outcome, Plan, Planner } from 'ipam-kit/plan'
import { Controller, type ExternalCaller, runKey } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { VirtualTimers } from './controller/virtual-timers.js'
import { counter, counterKind } from './task/counter.js'

const DONE: Plan<Outcome> = { outcome: { kind: 'done', message: '' }, effects: [] }

/** Asks once for each object. */
function asker(): Planner<Outcome> {
  const answered = new Set<string>()
  return {
    name: 'asker',
    watches: [counterKind],
    observe: (change) => (change.kind === 'present' ? [change.object.metadata.name] : []),
    isAggregate: () => false,
    reset: () => answered.clear(),
    begin: () => () => [],
    onResult: ({ call }) => {
      answered.add(call.key)
      return [call.key]
    },
    plan(key) {
      if (answered.has(key)) return DONE
      const about = { apiVersion: 'v1', kind: 'Counter', namespace: 'default', name: key }
      const call = { operation: 'allocate', key, about, input: {} }
      return { ...DONE, effects: [{ kind: 'external', call, why: 'a test' }] }
    },
  }
}

async function hostOf(external: ExternalCaller, objects: number, concurrency: number, canWrite = () => true) {
  const timers = new VirtualTimers(0)
  const store = memoryStore({ now: () => timers.now(), kinds: [counterKind] })
  for (let i = 0; i < objects; i++) await store.create(counter(`c${i}`))
  const problems: unknown[] = []
  const onProblem = (problem: unknown) => problems.push(problem)
  const controller = new Controller({ store, planners: [asker()], timers, external, concurrency, canWrite, onProblem })
  return { timers, controller, problems }
}

test('a plan that waits for a call takes no place of concurrency, up to 8 calls for each place', async () => {
  const answers: (() => void)[] = []
  const external: ExternalCaller = () =>
    new Promise((resolve) => answers.push(() => resolve({ ok: true, value: 'an address' })))
  const { timers, controller, problems } = await hostOf(external, 40, 2)
  const running = controller.run()
  await timers.pass(1000)
  expect(answers).toHaveLength(16)
  expect(controller.load).toMatchObject({ running: 0, calling: 16, waiting: 24 })
  // each answer makes room for one more
  for (const answer of answers.splice(0, 3)) answer()
  await timers.pass(1000)
  expect(answers).toHaveLength(16)
  while (answers.length > 0) {
    answers.shift()?.()
    await timers.pass(10)
  }
  expect(controller.load).toMatchObject({ running: 0, calling: 0, waiting: 0 })
  controller.stop()
  await running
  expect(problems).toEqual([])
})

test('calls are sent in the order of their keys, and none after a no of canWrite', async () => {
  const sent: string[] = []
  let mayWrite = true
  const external: ExternalCaller = ({ key }) => {
    sent.push(key)
    if (sent.length === 5) mayWrite = false
    return Promise.resolve({ ok: true, value: 'an address' })
  }
  const { timers, controller } = await hostOf(external, 12, 2, () => mayWrite)
  const running = controller.run()
  await timers.pass(1000)
  await running
  // a list is in the order of names
  expect(sent).toEqual(['c0', 'c1', 'c10', 'c11', 'c2'])
})

test('many calls need no deep stack, and a call that is thrown out of gives its place back', async () => {
  let calls = 0
  const external: ExternalCaller = () => {
    calls++
    return calls === 1 ? Promise.reject(new Error('the connection is closed')) : new Promise(() => {})
  }
  const { timers, controller, problems } = await hostOf(external, 3000, 400)
  void controller.run()
  await timers.pass(1000)
  expect(calls).toBeGreaterThan(3000)
  expect(controller.load).toMatchObject({ running: 0, calling: 3000 })
  expect(problems).toMatchObject([{ kind: 'thrown' }])
})

test('what is pending of a plan is free again when its call is thrown out of', async () => {
  let reserved = 0
  const planner: Planner<Outcome> = {
    ...asker(),
    begin: () => {
      reserved++
      return () => {
        reserved--
        return []
      }
    },
  }
  const store = memoryStore({ now: () => 0, kinds: [counterKind] })
  const external: ExternalCaller = () => Promise.reject(new Error('the connection is closed'))
  const options = { now: () => 0, show: () => {}, external }
  await expect(runKey(planner, 'c0', store, options)).rejects.toThrow('the connection is closed')
  expect(reserved).toBe(0)
})

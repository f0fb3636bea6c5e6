import { fc, test as fcTest } from '@fast-check/vitest'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { describe, expect, test } from 'vitest'
import { rankOf, WorkQueue } from '../../../src/run/controller/work-queue.js'
import { VirtualTimers } from './virtual-timers.js'

const NONE: ReadonlySet<string> = new Set()

function plannerOf(served = NONE, begun = NONE, repairs = NONE): Planner {
  return {
    name: 'sample',
    watches: [],
    observe: () => [],
    plan: () => undefined,
    begin: () => () => [],
    isAggregate: () => false,
    isRepair: (key) => repairs.has(key),
    isServed: (key) => served.has(key),
    isBegun: (key) => begun.has(key),
    reset: () => {},
  }
}

function queueOf(identity?: string) {
  const timers = new VirtualTimers()
  return { timers, queue: new WorkQueue({ timers, summaryDelayMs: 500, identity, rang: () => {} }) }
}

/** The keys that are taken, one after the other. */
function takeAll(queue: WorkQueue<Outcome>): readonly string[] {
  const keys: string[] = []
  for (let job = queue.take(); job !== undefined; job = queue.take()) keys.push(job.key)
  return keys
}

const keys = (prefix: string, count: number) => Array.from({ length: count }, (_, nth) => `${prefix}${nth}`)

describe('keys that are served already', () => {
  test('come after those that wait', () => {
    const planner = plannerOf(new Set(['s0', 's1', 's2']))
    const { queue } = queueOf()
    for (const key of ['s0', 'a', 's1', 'b', 's2', 'c']) queue.add(planner, key, {})
    expect(queue.length).toBe(6)
    expect(takeAll(queue)).toEqual(['a', 'b', 'c', 's0', 's1', 's2'])
    expect(queue.length).toBe(0)
  })

  test('get one turn of nine while others wait', () => {
    const planner = plannerOf(new Set(keys('s', 40)))
    const { queue } = queueOf()
    for (const key of [...keys('s', 40), ...keys('w', 36)]) queue.add(planner, key, {})
    const taken = takeAll(queue)
    expect(taken.slice(0, 36).filter((key) => key.startsWith('s'))).toHaveLength(4)
    expect(taken.slice(0, 9)).toEqual([...keys('w', 8), 's0'])
    expect(new Set(taken).size).toBe(76)
  })

  test('come forward when they are served no more', () => {
    const served = new Set(['s', 't'])
    const planner = plannerOf(served)
    const { queue } = queueOf()
    for (const key of ['s', 't', 'a', 'b']) queue.add(planner, key, {})
    expect(queue.take()?.key).toBe('a')
    served.delete('t')
    queue.add(planner, 't', {})
    queue.add(planner, 't', {})
    expect(queue.length).toBe(3)
    expect(takeAll(queue)).toEqual(['b', 't', 's'])
  })
})

describe('keys that make addresses safe', () => {
  test.each([undefined, 'process-1'])('come before all others, with the identity %s', (identity) => {
    const { queue } = queueOf(identity)
    const planner = plannerOf(new Set(['s0', 'r1']), new Set(['r2']), new Set(['r0', 'r1', 'r2']))
    for (const key of ['a', 'r0', 's0', 'b', 'r1', 'r2']) queue.add(planner, key, {})
    expect(queue.length).toBe(6)
    const taken = takeAll(queue)
    expect(taken.slice(0, 3).toSorted()).toEqual(['r0', 'r1', 'r2'])
    expect(taken.slice(3, 5).toSorted()).toEqual(['a', 'b'])
    expect(taken.slice(5)).toEqual(['s0'])
  })

  test('come forward when that begins while they wait, among the unserved or the served ones', () => {
    const repairs = new Set<string>()
    const planner = plannerOf(new Set(['s']), NONE, repairs)
    const { queue } = queueOf()
    for (const key of ['s', 'a', 'b', 'c']) queue.add(planner, key, {})
    expect(queue.take()?.key).toBe('a')
    for (const key of ['c', 's']) {
      repairs.add(key)
      queue.add(planner, key, {})
      queue.add(planner, key, {})
    }
    expect(queue.length).toBe(3)
    expect(takeAll(queue)).toEqual(['c', 's', 'b'])
    expect(queue.length).toBe(0)
  })

  const steps = fc.array(
    fc.record({
      key: fc.integer({ min: 0, max: 5 }),
      is: fc.constantFrom('open', 'served', 'repair'),
      takes: fc.boolean(),
    }),
    { maxLength: 60 },
  )
  fcTest.prop([steps, fc.constantFrom(undefined, 'process-1')])(
    'whatever keys become while they wait, each is taken once for each wait, and repairs first',
    (all, identity) => {
      const [served, repairs] = [new Set<string>(), new Set<string>()]
      const planner = plannerOf(served, NONE, repairs)
      const { queue } = queueOf(identity)
      const waiting = new Set<string>()
      const first = new Set<string>()
      const take = () => {
        const job = queue.take()
        expect(job === undefined).toBe(waiting.size === 0)
        if (job === undefined) return
        expect(waiting.delete(job.key)).toBe(true)
        if (!first.delete(job.key)) expect(first.size).toBe(0)
        expect(queue.length).toBe(waiting.size)
        queue.done(job)
      }
      for (const { key: number, is, takes } of all) {
        const key = `k${number}`
        for (const [set, state] of [
          [served, 'served'],
          [repairs, 'repair'],
        ] as const) {
          if (is === state) set.add(key)
          else set.delete(key)
        }
        queue.add(planner, key, {})
        waiting.add(key)
        if (is === 'repair') first.add(key)
        else first.delete(key)
        if (takes) take()
      }
      while (waiting.size > 0) take()
      take()
    },
  )
})

test('with an identity keys that wait come in the order of that process', () => {
  const all = keys('k', 30)
  const { queue } = queueOf('process-1')
  const planner = plannerOf()
  for (const key of all) queue.add(planner, key, {})
  const ranked = all.toSorted((a, b) => rankOf('process-1', `sample ${a}`) - rankOf('process-1', `sample ${b}`))
  expect(takeAll(queue)).toEqual(ranked)
  expect(ranked).not.toEqual(all)
})

test('a key that is left to another process waits for its time, whatever wakes it', async () => {
  const { queue, timers } = queueOf('process-1')
  const planner = plannerOf()
  queue.add(planner, 'a', {})
  const job = queue.take()
  if (job === undefined) throw new Error('there is no key')
  queue.add(planner, 'a', { news: 'a change' })
  queue.done(job, { againMs: 1000, isHeld: true })
  queue.add(planner, 'a', { news: 'another change' })
  await timers.pass(999)
  expect(queue.take()).toBeUndefined()
  await timers.pass(1)
  expect(queue.take()?.key).toBe('a')
  queue.done(job)
  queue.add(planner, 'a', {})
  expect(queue.take()?.key).toBe('a')
})

describe('keys with which a process has begun', () => {
  const begun = new Set(['b', 'd'])

  test('are left to it for 2 to 4 s, once, whatever wakes them', async () => {
    const { queue, timers } = queueOf('process-1')
    const planner = plannerOf(new Set(), begun)
    for (const key of ['a', 'b', 'c', 'd']) queue.add(planner, key, {})
    expect(takeAll(queue).toSorted()).toEqual(['a', 'c'])
    expect(queue.length).toBe(0)
    queue.add(planner, 'b', { news: 'a change' })
    await timers.pass(1999)
    expect(queue.take()).toBeUndefined()
    await timers.pass(2001)
    expect(queue.length).toBe(2)
    expect(takeAll(queue).toSorted()).toEqual(['b', 'd'])
  })

  test('are not left by the only process', () => {
    const { queue } = queueOf()
    const planner = plannerOf(new Set(), begun)
    for (const key of ['a', 'b', 'c', 'd']) queue.add(planner, key, {})
    expect(takeAll(queue)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('are not left once more after a conflict', async () => {
    const { queue, timers } = queueOf('process-1')
    const late = new Set<string>()
    const planner = plannerOf(new Set(), late)
    queue.add(planner, 'a', {})
    const job = queue.take()
    if (job === undefined) throw new Error('there is no key')
    late.add('a')
    queue.done(job, { againMs: 1000, isHeld: true })
    await timers.pass(1000)
    expect(queue.take()?.key).toBe('a')
  })
})

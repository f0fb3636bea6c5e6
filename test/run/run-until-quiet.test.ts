import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, isIpamError } from 'ipam-kit/errors'
import type { Change, Plan, Planner } from 'ipam-kit/plan'
import { type Progress, runUntilQuiet, UnsettledError } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { counter, counterKind, ref } from './task/counter.js'

/** A provider that counts every object up to a goal, one at a time. */
class CountTo implements Planner {
  readonly name = 'count'
  readonly watches = [counterKind]
  readonly seen = new Map<string, KubeObject>()
  readonly planned: string[] = []
  readonly #goal: number
  readonly #summary: string | undefined

  constructor(goal: number, summary?: string) {
    this.#goal = goal
    this.#summary = summary
  }

  observe(change: Change): string[] {
    const name = change.kind === 'present' ? change.object.metadata.name : change.ref.name
    if (change.kind === 'present') this.seen.set(name, change.object)
    else this.seen.delete(name)
    return [name]
  }

  plan(key: string): Plan | undefined {
    const object = this.seen.get(key)
    if (object === undefined) return undefined
    this.planned.push(key)
    const { value } = object.spec as { value: number }
    const { resourceVersion } = object.metadata
    if (value >= this.#goal) return { outcome: { kind: 'done', message: `at ${value}` }, effects: [] }
    return {
      outcome: { kind: 'counting', message: `at ${value}` },
      effects: [
        { kind: 'patch', ref: ref(key), patch: { spec: { value: value + 1 } }, if: { resourceVersion }, why: 'count' },
      ],
    }
  }

  isAggregate(key: string): boolean {
    return key === this.#summary
  }

  reset(): void {
    this.seen.clear()
  }
}

const now = () => 0

async function storeWith(...objects: KubeObject[]): Promise<Store> {
  const store = memoryStore({ now, kinds: [counterKind] })
  for (const object of objects) await store.create(object)
  return store
}

describe('runUntilQuiet', () => {
  test('plans until nothing is left to do, and says what came of each', async () => {
    const store = await storeWith(counter('a'), counter('b', 2))
    const result = await runUntilQuiet(store, [new CountTo(3)], { now })
    expect(result).toMatchObject({ written: 4, failures: [] })
    expect([...result.outcomes]).toEqual([
      ['a', { kind: 'done', message: 'at 3' }],
      ['b', { kind: 'done', message: 'at 3' }],
    ])
  })

  test('replans after a conflict from what is stored now', async () => {
    const store = await storeWith(counter('a'))
    let meddled = false
    const meddling: Store = storeOver(store, {
      patch: async (...parameters) => {
        if (!meddled) {
          meddled = true
          await store.patch(ref('a'), { spec: { value: 5 } })
        }
        return store.patch(...parameters)
      },
    })
    const result = await runUntilQuiet(meddling, [new CountTo(3)], { now })
    expect(result).toMatchObject({ written: 0, failures: [] })
    expect(result.outcomes.get('a')?.message).toBe('at 5')
  })

  test('gives a key up after a number of conflicts, and continues with the others', async () => {
    const store = await storeWith(counter('a'), counter('b'))
    let turn = 0
    const quarrelling: Store = storeOver(store, {
      patch: async (it, ...rest) => {
        if (it.name === 'a') await store.patch(ref('a'), { metadata: { labels: { turn: String(turn++) } } })
        return store.patch(it, ...rest)
      },
    })
    const result = await runUntilQuiet(quarrelling, [new CountTo(1)], { now, maxConflicts: 3 })
    expect(result.failures).toMatchObject([{ planner: 'count', key: 'a', failure: { code: 'STORE_CONFLICT' } }])
    expect(result.outcomes.get('b')).toMatchObject({ kind: 'done' })
  })

  test('reports a refused plan and continues with the others', async () => {
    const store = await storeWith(counter('a'), counter('b'))
    const failure = fail('STORE_INVALID', { object: 'Counter a', path: 'spec', problem: 'no' }).failure
    const refusing: Store = storeOver(store, {
      patch: async (it, ...rest) => (it.name === 'a' ? { ok: false, failure } : store.patch(it, ...rest)),
    })
    const result = await runUntilQuiet(refusing, [new CountTo(1)], { now })
    expect(result.failures).toEqual([{ planner: 'count', key: 'a', failure }])
    expect(result.outcomes.get('b')).toMatchObject({ kind: 'done' })
  })

  test('forgets a refusal that has ended', async () => {
    const store = await storeWith(counter('a'))
    const failure = fail('STORE_INVALID', { object: 'Counter a', path: 'spec', problem: 'no' }).failure
    let refused = false
    const refusingOnce: Store = storeOver(store, {
      patch: async (it, body, options) => {
        if (refused) return store.patch(it, body, options)
        refused = true
        await store.patch(ref('a'), { metadata: { labels: { now: 'allowed' } } })
        return { ok: false, failure }
      },
    })
    const result = await runUntilQuiet(refusingOnce, [new CountTo(1)], { now })
    expect(result).toMatchObject({ failures: [], written: 1 })
  })

  test('stops a planner that never comes to rest', async () => {
    const store = await storeWith(counter('a'))
    const endless = runUntilQuiet(store, [new CountTo(Number.POSITIVE_INFINITY)], { now, maxPlansPerKey: 50 })
    await expect(endless).rejects.toSatisfy((error) => isIpamError(error, 'RUN_LIMIT_EXCEEDED'))
  })

  test('notices what others write while it runs', async () => {
    const store = await storeWith(counter('a'))
    let joined = false
    const joining: Store = storeOver(store, {
      patch: async (...parameters) => {
        if (!joined) {
          joined = true
          await store.create(counter('late'))
        }
        return store.patch(...parameters)
      },
    })
    const result = await runUntilQuiet(joining, [new CountTo(1)], { now })
    expect(result.outcomes.get('late')).toMatchObject({ kind: 'done' })
  })

  test('notices what others delete while it runs', async () => {
    const store = await storeWith(counter('a'), counter('b', 9))
    const planner = new CountTo(1)
    const deleting: Store = storeOver(store, {
      patch: async (...parameters) => {
        await store.delete(ref('b'))
        return store.patch(...parameters)
      },
    })
    const result = await runUntilQuiet(deleting, [planner], { now })
    expect([...planner.seen.keys()]).toEqual(['a'])
    expect(result.outcomes.has('b')).toBe(false)
  })

  test('plans the oldest first, and what sums up others last', async () => {
    let clock = 0
    const store = memoryStore({ now: () => clock, kinds: [counterKind] })
    for (const name of ['sum', 'z', 'a']) {
      await store.create(counter(name, 1))
      clock += 1000
    }
    const planner = new CountTo(1, 'sum')
    await runUntilQuiet(store, [planner], { now })
    expect(planner.planned).toEqual(['z', 'a', 'sum'])
  })

  test('says when the next plan is due', async () => {
    const store = await storeWith(counter('a'), counter('b'), counter('c'))
    const planner = new CountTo(0)
    const patient: Planner = {
      name: 'patient',
      watches: planner.watches,
      observe: (change) => planner.observe(change),
      plan: (key) => ({ ...(planner.plan(key) as Plan), requeueAfterSeconds: { a: 90, b: 30, c: 60 }[key] }),
      isAggregate: () => false,
      reset: () => planner.reset(),
    }
    expect((await runUntilQuiet(store, [patient], { now })).requeueAfterSeconds).toBe(30)
  })

  test('tells of its progress', async () => {
    const store = await storeWith(counter('a'), counter('b'))
    const told: Progress[] = []
    await runUntilQuiet(store, [new CountTo(1)], { now, onProgress: (progress) => told.push(progress) })
    // two plans that write, and for each one more that finds nothing left to do
    expect(told.map(({ planned, written, waiting }) => [planned, written, waiting])).toEqual([
      [1, 1, 2],
      [2, 2, 2],
      [3, 2, 1],
      [4, 2, 0],
    ])
  })

  test('plans a key whose create may or may not have been done again before any other', async () => {
    const store = await storeWith(counter('a'), counter('b'))
    let lost = false
    const failure = fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'a', problem: 'reset' }).failure
    const losing: Store = storeOver(store, {
      patch: async (...parameters) => {
        if (lost) return store.patch(...parameters)
        lost = true
        return { ok: false, failure }
      },
    })
    const planner = new CountTo(1)
    await runUntilQuiet(losing, [planner], { now })
    expect(planner.planned.slice(0, 3)).toEqual(['a', 'a', 'b'])
  })

  test('reads again only what a conflict is about', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `c${index}`)
    const store = await storeWith(...names.map((name) => counter(name)))
    const meddled = new Set<string>()
    let lists = 0
    const meddling: Store = storeOver(store, {
      list: (query) => {
        lists++
        return store.list(query)
      },
      patch: async (it, ...rest) => {
        if (!meddled.has(it.name)) {
          meddled.add(it.name)
          await store.patch(it, { metadata: { labels: { by: 'somebody-else' } } })
        }
        return store.patch(it, ...rest)
      },
    })
    expect(await runUntilQuiet(meddling, [new CountTo(1)], { now })).toMatchObject({ written: 50, failures: [] })
    expect(lists).toBeLessThan(5)
  })

  test.each([
    { now: undefined },
    { now, maxConflicts: -1 },
    { now, maxConflicts: Number.NaN },
    { now, maxPlansPerKey: 1.5 },
  ])('refuses %j', async (options) => {
    const run = runUntilQuiet(await storeWith(), [new CountTo(1)], options as { now: () => number })
    await expect(run).rejects.toSatisfy((error) => isIpamError(error, 'INVALID_ARGUMENT'))
  })

  test('refuses two planners of one name', async () => {
    const run = runUntilQuiet(await storeWith(), [new CountTo(1), new CountTo(2)], { now })
    await expect(run).rejects.toSatisfy((error) => isIpamError(error, 'INVALID_ARGUMENT'))
  })

  test('rejects with the code of a store that cannot be listed', async () => {
    const failure = fail('STORE_IO', { operation: 'list', problem: 'down' }).failure
    const broken: Store = storeOver(await storeWith(), { list: async () => ({ ok: false, failure }) })
    await expect(runUntilQuiet(broken, [new CountTo(1)], { now })).rejects.toSatisfy((error) =>
      isIpamError(error, 'STORE_IO'),
    )
  })
})

test('the end of an object is not that of the one that has its name now, whose own end is shown', async () => {
  const below = await storeWith(counter('a'))
  const found = await below.get(ref('a'))
  const uid = found.ok ? found.value.metadata.uid : undefined
  let lists = 0
  const store = storeOver(below, {
    list: async (query) => {
      if (++lists === 2) await below.delete(ref('a'))
      return below.list(query)
    },
  })
  const ends: (string | undefined)[] = []
  const planner = new CountTo(0)
  const { observe, plan } = planner
  planner.observe = (change) => {
    if (change.kind === 'absent') ends.push(change.uid)
    return lists === 1 && change.kind === 'absent' ? [] : observe.call(planner, change)
  }
  planner.plan = (key) => {
    const planned = plan.call(planner, key)
    return planned && { ...planned, effects: [{ kind: 'absent', ref: ref('a'), uid: 'of an earlier one', why: '' }] }
  }
  await runUntilQuiet(store, [planner], { now })
  expect(ends).toEqual(['of an earlier one', uid])
})

test('a store that does not answer after a conflict ends the run with its own failure: nothing is on its way', async () => {
  const store = memoryStore({ now: () => 0 })
  await store.create(counter('a'))
  const down = fail('STORE_IO', { operation: 'get', problem: 'down' })
  const conflict = fail('STORE_CONFLICT', { object: 'a', expected: '1', actual: '2' })
  const broken = storeOver(store, { patch: async () => conflict, get: async () => down })
  const ended = await runUntilQuiet(broken, [new CountTo(1)], { now: () => 0 }).catch((error: unknown) => error)
  expect(isIpamError(ended, 'STORE_IO')).toBe(true)
  expect(ended).not.toBeInstanceOf(UnsettledError)
})

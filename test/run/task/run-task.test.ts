import { fail, unwrap } from 'ipam-kit/errors'
import type { Change, ExternalResult, Step, Task } from 'ipam-kit/plan'
import { runTask, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { CallGroup, CallSeat } from '../../../src/plan/call-tasks.js'
import type { TaskRefusal } from '../../../src/plan/task.js'

const KIND = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true, statusSubresource: false }
const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' }
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' }, data: { n: '0' } }

/**
 * Counts an object up once: reads it, makes it if there is none, and is done when it is as wanted.
 */
class CountTo implements Task {
  readonly seen: Change[] = []
  #version: string | undefined
  #n: number | undefined

  observe(change: Change): void {
    this.seen.push(change)
    const stored = change.kind === 'present' ? (change.object as typeof object) : undefined
    this.#n = stored === undefined ? -1 : Number(stored.data.n)
    this.#version = change.kind === 'present' ? change.object.metadata.resourceVersion : undefined
  }

  next(): Step {
    const plan = (effect: object) =>
      ({ kind: 'write', plan: { outcome: { kind: 'writes', message: '' }, effects: [effect] } }) as Step
    if (this.#n === undefined) return { kind: 'get', refs: [ref], why: '' }
    if (this.#n < 0) return plan({ kind: 'create', object, why: '' })
    if (this.#n >= 1) return { kind: 'done', outcome: { kind: 'counted', message: `${this.#n}` } }
    const patch = { data: { n: `${this.#n + 1}` } }
    return plan({ kind: 'patch', ref, patch, if: { resourceVersion: this.#version }, why: '' })
  }
}

let store: Store
beforeEach(() => {
  store = memoryStore({ kinds: [KIND], now: () => 0 })
})
const now = () => 0

describe('a task', () => {
  test('is told what it asks for and what it has written, until it is done', async () => {
    const task = new CountTo()
    const shown: string[] = []
    const ended = await runTask(task, store, {
      now,
      show: (change, source) => void shown.push(`${change.kind} ${source}`),
    })
    expect(ended).toEqual({ kind: 'done', outcome: { kind: 'counted', message: '1' }, requests: 3 })
    expect(shown).toEqual(['absent read', 'present written', 'present written'])
    expect(task.seen).toHaveLength(3)
  })

  test.each(['STORE_INVALID', 'STORE_OBJECT_TOO_LARGE', 'STORE_IO'] as const)(
    'may have another way where the store refuses a write: %s',
    async (code) => {
      const refusing = storeOver(store, {
        create: async () =>
          ({
            STORE_INVALID: fail('STORE_INVALID', { object: 'a', path: 'data', problem: 'a webhook denies it' }),
            STORE_OBJECT_TOO_LARGE: fail('STORE_OBJECT_TOO_LARGE', { object: 'a', sizeBytes: 2, maxBytes: 1 }),
            STORE_IO: fail('STORE_IO', { operation: 'create', problem: 'down' }),
          })[code],
      })
      const ended = { kind: 'failed', failure: { code }, requests: 2 }
      expect(await runTask(new CountTo(), refusing, { now })).toMatchObject(ended)
      const told: unknown[] = []
      const stubborn = new CountTo()
      const answers = [true, true, false]
      const task: Task = Object.assign(stubborn, {
        refused: (refusal: TaskRefusal) => {
          told.push([refusal.code, refusal.effect.kind])
          return answers.shift() as boolean
        },
      })
      expect(await runTask(task, refusing, { now })).toMatchObject({ ...ended, requests: 4 })
      expect(told).toEqual(Array(3).fill([code, 'create']))
    },
  )

  test('continues after a conflict from what is stored, and waits before it does', async () => {
    await store.create(object)
    const pauses: number[] = []
    let meddles = 2
    const meddling = storeOver(store, {
      patch: async (...args) => {
        if (meddles-- > 0) await store.patch(ref, { data: { other: `${meddles}` } })
        return store.patch(...args)
      },
    })
    const pause = async (conflicts: number) => void pauses.push(conflicts)
    const ended = await runTask(new CountTo(), meddling, { now, pause })
    // each conflict costs the write, and a read of what is stored
    expect(ended).toMatchObject({ kind: 'done', requests: 1 + 2 * 2 + 1 })
    expect(pauses).toEqual([1, 2])
  })

  test('is given up when conflicts do not end, or the store refuses', async () => {
    await store.create(object)
    const conflict = fail('STORE_CONFLICT', { object: 'a', expected: '', actual: '' })
    const never = storeOver(store, { patch: async () => conflict })
    const ended = await runTask(new CountTo(), never, { now, maxConflicts: 3 })
    expect(ended).toMatchObject({ kind: 'failed', failure: { code: 'STORE_CONFLICT' } })
    const down = storeOver(store, { get: async () => fail('STORE_IO', { operation: 'get', problem: 'down' }) })
    expect(await runTask(new CountTo(), down, { now })).toMatchObject({ kind: 'failed', failure: { code: 'STORE_IO' } })
    await expect(runTask(new CountTo(), store, { now, maxConflicts: -1 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })

  test('that does not know what has become of a write finds that out first', async () => {
    await store.create(object)
    let isDown = true
    const unsure = storeOver(store, {
      patch: async (...args) => {
        await store.patch(...args)
        return fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'a', problem: 'timed out' })
      },
      get: async (...args) => {
        if (isDown) return fail('STORE_IO', { operation: 'get', problem: 'down' })
        return store.get(...args)
      },
    })
    const task = new CountTo()
    isDown = false
    task.observe({ kind: 'present', object: unwrap(await store.get(ref)) })
    isDown = true
    const ended = await runTask(task, unsure, { now })
    if (ended.kind !== 'unsettled') throw new Error(ended.kind)
    isDown = false
    expect(await runTask(task, unsure, { now }, ended.unsettled)).toMatchObject({ outcome: { message: '1' } })
  })

  test('asks as often as it may what has become of a write, and waits before it asks again', async () => {
    await store.create(object)
    let downs = 2
    const unsure = storeOver(store, {
      patch: async (...args) => {
        await store.patch(...args)
        return fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'a', problem: 'timed out' })
      },
      get: async (...args) =>
        isSent && downs-- > 0 ? fail('STORE_IO', { operation: 'get', problem: 'down' }) : store.get(...args),
    })
    let isSent = false
    const onStep = (step: Step) => {
      isSent = step.kind === 'write'
    }
    const pauses: number[] = []
    const pause = async (count: number) => void pauses.push(count)
    const ended = await runTask(new CountTo(), unsure, { now, onStep, pause, maxSettles: 3 })
    // a read, the patch, and three times what has become of it
    expect(ended).toMatchObject({ kind: 'done', outcome: { message: '1' }, requests: 5 })
    expect(pauses).toEqual([1, 1, 2])
    downs = 2
    await store.patch(ref, { data: { n: '0' } })
    const given = await runTask(new CountTo(), unsure, { now, onStep, maxSettles: 2 })
    expect(given).toMatchObject({ kind: 'unsettled', failure: { code: 'STORE_IO' } })
    await expect(runTask(new CountTo(), store, { now, maxSettles: 0 })).rejects.toThrow('from 1')
  })

  test('that makes no headway is broken off', async () => {
    const endless: Task = { observe: () => {}, next: () => ({ kind: 'get', refs: [ref], why: 'for ever' }) }
    await expect(runTask(endless, store, { now, maxSteps: 7 })).rejects.toThrow('not at rest after 7 steps')
    await expect(runTask(endless, store, { now, maxSteps: 0 })).rejects.toThrow('from 1')
  })

  test('lists page by page', async () => {
    for (let n = 0; n < 1200; n++) await store.create({ ...object, metadata: { namespace: 'default', name: `c${n}` } })
    let [count, isListed] = [0, false]
    const query = { apiVersion: 'v1', kind: 'ConfigMap', fields: {} }
    const task: Task = {
      observe: () => void count++,
      listed: () => {
        isListed = true
      },
      next: () =>
        isListed ? { kind: 'done', outcome: { kind: 'listed', message: '' } } : { kind: 'list', query, why: '' },
    }
    expect(await runTask(task, store, { now })).toMatchObject({ kind: 'done', requests: 3 })
    expect(count).toBe(1200)
  })
})

describe('a call that is a task', () => {
  const call = { operation: 'count', key: 'k', about: ref, input: null }
  const tasks = {
    taskFor: () => new CountTo(),
    answerOf: (_: unknown, { message }: { readonly message: string }) => ({ ok: true, value: message }) as const,
  }

  test('is answered with its outcome', async () => {
    expect(await taskCaller({ store, now, tasks })(call)).toEqual({ ok: true, value: '1' })
  })

  test('that cannot be done is a failure to be tried again', async () => {
    const down = storeOver(store, { create: async () => fail('STORE_IO', { operation: 'create', problem: 'down' }) })
    expect(await taskCaller({ store: down, now, tasks })(call)).toMatchObject({
      ok: false,
      failure: { message: 'could not write the allocation: down', retryable: true, retryAfterSeconds: undefined },
    })
  })
  describe('in a group', () => {
    const seat = {}
    /** A group that is done at its first step. */
    const groupOf = (join: (key: string) => CallSeat): CallGroup => ({
      size: 0,
      join: ({ key }) => join(key),
      lead: () => {},
      leave: () => {},
      observe: () => {},
      next: () => ({ kind: 'done', outcome: { kind: 'any', message: '' } }),
    })

    test('whose task ends without an answer for it has failed', async () => {
      const caller = taskCaller({
        store,
        now,
        tasks: { ...tasks, groupOf: () => 'g', openGroup: () => groupOf(() => seat) },
      })
      const failure = { message: 'the group of the call ended without an answer', retryable: true }
      expect(await caller(call)).toMatchObject({ ok: false, failure })
    })

    test('shares the task with calls that are sent in the next turns', async () => {
      const seats: { answer?: ExternalResult }[] = []
      let tasksRun = 0
      const group: CallGroup = {
        ...groupOf(() => {
          seats.push({})
          return seats.at(-1)!
        }),
        next: () => {
          tasksRun++
          for (const each of seats) each.answer = { ok: true, value: seats.length }
          return { kind: 'done', outcome: { kind: 'any', message: '' } }
        },
      }
      const caller = taskCaller({ store, now, tasks: { ...tasks, groupOf: () => 'g', openGroup: () => group } })
      const answers: Promise<ExternalResult>[] = []
      for (let n = 0; n < 10; n++) {
        answers.push(caller({ ...call, key: `${n}` }))
        await Promise.resolve()
      }
      expect(await Promise.all(answers)).toEqual(Array(10).fill({ ok: true, value: 10 }))
      expect(tasksRun).toBe(1)
    })

    test('fails with the others where the outcome of a write is not found out, and the next call begins a new task', async () => {
      let requests = 0
      const silent = storeOver(store, {
        create: async () => {
          requests++
          return fail('STORE_OUTCOME_UNKNOWN', {
            operation: 'create',
            object: 'ConfigMap default/a',
            problem: 'no answer in time',
          })
        },
        get: async (wanted) =>
          requests > 0 ? fail('STORE_IO', { operation: 'get', problem: 'no answer in time' }) : store.get(wanted),
      })
      let opened = 0
      const openGroup = (): CallGroup => {
        opened++
        const [seats, task] = [new Set<CallSeat>(), new CountTo()]
        return {
          ...groupOf(() => {
            const joined = {}
            seats.add(joined)
            return joined
          }),
          get size() {
            return seats.size
          },
          leave: (left) => void seats.delete(left),
          observe: (change) => task.observe(change),
          next: () => task.next(),
        }
      }
      const caller = taskCaller({ store: silent, now, tasks: { ...tasks, groupOf: () => 'g', openGroup } })
      const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => caller({ ...call, key: `${n}` })))
      expect(answers).toMatchObject(Array(12).fill({ ok: false, failure: { retryable: true } }))
      // one write, and five attempts to find out its outcome
      expect([requests, opened]).toEqual([6, 1])
      await caller(call)
      expect(opened).toBe(2)
    })

    test('that it cannot join leaves no group behind', async () => {
      let opened = 0
      const openGroup = () => {
        const nth = ++opened
        return groupOf((key) => {
          if (key === 'wrong') throw new Error('wrong')
          return { answer: { ok: true, value: nth } }
        })
      }
      const caller = taskCaller({ store, now, tasks: { ...tasks, groupOf: () => 'g', openGroup } })
      await expect(caller({ ...call, key: 'wrong' })).rejects.toThrow('wrong')
      expect(await caller(call)).toEqual({ ok: true, value: 2 })
    })
  })
})

import type { ObjectRef } from 'ipam-kit/crd/meta'
import type { Step, Task, TaskTime } from 'ipam-kit/plan'
import { objectLocks, runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { Dice, storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { LockHolder } from '../../../src/run/task/object-locks.js'

/** All that can be done without timers. */
async function rest(): Promise<void> {
  for (let n = 0; n < 50; n++) await Promise.resolve()
}

const refTo = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name })
const [x, y] = [refTo('x'), refTo('y')]

describe('locks', () => {
  test('an object that is named twice is held once', () => {
    const locks = objectLocks()
    const [first, second] = [locks.begin(), locks.begin()]
    first.acquire([x, x, y])
    first.release()
    expect([second.isLocked(x), second.isLocked(y)]).toEqual([false, false])
  })

  /** Waits, and then notes its name. */
  const waiting = (holder: LockHolder, at: ObjectRef, name: string, seen: string[]) =>
    holder.wait(at).then(() => void seen.push(name))

  test('are not waited for when they are free, nor by the run that holds them', async () => {
    const locks = objectLocks()
    const [one, other] = [locks.begin(), locks.begin()]
    expect(one.isLocked(x)).toBe(false)
    await one.wait(x)
    one.acquire([x, y])
    expect([one.isLocked(x), other.isLocked(x), other.isLocked(y), other.isLocked(refTo('z'))]).toEqual([
      false,
      true,
      true,
      false,
    ])
    await one.wait(x)
    await other.wait(refTo('z'))
    // and it holds no other lock any more
    expect(other.isLocked(y)).toBe(false)
    one.release()
    expect([other.isLocked(x), other.isLocked(y)]).toEqual([false, false])
  })

  test('are acquired by one waiting run after each release, in the order in which the runs began', async () => {
    const locks = objectLocks()
    const seen: string[] = []
    const [one, a, b, c, other] = Array.from({ length: 5 }, () => locks.begin()) as LockHolder[]
    one!.acquire([x, y])
    void waiting(c!, x, 'c', seen)
    void waiting(a!, x, 'a', seen)
    void waiting(b!, x, 'b', seen)
    void waiting(other!, y, 'y', seen)
    await rest()
    expect(seen).toEqual([])
    one!.acquire([y])
    await rest()
    expect(seen).toEqual(['a'])
    // it is served before all others, also before a run that begins now
    expect([a!.isLocked(x), locks.begin().isLocked(x)]).toEqual([false, true])
    a!.acquire([x])
    a!.release()
    await rest()
    expect(seen).toEqual(['a', 'b'])
    one!.release()
    await rest()
    expect(seen).toEqual(['a', 'b', 'y'])
    // the lock that it does not keep is for the next run
    b!.acquire([refTo('z')])
    await rest()
    expect(seen).toEqual(['a', 'b', 'y', 'c'])
  })

  test('are acquired in the same order by a run that has to wait again', async () => {
    const locks = objectLocks()
    const seen: string[] = []
    const [a, b, one] = [locks.begin(), locks.begin(), locks.begin()]
    one.acquire([x])
    void waiting(b, x, 'b', seen)
    void waiting(a, x, 'a', seen)
    one.release()
    await rest()
    // a run that does not wait
    one.acquire([x])
    void waiting(a, x, 'a again', seen)
    await rest()
    expect(seen).toEqual(['a'])
    one.release()
    await rest()
    expect(seen).toEqual(['a', 'a again'])
    a.release()
    await rest()
    expect(seen).toEqual(['a', 'a again', 'b'])
    b.release()
    expect(locks.begin().isLocked(x)).toBe(false)
  })

  test('are left to the next run by a run that waits for another lock', async () => {
    const locks = objectLocks()
    const seen: string[] = []
    const [one, other, a, b] = [locks.begin(), locks.begin(), locks.begin(), locks.begin()]
    one.acquire([x])
    other.acquire([y])
    void waiting(a, x, 'a', seen)
    void waiting(b, x, 'b', seen)
    one.release()
    await rest()
    void waiting(a, y, 'a at y', seen)
    await rest()
    expect(seen).toEqual(['a', 'b'])
  })

  test.each(Array.from({ length: 50 }, (_, seed) => seed))(
    'let every run end, and are all free at the end, seed %i',
    async (seed) => {
      const dice = new Dice(seed)
      const locks = objectLocks()
      const refs = ['a', 'b', 'c'].map(refTo)
      let left = 2 + dice.below(20)
      const work = async () => {
        const holder = locks.begin()
        for (let step = dice.below(12); step > 0; step--) {
          for (let n = dice.below(3); n > 0; n--) await Promise.resolve()
          if (dice.chance(0.6)) await holder.wait(dice.pick(refs))
          else if (dice.chance(0.8)) holder.acquire(refs.filter(() => dice.chance(0.4)))
          else holder.release()
        }
        holder.release()
        left--
      }
      const all = Promise.all(Array.from({ length: left }, work))
      for (let n = 0; n < 100; n++) await rest()
      expect(left).toBe(0)
      await all
      expect(refs.map((each) => locks.begin().isLocked(each))).toEqual([false, false, false])
    },
  )
})

const KIND = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true, statusSubresource: false }
const ref = refTo('a')
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } }

const lock: Step = { kind: 'lock', ref, why: '' }
const effects = [{ kind: 'patch', ref, patch: { data: {} }, if: {}, why: '' }] as const
const write: Step = { kind: 'write', plan: { outcome: { kind: 'writes', message: '' }, effects } }

/**
 * Returns some steps, whatever their results, and is done. It returns a lock step until it holds
 * the lock.
 */
class Steps implements Task {
  readonly #steps: Step[]
  readonly #seen: (step: string) => void

  constructor(steps: readonly Step[], seen: (step: string) => void) {
    this.#steps = [...steps]
    this.#seen = seen
  }

  observe(): void {}

  next({ isLocked }: TaskTime): Step {
    if (this.#steps[0] === lock && isLocked?.(ref) === false) this.#steps.shift()
    const step = this.#steps[0] ?? ({ kind: 'done', outcome: { kind: 'done', message: '' } } as const)
    if (step !== lock || isLocked === undefined) this.#steps.shift()
    this.#seen(`${step.kind}${isLocked === undefined ? ', without locks' : ''}`)
    return step
  }
}

describe('tasks', () => {
  let store: Store
  let seen: string[]
  beforeEach(async () => {
    store = memoryStore({ kinds: [KIND], now: () => 0 })
    await store.create(object)
    seen = []
  })
  const now = () => 0
  const by = (name: string, steps: readonly Step[] = [lock, write]) =>
    new Steps(steps, (step) => void seen.push(`${name}: ${step}`))

  test('continue at once where there are no locks', async () => {
    await Promise.all([runTask(by('a', [write]), store, { now }), runTask(by('b'), store, { now })])
    expect(seen.slice(0, 3)).toEqual(['a: write, without locks', 'b: lock, without locks', 'b: write, without locks'])
  })

  test('wait until another one has written', async () => {
    const locks = objectLocks()
    const ended = await Promise.all(
      [by('a', [write]), by('b'), by('c')].map((task) => runTask(task, store, { now, locks })),
    )
    expect(seen).toEqual(['a: write', 'b: lock', 'c: lock', 'a: done', 'b: write', 'b: done', 'c: write', 'c: done'])
    expect(ended.map(({ requests }) => requests)).toEqual([1, 1, 1])
  })

  test.each([
    ['meets another', { ok: false, failure: { code: 'STORE_CONFLICT', context: { ref: 'x', reason: 'x' } } }],
    ['is refused', { ok: false, failure: { code: 'STORE_INVALID', context: { ref: 'x', problems: [] } } }],
  ])('continue when the task before them %s', async (_, answer) => {
    const locks = objectLocks()
    let writes = 0
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? (answer as never) : store.patch(...args)),
    })
    const tasks = [by('a', [write]), by('b')].map((task) => runTask(task, failing, { now, locks }))
    expect((await Promise.all(tasks)).at(-1)).toMatchObject({ kind: 'done', requests: 1 })
  })

  test('continue when the conflict of the task before them has been read', async () => {
    const locks = objectLocks()
    let writes = 0
    const conflict = { ok: false, failure: { code: 'STORE_CONFLICT', context: { ref: 'x', reason: 'x' } } } as never
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? conflict : store.patch(...args)),
    })
    const tasks = [by('a', [write, lock, write]), by('b')]
    await Promise.all(tasks.map((task) => runTask(task, failing, { now, locks })))
    expect(seen).toEqual(['a: write', 'b: lock', 'a: lock', 'b: write', 'b: done', 'a: write', 'a: done'])
  })

  test('continue before the task before them pauses', async () => {
    const locks = objectLocks()
    let writes = 0
    const conflict = { ok: false, failure: { code: 'STORE_CONFLICT', context: { ref: 'x', reason: 'x' } } } as never
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? conflict : store.patch(...args)),
    })
    let end: () => void = () => {}
    const pause = () => new Promise<void>((resolve) => (end = resolve))
    const first = runTask(by('a', [write, write]), failing, { now, locks, pause })
    expect(await runTask(by('b'), failing, { now, locks })).toMatchObject({ kind: 'done' })
    expect(seen).toEqual(['a: write', 'b: lock', 'b: write', 'b: done'])
    end()
    // the object is read for the tasks that wait, and once more after the pause
    expect(await first).toMatchObject({ kind: 'done', requests: 4 })
  })

  test('write on the version after the pause, where another process writes in each pause', async () => {
    const locks = objectLocks()
    let [version, conflicts] = ['', 0]
    const task: Task = {
      observe(change) {
        if (change.kind === 'present') version = change.object.metadata.resourceVersion!
      },
      next({ conflicts: met }) {
        conflicts = met
        if (version === '') return { kind: 'get', refs: [ref], why: '' }
        if (isWritten) return { kind: 'done', outcome: { kind: 'done', message: '' } }
        const patch = {
          kind: 'patch',
          ref,
          patch: { data: { a: 'a' } },
          if: { resourceVersion: version },
          why: '',
        } as const
        return { kind: 'write', plan: { outcome: { kind: 'writes', message: '' }, effects: [patch] } }
      },
    }
    let isWritten = false
    const other = async () => void (await store.patch(ref, { data: { b: `${Math.random()}` } }))
    let writes = 0
    const racing = storeOver(store, {
      patch: async (...args) => {
        // once between its read and its write
        if (writes++ === 0) await other()
        const answer = await store.patch(...args)
        isWritten = answer.ok
        return answer
      },
    })
    expect(await runTask(task, racing, { now, locks, pause: other, maxConflicts: 5 })).toMatchObject({ kind: 'done' })
    expect(conflicts).toBe(1)
  })

  test('continue while the outcome of a write is unknown', async () => {
    const locks = objectLocks()
    let writes = 0
    const unknown = { ok: false, failure: { code: 'STORE_OUTCOME_UNKNOWN', context: { object: 'x' } } } as never
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? unknown : store.patch(...args)),
      get: () => new Promise(() => {}),
    })
    void runTask(by('a', [write]), failing, { now, locks })
    expect(await runTask(by('b'), failing, { now, locks })).toMatchObject({ kind: 'done' })
    expect(seen).toEqual(['a: write', 'b: lock', 'b: write', 'b: done'])
  })

  test('continue when the task before them takes another way after a refusal', async () => {
    const locks = objectLocks()
    let writes = 0
    const refused = {
      ok: false,
      failure: { code: 'STORE_INVALID', context: { object: 'x', path: 'x', problem: 'x' } },
    } as never
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? refused : store.patch(...args)),
      get: () => new Promise(() => {}),
    })
    const first: Task = by('a', [write, { kind: 'get', refs: [ref], why: '' }])
    first.refused = () => true
    void runTask(first, failing, { now, locks })
    expect(await runTask(by('b'), failing, { now, locks })).toMatchObject({ kind: 'done' })
    expect(seen).toEqual(['a: write', 'b: lock', 'a: get', 'b: write', 'b: done'])
  })

  test('continue when the task before them throws', async () => {
    const locks = objectLocks()
    let writes = 0
    const failing = storeOver(store, {
      patch: async (...args) => {
        if (writes++ === 0) throw new Error('no more')
        return store.patch(...args)
      },
    })
    const first = runTask(by('a', [write]), failing, { now, locks })
    const second = runTask(by('b'), failing, { now, locks })
    await expect(first).rejects.toThrow('no more')
    expect(await second).toMatchObject({ kind: 'done' })
    expect(seen).toEqual(['a: write', 'b: lock', 'b: write', 'b: done'])
  })
})

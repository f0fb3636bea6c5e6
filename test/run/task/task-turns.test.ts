import type { ObjectRef } from 'ipam-kit/crd/meta'
import type { Step, Task, TaskTime } from 'ipam-kit/plan'
import { runTask, taskTurns } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { Dice, storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { TaskTurn } from '../../../src/run/task/task-turns.js'

/** All that can be done without timers. */
async function rest(): Promise<void> {
  for (let n = 0; n < 50; n++) await Promise.resolve()
}

const refTo = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name })
const [x, y] = [refTo('x'), refTo('y')]

describe('turns', () => {
  /** Waits, and tells that it goes on. */
  const waiting = (turn: TaskTurn, at: ObjectRef, name: string, seen: string[]) =>
    turn.wait(at).then(() => void seen.push(name))

  test('are not waited for where nobody writes, nor by the one who writes', async () => {
    const turns = taskTurns()
    const [one, other] = [turns.begin(), turns.begin()]
    expect(one.isBusy(x)).toBe(false)
    await one.wait(x)
    one.writes([x, y])
    expect([one.isBusy(x), other.isBusy(x), other.isBusy(y), other.isBusy(refTo('z'))]).toEqual([
      false,
      true,
      true,
      false,
    ])
    await one.wait(x)
    await other.wait(refTo('z'))
    // and what it waited with it does not write any more
    expect(other.isBusy(y)).toBe(false)
    one.pass()
    expect([other.isBusy(x), other.isBusy(y)]).toEqual([false, false])
  })

  test('come to those that wait for the same in the order in which they began, one for each that passes', async () => {
    const turns = taskTurns()
    const seen: string[] = []
    const [one, a, b, c, other] = Array.from({ length: 5 }, () => turns.begin()) as TaskTurn[]
    one!.writes([x, y])
    void waiting(c!, x, 'c', seen)
    void waiting(a!, x, 'a', seen)
    void waiting(b!, x, 'b', seen)
    void waiting(other!, y, 'y', seen)
    await rest()
    expect(seen).toEqual([])
    one!.writes([y])
    await rest()
    expect(seen).toEqual(['a'])
    // it goes before all others, also before who comes now
    expect([a!.isBusy(x), turns.begin().isBusy(x)]).toEqual([false, true])
    a!.writes([x])
    a!.pass()
    await rest()
    expect(seen).toEqual(['a', 'b'])
    one!.pass()
    await rest()
    expect(seen).toEqual(['a', 'b', 'y'])
    // what it does not want any more is for the next one
    b!.writes([refTo('z')])
    await rest()
    expect(seen).toEqual(['a', 'b', 'y', 'c'])
  })

  test('are kept in the order of before by who has to wait again', async () => {
    const turns = taskTurns()
    const seen: string[] = []
    const [a, b, one] = [turns.begin(), turns.begin(), turns.begin()]
    one.writes([x])
    void waiting(b, x, 'b', seen)
    void waiting(a, x, 'a', seen)
    one.pass()
    await rest()
    // somebody who asks nobody
    one.writes([x])
    void waiting(a, x, 'a again', seen)
    await rest()
    expect(seen).toEqual(['a'])
    one.pass()
    await rest()
    expect(seen).toEqual(['a', 'a again'])
    a.pass()
    await rest()
    expect(seen).toEqual(['a', 'a again', 'b'])
    b.pass()
    expect(turns.begin().isBusy(x)).toBe(false)
  })

  test('are left to the next one by who waits elsewhere', async () => {
    const turns = taskTurns()
    const seen: string[] = []
    const [one, other, a, b] = [turns.begin(), turns.begin(), turns.begin(), turns.begin()]
    one.writes([x])
    other.writes([y])
    void waiting(a, x, 'a', seen)
    void waiting(b, x, 'b', seen)
    one.pass()
    await rest()
    void waiting(a, y, 'a at y', seen)
    await rest()
    expect(seen).toEqual(['a', 'b'])
  })

  test.each(Array.from({ length: 50 }, (_, seed) => seed))(
    'leave nobody behind, and let nobody wait where nobody writes, seed %i',
    async (seed) => {
      const dice = new Dice(seed)
      const turns = taskTurns()
      const refs = ['a', 'b', 'c'].map(refTo)
      let left = 2 + dice.below(20)
      const work = async () => {
        const turn = turns.begin()
        for (let step = dice.below(12); step > 0; step--) {
          for (let n = dice.below(3); n > 0; n--) await Promise.resolve()
          if (dice.chance(0.6)) await turn.wait(dice.pick(refs))
          else if (dice.chance(0.8)) turn.writes(refs.filter(() => dice.chance(0.4)))
          else turn.pass()
        }
        turn.pass()
        left--
      }
      const all = Promise.all(Array.from({ length: left }, work))
      for (let n = 0; n < 100; n++) await rest()
      expect(left).toBe(0)
      await all
      expect(refs.map((each) => turns.begin().isBusy(each))).toEqual([false, false, false])
    },
  )
})

const KIND = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true, statusSubresource: false }
const ref = refTo('a')
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } }

const turn: Step = { kind: 'turn', ref, why: '' }
const effects = [{ kind: 'patch', ref, patch: { data: {} }, if: {}, why: '' }] as const
const write: Step = { kind: 'write', plan: { outcome: { kind: 'writes', message: '' }, effects } }

/**
 * Does some steps, whatever comes of them, and is done. A turn it asks for as long as it is not its
 * own.
 */
class Steps implements Task {
  readonly #steps: Step[]
  readonly #seen: (step: string) => void

  constructor(steps: readonly Step[], seen: (step: string) => void) {
    this.#steps = [...steps]
    this.#seen = seen
  }

  observe(): void {}

  next({ isBusy }: TaskTime): Step {
    if (this.#steps[0] === turn && isBusy?.(ref) === false) this.#steps.shift()
    const step = this.#steps[0] ?? ({ kind: 'done', outcome: { kind: 'done', message: '' } } as const)
    if (step !== turn || isBusy === undefined) this.#steps.shift()
    this.#seen(`${step.kind}${isBusy === undefined ? ', without turns' : ''}`)
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
  const by = (name: string, steps: readonly Step[] = [turn, write]) =>
    new Steps(steps, (step) => void seen.push(`${name}: ${step}`))

  test('go on at once where there are no turns', async () => {
    await Promise.all([runTask(by('a', [write]), store, { now }), runTask(by('b'), store, { now })])
    expect(seen.slice(0, 3)).toEqual(['a: write, without turns', 'b: turn, without turns', 'b: write, without turns'])
  })

  test('wait until another one has written', async () => {
    const turns = taskTurns()
    const ended = await Promise.all(
      [by('a', [write]), by('b'), by('c')].map((task) => runTask(task, store, { now, turns })),
    )
    expect(seen).toEqual(['a: write', 'b: turn', 'c: turn', 'a: done', 'b: write', 'b: done', 'c: write', 'c: done'])
    expect(ended.map(({ requests }) => requests)).toEqual([1, 1, 1])
  })

  test.each([
    ['meets another', { ok: false, failure: { code: 'STORE_CONFLICT', context: { ref: 'x', reason: 'x' } } }],
    ['is refused', { ok: false, failure: { code: 'STORE_INVALID', context: { ref: 'x', problems: [] } } }],
  ])('go on when the one before them %s', async (_, answer) => {
    const turns = taskTurns()
    let writes = 0
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? (answer as never) : store.patch(...args)),
    })
    const tasks = [by('a', [write]), by('b')].map((task) => runTask(task, failing, { now, turns }))
    expect((await Promise.all(tasks)).at(-1)).toMatchObject({ kind: 'done', requests: 1 })
  })

  test('go on when it is known who was faster than the one before them', async () => {
    const turns = taskTurns()
    let writes = 0
    const conflict = { ok: false, failure: { code: 'STORE_CONFLICT', context: { ref: 'x', reason: 'x' } } } as never
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? conflict : store.patch(...args)),
    })
    const tasks = [by('a', [write, turn, write]), by('b')]
    await Promise.all(tasks.map((task) => runTask(task, failing, { now, turns })))
    expect(seen).toEqual(['a: write', 'b: turn', 'a: turn', 'b: write', 'b: done', 'a: write', 'a: done'])
  })

  test('go on before the one before them pauses', async () => {
    const turns = taskTurns()
    let writes = 0
    const conflict = { ok: false, failure: { code: 'STORE_CONFLICT', context: { ref: 'x', reason: 'x' } } } as never
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? conflict : store.patch(...args)),
    })
    let end: () => void = () => {}
    const pause = () => new Promise<void>((resolve) => (end = resolve))
    const first = runTask(by('a', [write, write]), failing, { now, turns, pause })
    expect(await runTask(by('b'), failing, { now, turns })).toMatchObject({ kind: 'done' })
    expect(seen).toEqual(['a: write', 'b: turn', 'b: write', 'b: done'])
    end()
    // it is read for those that wait, and once more after the pause
    expect(await first).toMatchObject({ kind: 'done', requests: 4 })
  })

  test('write on the version after the pause, where another process writes in each pause', async () => {
    const turns = taskTurns()
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
    expect(await runTask(task, racing, { now, turns, pause: other, maxConflicts: 5 })).toMatchObject({ kind: 'done' })
    expect(conflicts).toBe(1)
  })

  test('go on while it is not known what has become of a write', async () => {
    const turns = taskTurns()
    let writes = 0
    const unknown = { ok: false, failure: { code: 'STORE_OUTCOME_UNKNOWN', context: { object: 'x' } } } as never
    const failing = storeOver(store, {
      patch: async (...args) => (writes++ === 0 ? unknown : store.patch(...args)),
      get: () => new Promise(() => {}),
    })
    void runTask(by('a', [write]), failing, { now, turns })
    expect(await runTask(by('b'), failing, { now, turns })).toMatchObject({ kind: 'done' })
    expect(seen).toEqual(['a: write', 'b: turn', 'b: write', 'b: done'])
  })

  test('go on when the one before them does something else after a refusal', async () => {
    const turns = taskTurns()
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
    void runTask(first, failing, { now, turns })
    expect(await runTask(by('b'), failing, { now, turns })).toMatchObject({ kind: 'done' })
    expect(seen).toEqual(['a: write', 'b: turn', 'a: get', 'b: write', 'b: done'])
  })

  test('go on when the one before them throws', async () => {
    const turns = taskTurns()
    let writes = 0
    const failing = storeOver(store, {
      patch: async (...args) => {
        if (writes++ === 0) throw new Error('no more')
        return store.patch(...args)
      },
    })
    const first = runTask(by('a', [write]), failing, { now, turns })
    const second = runTask(by('b'), failing, { now, turns })
    await expect(first).rejects.toThrow('no more')
    expect(await second).toMatchObject({ kind: 'done' })
    expect(seen).toEqual(['a: write', 'b: turn', 'b: write', 'b: done'])
  })
})

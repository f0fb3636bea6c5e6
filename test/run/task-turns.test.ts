import type { Step, Task } from 'ipam-kit/plan'
import { runTask, taskTurns } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { Dice, storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'

/** All that can be done without timers. */
async function rest(): Promise<void> {
  for (let n = 0; n < 50; n++) await Promise.resolve()
}

describe('turns', () => {
  test('are not waited for by one alone, nor by the last that does not wait yet', async () => {
    const turns = taskTurns()
    turns.begin()
    await turns.wait()
    turns.begin()
    const seen: string[] = []
    const first = turns.wait().then(() => seen.push('first'))
    await rest()
    expect(seen).toEqual([])
    await turns.wait()
    turns.end()
    await first
    expect(seen).toEqual(['first'])
  })

  test('come to those that wait in the order in which they came, one for each that passes', async () => {
    const turns = taskTurns()
    const seen: string[] = []
    for (let n = 0; n < 4; n++) turns.begin()
    for (const name of ['a', 'b', 'c']) void turns.wait().then(() => seen.push(name))
    turns.pass()
    await rest()
    expect(seen).toEqual(['a'])
    turns.pass()
    turns.pass()
    await rest()
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  test.each(Array.from({ length: 50 }, (_, seed) => seed))('leave nobody behind, seed %i', async (seed) => {
    const dice = new Dice(seed)
    const turns = taskTurns()
    let left = 2 + dice.below(20)
    const work = async () => {
      turns.begin()
      for (let step = dice.below(12); step > 0; step--) {
        for (let n = dice.below(3); n > 0; n--) await Promise.resolve()
        if (dice.chance(0.6)) await turns.wait()
        else turns.pass()
      }
      turns.end()
      left--
    }
    const all = Promise.all(Array.from({ length: left }, work))
    for (let n = 0; n < 100; n++) await rest()
    expect(left).toBe(0)
    await all
  })
})

const KIND = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true, statusSubresource: false }
const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' }
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } }

const turn: Step = { kind: 'turn', ref, why: '' }
const effects = [{ kind: 'patch', ref, patch: { data: {} }, if: {}, why: '' }] as const
const write: Step = { kind: 'write', plan: { outcome: { kind: 'writes', message: '' }, effects } }

/** Does some steps, whatever comes of them, and is done. */
class Steps implements Task {
  readonly #steps: Step[]
  readonly #seen: (step: string) => void

  constructor(steps: readonly Step[], seen: (step: string) => void) {
    this.#steps = [...steps]
    this.#seen = seen
  }

  observe(): void {}

  next({ takesTurns }: { readonly takesTurns?: boolean | undefined }): Step {
    const step = this.#steps.shift() ?? ({ kind: 'done', outcome: { kind: 'done', message: '' } } as const)
    this.#seen(`${step.kind}${takesTurns === true ? '' : ', without turns'}`)
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
    // by its write, and by its end
    expect(seen).toEqual(['a: write', 'b: turn', 'c: turn', 'a: done', 'b: write', 'c: write', 'b: done', 'c: done'])
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

  test('go on when the one before them throws', async () => {
    const turns = taskTurns()
    const dying = { next: () => ({ kind: 'turn', ref, why: '' }) as const, observe: () => {} }
    const first = runTask(dying, store, { now, turns, maxSteps: 1 })
    const second = runTask(by('b'), store, { now, turns })
    await expect(first).rejects.toThrow()
    expect(await second).toMatchObject({ kind: 'done' })
  })
})

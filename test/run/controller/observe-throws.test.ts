import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import type { Change, Plan, Planner } from 'ipam-kit/plan'
import { Controller, type ControllerProblem } from 'ipam-kit/run'
import type { Store, WatchEvent } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, expect, test } from 'vitest'
import { counter, counterKind, ref } from '../task/counter.js'
import { VirtualTimers } from './virtual-timers.js'

/** Counts every object to 1, and throws when it is shown what it cannot take. */
class CountOne implements Planner {
  readonly name = 'count'
  readonly watches = [counterKind]
  readonly #seen = new Map<string, KubeObject>()
  readonly #isBad: (change: Change) => boolean

  constructor(isBad: (change: Change) => boolean) {
    this.#isBad = isBad
  }

  observe(change: Change): string[] {
    if (this.#isBad(change)) throw new Error('cannot take it')
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (change.kind === 'present') this.#seen.set(name, change.object)
    else this.#seen.delete(name)
    return [name]
  }

  plan(key: string): Plan | undefined {
    const object = this.#seen.get(key)
    if (object === undefined) return undefined
    const outcome = { kind: 'counted', message: '' }
    if (numberIn(object) > 0) return { outcome, effects: [] }
    const { uid, resourceVersion } = object.metadata
    const patch = { spec: { value: 1 } }
    return { outcome, effects: [{ kind: 'patch', ref: ref(key), patch, if: { uid, resourceVersion }, why: '' }] }
  }

  begin = () => () => []
  isAggregate = () => false
  reset = () => this.#seen.clear()
}

const numberIn = ({ spec }: KubeObject) => (spec as { readonly value: number }).value

let timers: VirtualTimers
let store: Store
let problems: ControllerProblem[]
beforeEach(() => {
  timers = new VirtualTimers()
  store = memoryStore({ now: () => timers.now(), kinds: [counterKind] })
  problems = []
})

function controllerWith(planner: Planner, changed: Partial<Store>): Controller {
  const onProblem = (problem: ControllerProblem) => void problems.push(problem)
  return new Controller({ store: storeOver(store, changed), planners: [planner], timers, onProblem })
}

/** Tells nothing: what is known of an object is what the controller itself has written or read. */
const silent: Store['watch'] = () => {
  let end: (result: IteratorResult<WatchEvent>) => void = () => {}
  const iterator: AsyncIterator<WatchEvent> = {
    next: () =>
      new Promise((resolve) => {
        end = resolve
      }),
    return: async () => {
      end({ done: true, value: undefined })
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
const storedValue = async (name: string) => numberIn(unwrap(await store.get(ref(name))))

test.each(['list', 'watch'] as const)(
  'what a planner throws at a change of the %s ends the run, when all that was begun is done',
  async (by) => {
    const planner = new CountOne((change) => change.kind === 'present' && change.object.metadata.name === 'bad')
    const patch: Store['patch'] = async (place, change, options) => {
      await new Promise<void>((resolve) => void timers.after(50, resolve))
      return store.patch(place, change, options)
    }
    await store.create(counter('a'))
    if (by === 'list') await store.create(counter('bad'))
    const controller = controllerWith(planner, { patch })
    const ended: string[] = []
    const running = controller.run().catch((error: Error) => void ended.push(error.message))
    await timers.pass(10)
    if (by === 'watch') await store.create(counter('bad'))
    await timers.pass(10)
    // nothing is planned before all is listed; what is on its way is waited for
    expect(ended).toEqual(by === 'list' ? ['cannot take it'] : [])
    await timers.pass(100)
    await running
    expect(ended).toEqual(['cannot take it'])
    expect(await storedValue('a')).toBe(by === 'list' ? 0 : 1)
    await store.create(counter('b'))
    await timers.pass(60_000)
    expect(await storedValue('b')).toBe(0)
    expect([problems, controller.load.running, timers.size]).toEqual([[], 0, 0])
  },
)

test('what a planner throws at a write of its own is a failure of that plan alone', async () => {
  let throws = 0
  const planner = new CountOne((change) => change.kind === 'present' && numberIn(change.object) > 0 && throws++ === 0)
  await store.create(counter('a'))
  const controller = controllerWith(planner, { watch: silent })
  const running = controller.run()
  await timers.pass(60_000)
  // the next plan meets a conflict, and so finds out what it was not shown
  expect(problems).toMatchObject([{ kind: 'thrown', key: 'a', error: { message: 'cannot take it' } }])
  expect([await storedValue('a'), throws]).toEqual([1, 2])
  controller.stop()
  await running
})

test('a planner that throws at the outcome of a write does not keep stop waiting', async () => {
  let isDown = true
  let throws = 0
  const planner = new CountOne(() => !isDown && throws++ === 0)
  await store.create(counter('a'))
  const get: Store['get'] = async (place) =>
    isDown ? fail('STORE_IO', { operation: 'get', problem: 'down' }) : store.get(place)
  const patch: Store['patch'] = async (place, change, options) =>
    isDown
      ? fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'a', problem: 'cut' })
      : store.patch(place, change, options)
  const controller = controllerWith(planner, { get, patch, watch: silent })
  const running = controller.run()
  await timers.pass(10)
  expect(controller.load).toMatchObject({ running: 0, unsettled: 1 })
  isDown = false
  await timers.pass(60_000)
  expect(problems).toContainEqual(expect.objectContaining({ kind: 'thrown', key: 'a' }))
  expect(controller.load).toMatchObject({ running: 0, unsettled: 0 })
  expect(await storedValue('a')).toBe(1)
  controller.stop()
  await running
})

import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail } from 'ipam-kit/errors'
import { definePlanner, type Watch } from 'ipam-kit/plan'
import { Controller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { VirtualTimers } from './controller/virtual-timers.js'
import { counter, counterKind } from './task/counter.js'

const counters: Watch<KubeObject> = { ...counterKind, parse: (object) => ({ ok: true, value: object }) }

/** For each counter `x` makes a counter `x-made`, once. */
function making() {
  return definePlanner({
    name: 'making',
    watches: { counters },
    wakes: { counters: ({ ref: { name } }) => (name.endsWith('-made') ? [] : [name]) },
    plan: (name, { cache }) => {
      const outcome = { kind: 'made', message: name }
      if (cache.counters.get(`default/${name}-made`) !== undefined) return { outcome, effects: [] }
      return { outcome, effects: [{ kind: 'create', object: counter(`${name}-made`), why: '' }] }
    },
  })
}

/**
 * A store whose first create meets a conflict, and whose first read is answered a second after it
 * was made. @returns it, and what was to be created
 */
function slowReads(store: Store, timers: VirtualTimers): { readonly slow: Store; readonly created: string[] } {
  const created: string[] = []
  let reads = 0
  const slow = storeOver(store, {
    create: async (object) => {
      const { name } = object.metadata
      return created.push(name) > 1 ? store.create(object) : fail('STORE_ALREADY_EXISTS', { object: name })
    },
    get: async (name) => {
      const found = await store.get(name)
      if (++reads === 1) await new Promise<void>((resolve) => void timers.after(1000, resolve))
      return found
    },
  })
  return { slow, created }
}

test('a read that was begun before an object came does not take it away', async () => {
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds: [counterKind] })
  const planner = making()
  const problems: unknown[] = []
  const { slow, created } = slowReads(store, timers)
  const controller = new Controller({
    store: slow,
    planners: [planner],
    timers,
    onProblem: (problem) => problems.push(problem),
  })
  const running = controller.run()
  await store.create(counter('a'))
  // the read that follows the conflict finds nothing, and is answered later
  await timers.pass(500)
  await store.create(counter('a-made', 7))
  await timers.pass(2000)
  expect(planner.context.cache.counters.get('default/a-made')?.spec).toEqual({ value: 7 })
  // it was planned from what was known, and not from the read
  expect([created, problems]).toEqual([['a-made'], []])
  controller.stop()
  await running
})

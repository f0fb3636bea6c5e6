import { fail, unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { Controller, type ControllerProblem } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ControllerOptions } from '../../../src/run/controller/controller.js'
import { claim, claimRef, kinds, pool } from '../../provider/in-cluster/world.js'
import { VirtualTimers } from './virtual-timers.js'

let timers: VirtualTimers
let store: Store
let problems: ControllerProblem[]
beforeEach(() => {
  timers = new VirtualTimers()
  store = memoryStore({ now: () => timers.now(), kinds })
  problems = []
})

function start(planners: readonly Planner[], options: Partial<ControllerOptions> = {}) {
  const onProblem = (problem: ControllerProblem) => void problems.push(problem)
  const controller = new Controller({ store, planners, timers, onProblem, ...options })
  const running = controller.run()
  const stop = async () => {
    controller.stop()
    await timers.pass(60_000)
    await running
  }
  return { controller, stop }
}

const statusOf = async (name: string) => unwrap(await store.get(claimRef(name))).status
const broken = () => {
  throw new Error('broken')
}

describe('a host that cannot take a result', () => {
  test.each(['onEvent', 'onResult'] as const)('and rejects later, at %s, is told so', async (told) => {
    await store.create(pool(['10.0.0.5']))
    await store.create(claim('first'))
    const { stop } = start([inCluster()], { [told]: async () => broken() })
    await timers.pass(60_000)
    expect(problems).toContainEqual(expect.objectContaining({ kind: 'thrown', error: new Error('broken') }))
    expect(await statusOf('first')).toMatchObject({ addressRef: { name: 'first' } })
    await stop()
  })

  test('is no reason not to find out what has become of a write', async () => {
    await store.create(pool(['10.0.0.5']))
    await store.create(claim('first'))
    let creates = 0
    const create: Store['create'] = async (object) =>
      object.kind === 'IPAddress' && ++creates <= 2
        ? fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'first', problem: 'cut' })
        : store.create(object)
    const { stop } = start([inCluster()], { store: storeOver(store, { create }), onResult: broken })
    await timers.pass(60_000)
    expect(problems).toContainEqual(expect.objectContaining({ kind: 'thrown', key: 'IPAddressClaim default/first' }))
    expect(await statusOf('first')).toMatchObject({ addressRef: { name: 'first' } })
    await stop()
  })

  test('keeps no claim waiting for free room', async () => {
    await store.create(pool(['10.0.0.5']))
    await store.create(claim('first'))
    const create: Store['create'] = async (object) => {
      if (object.kind !== 'IPAddress' || object.metadata.name !== 'first') return store.create(object)
      await new Promise<void>((resolve) => void timers.after(5000, resolve))
      return fail('STORE_INVALID', { object: 'first', path: 'metadata.name', problem: 'a webhook says no' })
    }
    const { stop } = start([inCluster()], { store: storeOver(store, { create }), onResult: broken })
    await timers.pass(1000)
    await store.create(claim('second'))
    await timers.pass(5000)
    expect(await statusOf('second')).toMatchObject({ addressRef: { name: 'second' } })
    await stop()
  })
})

test('a controller that is told to stop before it runs does not begin', async () => {
  await store.create(pool(['10.0.0.5']))
  await store.create(claim('first'))
  const controller = new Controller({ store, planners: [inCluster()], timers, onProblem: broken })
  controller.stop()
  await controller.run()
  expect(timers.size).toBe(0)
  expect(await statusOf('first')).toBeUndefined()
  await expect(controller.run()).rejects.toMatchObject({ context: { got: 'a call of one that is stopped' } })
})

test('a controller that begins serves first the claim that has waited longest', async () => {
  await store.create(pool(['10.0.0.5']))
  for (const name of ['c', 'a', 'b']) {
    await store.create(claim(name))
    await timers.pass(1000)
  }
  const { stop } = start([inCluster()])
  await timers.pass(1000)
  expect(await statusOf('c')).toMatchObject({ addressRef: { name: 'c' } })
  await stop()
})

describe('a pause', () => {
  const again = (requeueAfterSeconds: number, times: number[]) => {
    const planner: Planner = inCluster()
    planner.plan = () => {
      if (times.push(timers.now()) > 1000) throw new Error('planned without a pause')
      return { outcome: { kind: 'waits', message: '' }, effects: [], requeueAfterSeconds }
    }
    return planner
  }

  test('is between plans that are to be made again at once', async () => {
    await store.create(claim('first'))
    const times: number[] = []
    const began = timers.now()
    const { stop } = start([again(0, times)])
    await timers.pass(80)
    expect(times.map((time) => time - began)).toEqual([0, 5, 15, 35, 75])
    await stop()
  })

  test('is never longer than a timer can be', async () => {
    await store.create(claim('first'))
    const asked: number[] = []
    const after = (ms: number, action: () => void) => {
      // 0: the end of a turn of the event loop
      if (ms > 0) asked.push(ms)
      return timers.after(ms, action)
    }
    const planner: Planner = inCluster()
    planner.plan = broken
    const { stop } = start([planner], {
      backoff: { firstMs: 3e9, maxMs: 3e9 },
      timers: { now: () => timers.now(), after },
    })
    await timers.pass(10)
    expect(asked).toEqual([86_400_000])
    await stop()
  })
})

test('a planner that cannot take in what was found out of a write does not keep its controller from coming to an end', async () => {
  await store.create(pool(['10.0.0.5']))
  await store.create(claim('first'))
  let creates = 0
  const create: Store['create'] = async (object) =>
    object.kind === 'IPAddress' && ++creates <= 2
      ? fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'first', problem: 'cut' })
      : store.create(object)
  // nothing is told but answers
  const watch: Store['watch'] = () => {
    const over = { done: true, value: undefined } as const
    let end = () => {}
    const ended = new Promise<typeof over>((resolve) => {
      end = () => resolve(over)
    })
    const silent = {
      next: () => ended,
      return: async () => {
        end()
        return over
      },
    }
    return { [Symbol.asyncIterator]: () => silent }
  }
  const planner = inCluster()
  const wakes = planner.wakes?.bind(planner)
  planner.wakes = (applied) => {
    const { change } = applied
    if (change.kind === 'present' && change.object.kind === 'IPAddress') broken()
    return wakes?.(applied) ?? []
  }
  const { controller, stop } = start([planner], { store: storeOver(store, { create, watch }) })
  await timers.pass(60_000)
  expect(problems).toContainEqual(expect.objectContaining({ kind: 'thrown' }))
  expect(controller.load).toMatchObject({ running: 0, unsettled: 0 })
  await stop()
})

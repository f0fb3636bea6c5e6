import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { Controller, type ControllerProblem, taskCaller } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { claim, kinds, pool } from '../in-cluster/world.js'

const CLAIMS = 200
const CALL_MS = 6000

test('with two processes on a slow store, alarms name claims without a row, and count claims that are not Bound', async () => {
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds: [...kinds, IPDomain.info, IPPool.info, IPBlock.info] })
  unwrap(await store.create(pool(['10.0.0.0/20'])))
  for (let nth = 0; nth < CLAIMS; nth++) unwrap(await store.create(claim(`c${nth}`)))
  const wait = () => new Promise<void>((resolve) => void timers.after(CALL_MS, resolve))
  const slow = storeOver(store, {
    get: async (...args) => wait().then(() => store.get(...args)),
    create: async (...args) => wait().then(() => store.create(...args)),
    patch: async (...args) => wait().then(() => store.patch(...args)),
  })
  const ownersOfRows = async () => {
    const blocks = unwrap(await store.list(IPBlock.info)).items.map((object) => IPBlock.parse(object))
    return new Set(blocks.flatMap(({ spec }) => Object.values(spec.rows).map(({ owner }) => owner)))
  }
  const open = async () => {
    const claims = unwrap(await store.list(IPAddressClaim.info)).items.map((object) => IPAddressClaim.parse(object))
    return claims.filter(({ status }) => status?.addressRef === undefined).length
  }

  const problems: ControllerProblem[] = []
  const start = (identity: string, ...others: Planner<Outcome>[]) => {
    const provider = inClusterBlocks()
    const external = taskCaller({ store: slow, now: () => timers.now(), tasks: provider.tasks })
    const onProblem = (problem: ControllerProblem) => void problems.push(problem)
    const planners: Planner<Outcome>[] = [provider, ...others]
    const controller = new Controller({ store: slow, planners, timers, onProblem, external, identity })
    return { controller, ended: controller.run() }
  }
  const processes = [start('one', blocksOperator()), start('two')]
  let told = 0
  while ((await open()) > 0) {
    const [rows, before] = [await ownersOfRows(), await open()]
    await timers.pass(CALL_MS)
    for (const problem of problems.splice(0)) {
      if (problem.kind !== 'stalled') continue
      told++
      expect(rows.has(problem.key.replace('IPAddressClaim ', ''))).toBe(false)
      expect(problem.keys).toBeLessThanOrEqual(before)
    }
    for (const { controller } of processes) {
      const depth = controller.queues.find(({ planner }) => planner === 'in-cluster')?.waiting
      expect(depth).toBeLessThanOrEqual(before)
    }
  }
  expect(told).toBeGreaterThan(1)
  for (const { controller, ended } of processes) {
    controller.stop()
    await timers.pass(60_000)
    await ended
  }
})

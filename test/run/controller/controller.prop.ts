import fc from 'fast-check'
import { fail, unwrap } from 'ipam-kit/errors'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { Controller, type ControllerProblem, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { Dice, storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { claim, claimRef, kinds, pool, poolRef } from '../../provider/in-cluster/world.js'
import { runs } from '../../setup/depth.js'
import { VirtualTimers } from './virtual-timers.js'

const CLAIMS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const step = fc.record({
  do: fc.constantFrom('claim' as const, 'claim' as const, 'unclaim' as const, 'resize' as const),
  name: fc.constantFrom(...CLAIMS),
  last: fc.integer({ min: 4, max: 12 }),
  pauseMs: fc.nat(60),
})

const addressKind = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress' }

/**
 * The store at the end of a line: each call takes its time there and back, some answers are lost,
 * and some questions.
 */
function farAway(below: Store, timers: VirtualTimers, dice: Dice): Store {
  const travel = () => new Promise<void>((resolve) => void timers.after(dice.below(25), resolve))
  const unknown = fail('STORE_OUTCOME_UNKNOWN', { operation: 'call', object: 'some', problem: 'cut' })
  const down = fail('STORE_IO', { operation: 'get', problem: 'down' })
  const loss = dice.pick([0, 0.1, 0.4])
  const far = async <T>(call: () => Promise<T>, lost: T): Promise<T> => {
    await travel()
    const isLost = dice.chance(loss)
    // half of what is lost has not come to the store
    if (isLost && dice.chance(0.5)) return lost
    const answer = await call()
    await travel()
    return isLost ? lost : answer
  }
  return storeOver(below, {
    get: (...args) => far(() => below.get(...args), down),
    create: (...args) => far(() => below.create(...args), unknown),
    patch: (...args) => far(() => below.patch(...args), unknown),
    delete: (...args) => far(() => below.delete(...args), unknown),
  })
}

test('no address is given twice while a controller carries out many plans at a time, and in the end nothing is left to do', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer(),
      fc.integer({ min: 1, max: 12 }),
      fc.array(step, { maxLength: 40 }),
      async (seed, concurrency, steps) => {
        const timers = new VirtualTimers()
        const store = memoryStore({ now: () => timers.now(), kinds })
        const problems: ControllerProblem[] = []
        const controller = new Controller({
          store: farAway(store, timers, new Dice(seed)),
          planners: [inCluster()],
          timers,
          concurrency,
          onProblem: (problem) => void problems.push(problem),
        })
        await store.create(pool(['10.0.0.5-10.0.0.9']))
        const nothingTwice = async () => {
          const held = unwrap(await store.list(addressKind)).items.map(
            ({ spec }) => (spec as { address: string }).address,
          )
          expect(new Set(held).size, held.join()).toBe(held.length)
        }
        const running = controller.run()
        for (const { do: what, name, last, pauseMs } of steps) {
          if (what === 'claim') await store.create(claim(name))
          else if (what === 'unclaim') await store.delete(claimRef(name))
          else await store.patch(poolRef(), { spec: { addresses: [`10.0.0.3-10.0.0.${last}`] } })
          await timers.pass(pauseMs)
          await nothingTwice()
        }
        // a line that loses four of ten for as long as it is asked: every write is settled in the
        // end
        await timers.pass(3_600_000)
        await nothingTwice()
        expect(controller.load).toEqual({ waiting: 0, running: 0, calling: 0, unsettled: 0, synced: true })
        expect(problems.filter(({ kind }) => kind === 'thrown')).toEqual([])
        const rest = await runUntilQuiet(store, [inCluster()], { now: () => timers.now() })
        expect([rest.written, rest.failures]).toEqual([0, []])
        controller.stop()
        await timers.pass(60_000)
        await running
        expect(timers.size).toBe(0)
      },
    ),
    { numRuns: runs(0.6) },
  )
})

import fc from 'fast-check'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { crashingStore, SimulatedCrash } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { judged, type Step, step, Users, watched } from './steps.js'
import { expectQuiet, isDeleting, isHeldBy, ownersOf, survivorsOf } from './truth.js'
import { kinds, World } from './world.js'

const RUNS = runs(2)
const crash = fc.record({
  do: fc.constant('crash' as const),
  at: fc.integer({ min: 1, max: 8 }),
  point: fc.constantFrom('before' as const, 'after' as const),
})
const turn = fc.oneof(
  { weight: 9, arbitrary: step },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('run' as const) }) },
  { weight: 1, arbitrary: crash },
)
const turns = fc.array(turn, { minLength: 5, maxLength: 60, size: 'max' })

type Turn = Step | { readonly do: 'run' } | Crash

interface Crash {
  readonly do: 'crash'
  readonly at: number
  readonly point: 'before' | 'after'
}

async function play(world: World, users: Users, turn: Turn): Promise<void> {
  if (turn.do === 'run') await settle(world)
  else if (turn.do === 'crash') await die(world, turn)
  else await users.play(turn)
}

/** A run that is cut off at some write. */
async function die(world: World, { at, point }: Crash): Promise<void> {
  await world.run(crashingStore(judged(world, { sees: 'all' }), at, point)).catch((error) => {
    if (!(error instanceof SimulatedCrash)) throw error
  })
}

/** A run to its end: nothing fails, all rules hold, and another run finds nothing to do. */
async function settle(world: World): Promise<void> {
  const result = await world.run(judged(world, { sees: 'all' }))
  expect(result.failures).toEqual([])
  expectQuiet(await watched(world))
  const again = await world.run()
  expect(again.written, `written by a second run: ${world.asked.join(', ')}`).toBe(0)
  expect(again.failures).toEqual([])
}

test('whatever users do, the collector leaves what the model leaves, in order, and comes to rest', async () => {
  await fc.assert(
    fc.asyncProperty(turns, async (turns) => {
      const world = new World()
      const users = new Users(world)
      for (const each of turns) await play(world, users, each)
      await settle(world)
      await users.freeAll()
      const { must, may } = survivorsOf(await watched(world))
      await settle(world)
      const left = await watched(world)
      const alive = left.filter((it) => !isDeleting(it)).map((it) => it.metadata.uid as string)
      expect(
        [...must].filter((uid) => !alive.includes(uid)),
        'collected, but to be kept',
      ).toEqual([])
      expect(
        alive.filter((uid) => !may.has(uid)),
        'kept, but to be collected',
      ).toEqual([])
      // what is left of those that are being deleted waits for somebody whose reference nobody can
      // follow
      for (const it of left.filter(isDeleting)) expect(isHeldBy(it, 'foregroundDeletion')).toBe(true)
    }),
    { numRuns: RUNS },
  )
})

test('crashes at any write, and fresh starts, lead to where one run leads', async () => {
  // without orphans: whether they are let go before or after another owner goes may differ
  const plain = step.map((it): Step => {
    if (it.do === 'create') return { ...it, finalizers: [] }
    return it.do === 'delete' && it.propagation === 'Orphan' ? { ...it, propagation: 'Foreground' } : it
  })
  const steps = fc.array(plain, { minLength: 5, maxLength: 40, size: 'max' })
  await fc.assert(
    fc.asyncProperty(steps, fc.array(crash, { minLength: 1, maxLength: 8 }), async (steps, crashes) => {
      const [smooth, rough] = [new World(), new World()]
      for (const world of [smooth, rough]) {
        const users = new Users(world)
        for (const each of steps) await users.play(each)
      }
      await settle(smooth)
      for (const each of crashes) await die(rough, each)
      await settle(rough)
      expect(await alive(rough)).toEqual(await alive(smooth))
    }),
  )
})

/**
 * Who is not being deleted, and whose they are. Which one of a ring goes first differs from run to
 * run.
 */
async function alive(world: World): Promise<readonly string[]> {
  const left = (await watched(world)).filter((it) => !isDeleting(it))
  return left.map((it) => JSON.stringify([it.metadata.uid, ownersOf(it)]))
}

test('one collector that lives on ends as a fresh one does', async () => {
  await fc.assert(
    fc.asyncProperty(turns, async (turns) => {
      const world = new World()
      const users = new Users(world)
      const planner = gcPlanner({ kinds })
      for (const each of turns) {
        if (each.do === 'run') await world.run(judged(world, { sees: 'all' }), planner)
        else if (each.do !== 'crash') await users.play(each)
      }
      await world.run(judged(world, { sees: 'all' }), planner)
      expectQuiet(await watched(world))
    }),
  )
})

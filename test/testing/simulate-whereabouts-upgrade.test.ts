import { formatRef, type KubeObject, refOf } from 'ipam-kit/crd/meta'
import type { Change, Effect, Outcome, Step, Task } from 'ipam-kit/plan'
import { del } from 'ipam-kit/provider/whereabouts'
import { describe, expect, test } from 'vitest'
import { share } from '../setup/depth.js'
import { stepping } from './simulation/stepping.js'
import { simulateUpgrade, type UpgradeSimulationOptions } from './simulation/whereabouts-upgrade/index.js'
import { type UpgradeCommands, upgradeCommands } from './simulation/whereabouts-upgrade/library.js'
import { type Steps, steps } from './simulation/whereabouts-upgrade/operator.js'

/** The first problem of each seed from 1 that goes wrong. */
async function problems(seeds: number, options: Partial<UpgradeSimulationOptions> = {}): Promise<readonly string[]> {
  const found: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await simulateUpgrade({ seed, ...options })
    found.push(...result.problems.slice(0, 1).map((problem) => `seed ${seed}: ${problem}`))
  }
  return found
}

/** Writers that are suspended between a decision and its write, and nothing else that goes wrong. */
const standing: Partial<UpgradeSimulationOptions> = { faults: ['stand-still'], actions: 50 }

describe('the world of an upgrade of whereabouts', () => {
  test('finds nothing wrong without faults', async () => {
    expect(await problems(share(40, 10), { faults: [] })).toEqual([])
  })

  test('finds nothing wrong with faults at every call', async () => {
    expect(await problems(share(200, 20))).toEqual([])
  })

  test('finds nothing wrong when writers are suspended', async () => {
    expect(await problems(share(50, 10), standing)).toEqual([])
  })

  test('does the same for the same seed', async () => {
    const [one, two] = [await simulateUpgrade({ seed: 3 }), await simulateUpgrade({ seed: 3 })]
    expect(one).toEqual(two)
    expect(one.schedule.length).toBeGreaterThan(100)
  })
})

describe('each rule of an upgrade finds a fault that is planted', () => {
  const faults: readonly (readonly [
    name: string,
    broken: Partial<UpgradeSimulationOptions>,
    expected: RegExp,
    seed: number,
  ])[] = [
    [
      'an ADD does not read the pool again',
      { ...withCommands({ add: unconfirmed }), ...standing },
      /ha(s|ve) no row of/,
      95,
    ],
    ['a DEL is that of the pool alone', withCommands({ del }), /left in blocks/, 1],
    ['cutOver compares nothing', withEmptySides(), /changes from dual-write to blocks|are the truth without/, 1],
    ['rollBack returns no rows', withSteps({ rollBack: withoutRows }), /changes from blocks to dual-write/, 7],
    ['startUpgrade holds the Lease for a second', withShortLease(), /of upstream has taken the Lease/, 16],
  ]

  for (const [name, broken, expected, seed] of faults) {
    test(name, async () => {
      expect(await firstProblem(broken, expected, seed)).toMatch(expected)
    })
  }
})

/**
 * The first problem like this of a library with a fault; `none` if 200 schedules do not find it.
 *
 * @param first a seed that has found it
 */
async function firstProblem(
  broken: Partial<UpgradeSimulationOptions>,
  expected: RegExp,
  first: number,
): Promise<string> {
  for (let seed = first; seed < first + 200; seed++) {
    const { problems: found } = await simulateUpgrade({ seed, ...broken })
    const problem = found.find((each) => expected.test(each))
    if (problem !== undefined) return problem
  }
  return 'none'
}

type DualCommands = UpgradeCommands['whereabouts']

function withCommands(broken: {
  readonly add?: (task: Task) => Task
  readonly del?: DualCommands['del']
}): Partial<UpgradeSimulationOptions> {
  const { whereabouts } = upgradeCommands
  const add: DualCommands['add'] = (request) => (broken.add ?? ((task) => task))(whereabouts.add(request))
  return { commands: { ...upgradeCommands, whereabouts: { ...whereabouts, add, del: broken.del ?? whereabouts.del } } }
}

type Broken = { readonly [Name in keyof Steps]?: (effect: Effect) => Effect | undefined }

/** Steps with other effects. One without an effect is not written. */
function withSteps(broken: Broken): Partial<UpgradeSimulationOptions> {
  const tested: { [name: string]: unknown } = { ...steps }
  for (const [name, edit] of Object.entries(broken)) {
    const step = steps[name as keyof Steps] as (request: never) => Task
    tested[name] = (request: never) => stepping(step(request), (each) => edited(each, edit))
  }
  return { tested: tested as unknown as Steps }
}

function edited<O extends Outcome>(step: Step<O>, edit: (effect: Effect) => Effect | undefined): Step<O> {
  if (step.kind !== 'write') return step
  return { ...step, plan: { ...step.plan, effects: step.plan.effects.flatMap((effect) => edit(effect) ?? []) } }
}

/** Where a task would read a pool again, it is shown the pool as it was. */
function unconfirmed(task: Task): Task {
  const seen = new Map<string, Change>()
  return {
    ...stepping(task, (step) => step),
    observe: (change) => {
      seen.set(formatRef(change.kind === 'present' ? refOf(change.object) : change.ref), change)
      task.observe(change)
    },
    next: (time) => {
      for (;;) {
        const step = task.next(time)
        if (step.kind !== 'get' || step.why !== 'whether the pool still has the row') return step
        for (const ref of step.refs) task.observe(seen.get(formatRef(ref)) as Change)
      }
    },
  }
}

/** cutOver sees no row on either side. */
function withEmptySides(): Partial<UpgradeSimulationOptions> {
  const empty = (object: KubeObject): KubeObject => {
    if (object.kind !== 'IPPool' && object.kind !== 'IPBlock') return object
    const spec = object.spec as { readonly allocations?: object; readonly rows?: object }
    return {
      ...object,
      spec: { ...spec, ...(spec.allocations && { allocations: {} }), ...(spec.rows && { rows: {} }) },
    }
  }
  const cutOver: Steps['cutOver'] = (request) => stepping(steps.cutOver(request), (step) => step, empty)
  return { tested: { ...steps, cutOver } }
}

/** In place of rows, the pool gets the next phase. */
function withoutRows(effect: Effect): Effect {
  if (effect.kind !== 'patch' || effect.ref.kind !== 'IPPool' || !('spec' in effect.patch)) return effect
  const annotations = { 'ipam-kit.dev/upgrade': 'dual-write' }
  return { ...effect, patch: { metadata: { annotations } } } as Effect
}

/** The Lease says that it is held for a second, and looks to the steps as it should. */
function withShortLease(): Partial<UpgradeSimulationOptions> {
  const short = (effect: Effect): Effect => {
    if (effect.kind === 'create' && effect.object.kind === 'Lease')
      return { ...effect, object: lasting(effect.object, 1) }
    if (effect.kind !== 'patch' || effect.ref.kind !== 'Lease') return effect
    const patch: unknown = lasting(effect.patch as Pick<KubeObject, 'spec'>, 1)
    return { ...effect, patch } as Effect
  }
  const tested = { ...steps }
  for (const name of ['startUpgrade', 'cutOver'] as const) {
    tested[name] = (request) =>
      stepping(
        steps[name](request),
        (step) => edited(step, short),
        (object) => (object.kind === 'Lease' ? lasting(object, 2_147_483_647) : object),
      )
  }
  return { tested }
}

function lasting<Lease extends Pick<KubeObject, 'spec'>>(lease: Lease, leaseDurationSeconds: number): Lease {
  return { ...lease, spec: { ...(lease.spec as object), leaseDurationSeconds } }
}

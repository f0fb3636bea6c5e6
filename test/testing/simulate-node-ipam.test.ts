import type { Change, Effect, Plan, Planner } from 'ipam-kit/plan'
import { removeFinalizer } from 'ipam-kit/plan'
import type { NodeIPAMPlanner } from 'ipam-kit/provider/node-ipam'
import { ALL_FAULTS, type SimulatedSystem, simulate } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { CLUSTER_CIDR_FINALIZER } from '../../src/crd/node-ipam/names.js'
import type { SimulationOptions } from '../../src/testing/simulation/simulate.js'
import { share } from '../setup/depth.js'
import { type NodeIPAMSystemOptions, nodeIPAMSystem } from './simulation/node-ipam-system.js'

/** What goes wrong with seeds from 1, each with its seed. */
async function problems(seeds: number, options: Partial<SimulationOptions> = {}): Promise<readonly string[]> {
  const found: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const concurrency = 2 ** (seed % 4)
    const result = await simulate({ system: nodeIPAMSystem(), seed, concurrency, actions: 30, ...options })
    found.push(...result.problems.map((problem) => `${seed}: ${problem}`))
  }
  return found
}

/** Expects that one of so many seeds goes wrong in a certain way. The first one ends it. */
async function expectProblem(seeds: number, options: Partial<SimulationOptions>, text: RegExp): Promise<void> {
  for (let seed = 1; seed <= seeds; seed++) {
    const concurrency = 2 ** (seed % 4)
    const result = await simulate({ system: nodeIPAMSystem(), seed, concurrency, actions: 30, ...options })
    if (result.problems.some((problem) => text.test(problem))) return
  }
  expect.unreachable(`none of ${seeds} seeds: ${text}`)
}

/** The system with a planner that does something else. */
function systemWith(
  own: (planner: NodeIPAMPlanner) => Partial<Planner>,
  options: NodeIPAMSystemOptions = {},
): SimulatedSystem {
  const system = nodeIPAMSystem(options)
  const planner = () => {
    const real = system.planner() as NodeIPAMPlanner
    const changed = own(real)
    // one that is shown something else has a cache of its own
    const shared = { share: real.share.bind(real), wakes: real.wakes.bind(real) }
    return {
      name: real.name,
      watches: real.watches,
      observe: real.observe.bind(real),
      plan: real.plan.bind(real),
      begin: real.begin?.bind(real),
      isAggregate: real.isAggregate.bind(real),
      reset: real.reset.bind(real),
      ...(changed.observe === undefined && shared),
      ...changed,
    } as Planner
  }
  return { ...system, planner }
}

/** The system with a planner whose plans are changed. */
function systemWhosePlans(
  change: (plan: Plan, planner: NodeIPAMPlanner, key: string) => readonly Effect[],
  options: NodeIPAMSystemOptions = {},
) {
  const own = (real: NodeIPAMPlanner): Partial<Planner> => ({
    plan: (key, time) => {
      const plan = real.plan(key, time)
      return plan && ({ ...plan, effects: change(plan, real, key) } as Plan)
    },
  })
  return systemWith(own, options)
}

describe('node IPAM, simulated', () => {
  test.each([
    ['ClusterCIDRs and ServiceCIDRs', {}, 2],
    ['ClusterCIDRs and service ranges of flags', { services: 'fixed', order: 'upstream' }, 1],
    ['a ClusterCIDR that is made from flags', { ranges: 'default' }, 3],
    ['flags in place of ClusterCIDRs', { ranges: 'flags' }, 2],
  ] as const)('gives no subnet twice and lets no Node wait for nothing, with %s', async (_, options, writers) => {
    expect(await problems(share(100, 20), { system: nodeIPAMSystem(options), writers })).toEqual([])
  })

  test('gives subnets of ranges that are published and accepted, and are published until their last use', async () => {
    expect(await problems(share(100, 20), { system: nodeIPAMSystem({ network: true }) })).toEqual([])
  })

  test('meets every kind of fault, and runs the same for the same seed', async () => {
    let schedule = ''
    for (let seed = 1; seed <= 20; seed++) {
      const result = await simulate({ system: nodeIPAMSystem(), seed, actions: 30, faultProbability: 0.3 })
      expect(result.problems).toEqual([])
      schedule += result.schedule.join('\n')
    }
    for (const fault of ALL_FAULTS) expect(schedule).toContain(`  ${fault}`)
    const run = () => simulate({ system: nodeIPAMSystem(), seed: 7 })
    expect(await run()).toEqual(await run())
  })
})

describe('a simulation finds a planner that', () => {
  test('gives subnets of ranges that no consumer knows', async () => {
    const system = { ...nodeIPAMSystem({ network: true }), planner: nodeIPAMSystem().planner }
    await expectProblem(40, { system }, /has a subnet that the network view does not know/)
  })

  test('does not reserve what it is about to write', async () => {
    const system = systemWith(() => ({ begin: () => () => [] }))
    const found = await problems(share(160), { system, faults: [], concurrency: 4 })
    expect(found.join('\n')).toMatch(/was given what Node node-\d was given/)
  })

  test('takes a subnet for free when its Node begins to be deleted', async () => {
    const system = systemWith((real) => ({ observe: (change) => real.observe(endingIsGone(change)) }))
    await expectProblem(40, { system, faults: [] }, /was given what Node node-\d/)
  })

  test('patches Nodes without a guard', async () => {
    const system = systemWhosePlans(({ effects }) =>
      effects.map((effect) =>
        effect.kind === 'patch' ? ({ ...effect, if: { uid: effect.if.uid } } as Effect) : effect,
      ),
    )
    await expectProblem(120, { system }, /Node node-\d had \S+ .*, and has /)
  })

  test('removes the finalizer of a ClusterCIDR while Nodes have subnets of it', async () => {
    const system = systemWhosePlans(({ outcome, effects }, { context }, key) => {
      if (outcome.kind !== 'blocked') return effects
      const { object } = context.cache.ranges!.entry(key.slice('ClusterCIDR '.length))!
      return [removeFinalizer(object, CLUSTER_CIDR_FINALIZER, 'too early')]
    })
    await expectProblem(40, { system }, /has lost its finalizer, and Node node-\d/)
  })

  test('sends no Events', async () => {
    const system = systemWhosePlans(({ effects }) => effects.filter(({ kind }) => kind !== 'event'))
    await expectProblem(20, { system, faults: [] }, /was never told of: CIDRNotAvailable/)
  })

  // the limit of Nodes as a ledger: nothing in the API keeps two of them from having one subnet
  test('runs in two processes at once, or stands still while another one is elected', async () => {
    const twice = /was given what Node node-\d was given/
    await expectProblem(40, { writers: 2, mayWrite: 'all', faults: [] }, twice)
    const system = nodeIPAMSystem({ ranges: 'flags' })
    await expectProblem(160, { system, faults: ['stand-still'], faultProbability: 0.4 }, twice)
  })
})

function endingIsGone(change: Change): Change {
  if (change.kind === 'absent') return change
  const { apiVersion, kind, metadata } = change.object
  if (kind !== 'Node' || metadata.deletionTimestamp === undefined) return change
  return { kind: 'absent', ref: { apiVersion, kind, name: metadata.name }, uid: metadata.uid }
}

import { ALL_FAULTS, type Fault } from 'ipam-kit/testing'
import type { SimulationResult } from '../../../../src/testing/simulation/simulate.js'
import type { Flavor } from './attachments.js'
import { type Library, library } from './library.js'
import { World } from './world.js'

export interface WhereaboutsOptions {
  /** Decides everything that is left to chance. */
  readonly seed: number
  /** How many nodes there are. Left out: 2 to 4, by the seed. */
  readonly nodes?: number | undefined
  /** Which program each node runs, in place of `nodes`. */
  readonly flavors?: readonly Flavor[] | undefined
  /** How many steps people do. Default 24. */
  readonly actions?: number | undefined
  /** Default: all, with writes that are refused and processes that are suspended. */
  readonly faults?: readonly Fault[] | undefined
  /** What is tested. Default: the tasks and controllers of the library. */
  readonly tested?: Library | undefined
  /** How many turns a simulation may take before it counts as never quiet. Default 100,000. */
  readonly maxTurns?: number | undefined
}

/**
 * Nodes that call the plugin of whereabouts for Pods that come, go and restart, some of them with
 * upstream's program; sweeps and Pod watches; people who change Pods, claims and reservations.
 * Every call of the API server may go wrong. Then, without faults, until all is quiet.
 */
export async function simulateWhereabouts({
  seed,
  nodes,
  flavors,
  actions = 24,
  faults = [...ALL_FAULTS, 'refused', 'stand-still'],
  tested = library,
  maxTurns = 100_000,
}: WhereaboutsOptions): Promise<SimulationResult> {
  const world = new World({ seed, nodes, flavors, actions, faults, library: tested, maxTurns })
  await world.run()
  const { problems, schedule, faults: count } = world
  return { seed, problems, schedule, faults: count }
}

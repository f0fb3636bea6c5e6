import type { Outcome, Planner } from 'ipam-kit/plan'
import { Dice } from 'ipam-kit/testing'
import type { SimulationResult } from '../../../../src/testing/simulation/simulate.js'
import { FAULT_KINDS, pickFaults } from './faults.js'
import { plannersOf } from './library.js'
import { World } from './world.js'

export interface FloatingIPsOptions {
  /** Decides everything that is left to chance. */
  readonly seed: number
  /** How many processes of a cluster elect a leader. Default 2. */
  readonly processes?: number | undefined
  /** The kinds of fault. Left out: the seed picks some. */
  readonly faults?: readonly string[] | undefined
  /** The kinds that the seed does not pick. Default: none. */
  readonly without?: readonly string[] | undefined
  /** How many steps people do. Default 36. */
  readonly actions?: number | undefined
  /** Makes the planners of a process. Default: those of the program. */
  readonly planners?: (() => readonly Planner<Outcome>[]) | undefined
}

/**
 * Runs the controller of floating IPs as programs do: processes that elect a leader by a Lease, on
 * stores and a cloud that answer late, with people and an operator who change everything. Nothing
 * waits for real time.
 */
export async function simulateFloatingIPs({
  seed,
  processes = 2,
  faults,
  without = [],
  actions = 36,
  planners = plannersOf,
}: FloatingIPsOptions): Promise<SimulationResult> {
  const kinds = FAULT_KINDS.filter((kind) => faults?.includes(kind) ?? !without.includes(kind))
  const picked = faults === undefined ? pickFaults(seed, new Dice(seed), kinds) : new Set(kinds)
  const world = new World({ seed, faults: picked, actions, processes, plannersOf: planners })
  await world.run()
  const { problems, trace, faultCount } = world
  return { seed, problems, schedule: trace.lines, faults: faultCount }
}

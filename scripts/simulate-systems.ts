// What `npm run simulate` simulates, by name.
import {
  blockClaimsSystem,
  inClusterBlocksSystem,
  inClusterSystem,
  type SimulatedSystem,
  type SimulationResult,
  simulate,
  simulateBlocks,
} from 'ipam-kit/testing'

export interface System {
  /** How many schedules a CI run has. */
  readonly ciSchedules: number
  run(seed: number, writers: number | undefined): Promise<SimulationResult>
}

export const systems: { readonly [name: string]: System } = {
  'in-cluster': {
    ciSchedules: 5000,
    run: (seed, writers = 2 + (seed % 7)) => {
      // without and with claims that are removed by force, and the sweep that follows
      const system = inClusterSystem(seed % 2 === 0 ? { sweepAfterSeconds: 1 + (seed % 3) } : {})
      return simulate({ system, seed, writers, concurrency: 2 ** (seed % 3) })
    },
  },
  blocks: { ciSchedules: 10_000, run: (seed, writers) => simulateBlocks({ seed, writers }) },
  'block-claims': {
    ciSchedules: 1000,
    run: (seed, writers) => simulateAll(blockClaimsSystem(), seed, writers),
  },
  'in-cluster-blocks': {
    ciSchedules: 2000,
    run: (seed, writers) => simulateAll(inClusterBlocksSystem(), seed, writers),
  },
}

/** Claims that every writer serves at once. */
function simulateAll(
  system: SimulatedSystem,
  seed: number,
  writers: number = 2 + (seed % 4),
): Promise<SimulationResult> {
  const concurrency = 2 ** (seed % 3)
  return simulate({ system, seed, writers, mayWrite: 'all', concurrency, actions: 24, maxTurns: 60_000 })
}

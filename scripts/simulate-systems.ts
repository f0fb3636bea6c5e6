// What `npm run simulate` simulates, by name.
import { ALL_FAULTS, type SimulatedSystem, simulate } from 'ipam-kit/testing'
import type { Fault } from '../src/testing/simulation/faulty-store.js'
import { inClusterSystem } from '../src/testing/simulation/in-cluster-system.js'
import type { SimulationResult } from '../src/testing/simulation/simulate.js'
import { simulateBlocks } from '../src/testing/simulation/simulate-blocks.js'
import { callsOf, problemsOf, runSlowly } from '../test/slow/slow-cluster.js'
import { blockClaimsSystem } from '../test/testing/simulation/block-claims-system.js'
import { FAULT_KINDS } from '../test/testing/simulation/floating-ips/faults.js'
import { simulateFloatingIPs } from '../test/testing/simulation/floating-ips/index.js'
import { inClusterBlocksSystem } from '../test/testing/simulation/in-cluster-blocks-system.js'
import { nodeIPAMSystem } from '../test/testing/simulation/node-ipam-system.js'
import { simulatePersistentIP } from '../test/testing/simulation/persistent-ip/index.js'
import { serviceIPSystem } from '../test/testing/simulation/service-ip-system.js'
import { simulateWhereabouts } from '../test/testing/simulation/whereabouts/index.js'
import { simulateUpgrade } from '../test/testing/simulation/whereabouts-upgrade/index.js'

export interface System {
  /**
   * How many schedules a run has if it is not told, and in the short form that every change goes
   * through.
   */
  readonly schedules: { readonly full: number; readonly short: number }
  /** The kinds of fault that can be chosen. Left out: none can. */
  readonly faults?: readonly string[] | undefined
  run(seed: number, writers: number | undefined, faults?: ChosenFaults): Promise<SimulationResult>
}

/** The kinds of fault that a command line names. */
export interface ChosenFaults {
  /** Exactly these. */
  readonly faults?: readonly string[] | undefined
  /** The seed picks from the others. */
  readonly without?: readonly string[] | undefined
}

export const systems: { readonly [name: string]: System } = {
  'in-cluster': {
    schedules: { full: 5000, short: 250 },
    run: (seed, writers = 2 + (seed % 7)) => {
      // without and with claims that are removed by force and the sweep that follows, and claims
      // that consumers hold
      const forced = seed % 2 === 0 ? { sweepAfterSeconds: 1 + (seed % 3) } : {}
      const faults = faultsOf(seed)
      const standing = faults !== ALL_FAULTS
      const system = inClusterSystem({ ...forced, standing, consumers: seed % 5 === 2 || seed % 5 === 3 })
      return simulate({ system, seed, writers, faults, concurrency: 2 ** (seed % 3) })
    },
  },
  blocks: {
    schedules: { full: 10_000, short: 500 },
    run: (seed, writers) => simulateBlocks({ seed, writers, faults: faultsOf(seed) }),
  },
  'block-claims': {
    schedules: { full: 1000, short: 50 },
    run: (seed, writers) => simulateAll(blockClaimsSystem(), seed, writers),
  },
  'in-cluster-blocks': {
    schedules: { full: 2000, short: 100 },
    run: (seed, writers) => simulateAll(inClusterBlocksSystem({ consumers: seed % 5 < 2 }), seed, writers),
  },
  'node-ipam': {
    schedules: { full: 10_000, short: 500 },
    run: (seed, writers = 1 + (seed % 3)) => {
      const ranges = pickBySeed(['objects', 'default', 'objects', 'flags', 'objects'] as const, seed)
      const system = nodeIPAMSystem({
        ranges,
        // the network view and consumers that accept ranges: of ClusterCIDRs
        network: ranges !== 'flags' && seed % 4 === 0,
        services: pickBySeed(['objects', 'objects', 'fixed'], seed),
        order: pickBySeed(['numeric', 'upstream'], seed),
      })
      return simulate({ system, seed, writers, concurrency: 2 ** (seed % 4), actions: 40, faultProbability: 0.2 })
    },
  },
  'floating-ips': {
    schedules: { full: 5000, short: 100 },
    faults: FAULT_KINDS,
    run: (seed, processes, faults) => simulateFloatingIPs({ seed, processes, ...faults }),
  },
  'service-ip': {
    schedules: { full: 10_000, short: 500 },
    run: (seed, writers = 1 + (seed % 3)) => {
      const mayWrite = seed % 4 === 0 ? 'one' : 'all'
      const concurrency = 2 ** (Math.floor(seed / 3) % 3)
      const system = serviceIPSystem()
      return simulate({ system, seed, writers, mayWrite, faults: faultsOf(seed), concurrency, actions: 25 })
    },
  },
  'persistent-ip': {
    schedules: { full: 3000, short: 50 },
    run: (seed, writers) => simulatePersistentIP({ seed, writers, ledger: 'own' }),
  },
  'persistent-ip-blocks': {
    schedules: { full: 1000, short: 20 },
    run: (seed, writers) => simulatePersistentIP({ seed, writers, ledger: 'blocks' }),
  },
  'persistent-ip-copies': {
    schedules: { full: 1000, short: 20 },
    run: (seed, writers) => simulatePersistentIP({ seed, writers, ledger: 'copies' }),
  },
  whereabouts: {
    schedules: { full: 10_000, short: 150 },
    run: (seed, nodes) => simulateWhereabouts({ seed, nodes }),
  },
  'whereabouts-upgrade': {
    schedules: { full: 2000, short: 15 },
    run: (seed, nodes) => simulateUpgrade({ seed, nodes }),
  },
  'slow-claims': {
    schedules: { full: 400, short: 10 },
    run: (seed, writers = 1 + (seed % 5)) =>
      simulateSlow({ seed, processes: writers, claims: 20 + ((seed * 37) % 80) }),
  },
  'slow-claims-large': {
    schedules: { full: 20, short: 1 },
    run: (seed, writers = 16) => simulateSlow({ seed, processes: writers, claims: 2000 }),
  },
}

/**
 * Claims on blocks, served by controllers on a store whose every call takes 50 ms to 2 s of virtual
 * time.
 */
async function simulateSlow(size: {
  readonly seed: number
  readonly processes: number
  readonly claims: number
}): Promise<SimulationResult> {
  const { seed } = size
  const pools = 1 + (seed % 4)
  const result = await runSlowly({ ledger: 'blocks', pools, latencyMs: [50, 2000], ...size })
  const [first, last] = [result.boundMs[0], result.boundMs.at(-1)]
  const calls = JSON.stringify(result.usage)
  const schedule = [`Bound from ${first} to ${last} ms, rows until ${result.rowsMs.at(-1)} ms`, `calls: ${calls}`]
  // each call is slow: that is the fault
  return { seed, problems: problemsOf(result, size), schedule, faults: callsOf(result) }
}

/**
 * In two of five schedules writers stand still between their check that they may write and the
 * write.
 */
function faultsOf(seed: number): readonly Fault[] {
  return seed % 5 < 2 ? [...ALL_FAULTS, 'stand-still'] : ALL_FAULTS
}

function pickBySeed<T>(items: readonly T[], seed: number): T {
  return items[seed % items.length] as T
}

/** Claims that every writer serves at once. */
function simulateAll(
  system: SimulatedSystem,
  seed: number,
  writers: number = 2 + (seed % 4),
): Promise<SimulationResult> {
  const concurrency = 2 ** (seed % 3)
  const faults = faultsOf(seed)
  return simulate({ system, seed, writers, faults, mayWrite: 'all', concurrency, actions: 24, maxTurns: 60_000 })
}

import { StatefulSet } from 'ipam-kit/crd/core'
import type { Planner } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { persistentClaims, persistentIPs, workloadClaims } from 'ipam-kit/provider/persistent-ip'
import { type Fault, type SimulatedSystem, simulate } from 'ipam-kit/testing'
import type { SimulationResult } from '../../../../src/testing/simulation/simulate.js'
import { Combined } from '../combined.js'
import { GC_KINDS, KINDS, SWITCH } from './objects.js'
import { People, type Setting } from './people.js'
import { PersistentIPRules } from './rules.js'
import { Switched } from './switched.js'

export interface PersistentIPSimulation {
  /** Decides everything that is left to chance. */
  readonly seed: number
  /** How many writers there are. Left out: 1 to 3, by the seed. */
  readonly writers?: number | undefined
  /** How many steps people do. Default 40. */
  readonly actions?: number | undefined
  /** Default: all that every system has to tolerate. */
  readonly faults?: readonly Fault[] | undefined
  /** What is tested. Default: the planners of the library. */
  readonly tested?: Tested | undefined
}

/** The planners of both sides. */
export interface Tested {
  readonly planners: (options: SideOptions) => readonly Planner[]
  /** Whether a process heeds the switch. */
  readonly isSwitched?: boolean | undefined
}

export interface SideOptions {
  readonly enabled: boolean
  readonly unplugged: 'keep' | 'delete'
}

export const library: Tested = {
  planners: ({ enabled, unplugged }) => [
    persistentClaims({ enabled, unplugged, graceSeconds: 2 }),
    workloadClaims({ enabled, kinds: [StatefulSet.info], graceSeconds: 2 }),
    gcPlanner({ kinds: GC_KINDS }),
    persistentIPs({ enabled }),
  ],
}

/**
 * Virtual machines and a StatefulSet with the claims of their addresses, and what gives the
 * addresses. Workloads start, stop, migrate, are deleted in all three ways and made again under one
 * name. Tenants plug interfaces, edit the status of claims, name claims of others, and make claims
 * by hand. Operators change the definitions of networks, and switch both sides off and on; the
 * webhook fails. Two networks are small, and one of them has both families.
 *
 * Always: an address of a workload that lives never changes, and is never that of another one in
 * its network. No claim loses its finalizer while its owner uses it. A status is written before the
 * Pods, and never with other addresses. What is off writes nothing but releases. At rest: each
 * interface has addresses or a reason why not, and nothing is left of what has ended.
 */
export async function simulatePersistentIP({
  seed,
  writers = 1 + (seed % 3),
  actions = 40,
  faults,
  tested = library,
}: PersistentIPSimulation): Promise<SimulationResult> {
  const system = systemOf({ seed, actions, tested })
  const concurrency = 2 ** (seed % 3)
  return simulate({ system, seed, writers, concurrency, actions, faults, maxTurns: 60_000 })
}

function systemOf(options: {
  readonly seed: number
  readonly actions: number
  readonly tested: Tested
}): SimulatedSystem {
  const { seed, actions, tested } = options
  const setting: Setting = { isOn: true }
  const unplugged = seed % 2 === 0 ? 'keep' : 'delete'
  const processes: Switched[] = []
  let people: People
  return {
    kinds: KINDS,
    planner() {
      const [on, off] = [true, false].map((enabled) => new Combined(tested.planners({ enabled, unplugged })))
      const process = new Switched({ on: on!, off: off! }, SWITCH, () => setting.isOn)
      processes.push(process)
      return process
    },
    prepare(store, dice) {
      people = new People(store, dice, { setting, actions })
      return people.prepare()
    },
    act: () => people.act(),
    rules: () =>
      new PersistentIPRules({
        isOn: (writer) => processes[Number(writer.split(' ')[1]) - 1]?.isOn ?? true,
        isOnAtLast: () => setting.isOn,
        removesUnplugged: unplugged === 'delete',
      }),
  }
}

import { StatefulSet } from 'ipam-kit/crd/core'
import type { Planner } from 'ipam-kit/plan'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { persistentClaims, persistentIPs, workloadClaims } from 'ipam-kit/provider/persistent-ip'
import { type PersistentIPsOnBlocks, persistentIPsOnBlocks } from 'ipam-kit/provider/persistent-ip-blocks'
import { type AnyCaller, taskCaller } from 'ipam-kit/run'
import { type Fault, type SimulatedSystem, simulate } from 'ipam-kit/testing'
import type { SimulationResult } from '../../../../src/testing/simulation/simulate.js'
import { Combined } from '../combined.js'
import { BLOCK_KINDS, type ChosenOptions, GC_KINDS, KINDS, SWITCH } from './objects.js'
import { People, type Setting } from './people.js'
import { PersistentIPRules } from './rules.js'
import { Switched } from './switched.js'

export interface PersistentIPSimulation {
  /** Decides everything that is left to chance. */
  readonly seed: number
  /**
   * What keeps the addresses. `own`: the objects, for one process at a time. `blocks`: blocks, for
   * one process at a time. `copies`: blocks, with the network side in all processes at once.
   */
  readonly ledger: Ledger
  /** How many writers there are. Left out: 1 to 3, by the seed; at least 2 with `copies`. */
  readonly writers?: number | undefined
  /** How many steps people do. Default 40. */
  readonly actions?: number | undefined
  /** Default: all that every system has to tolerate. */
  readonly faults?: readonly Fault[] | undefined
  /** What is tested. Default: the planners of the library. */
  readonly tested?: Tested | undefined
}

export type Ledger = 'own' | 'blocks' | 'copies'

/** The planners of both sides. */
export interface Tested {
  readonly planners: (options: SideOptions) => readonly Planner[]
}

export interface SideOptions extends ChosenOptions {
  readonly enabled: boolean
  readonly ledger: Ledger
  /** Whether the process runs the workload side too, which is for one process at a time. */
  readonly hasWorkloads: boolean
}

export const library: Tested = {
  planners: ({ enabled, unplugged, missedMutations, terminatingClaim, staticRequests, ledger, hasWorkloads }) => {
    const serving = { enabled, terminatingClaim, staticRequests }
    const network =
      ledger === 'own'
        ? [persistentIPs(serving)]
        : [persistentIPsOnBlocks({ ...serving, graceSeconds: 30 }), blocksOperator({ emptySeconds: 1 })]
    if (!hasWorkloads) return network
    return [
      persistentClaims({ enabled, unplugged, missedMutations, graceSeconds: 2 }),
      workloadClaims({ enabled, kinds: [StatefulSet.info], graceSeconds: 2 }),
      gcPlanner({ kinds: GC_KINDS }),
      ...network,
    ]
  },
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
  ledger,
  writers = ledger === 'copies' ? 2 + (seed % 2) : 1 + (seed % 3),
  actions = 40,
  faults,
  tested = library,
}: PersistentIPSimulation): Promise<SimulationResult> {
  const system = systemOf({ seed, actions, tested, ledger, writers })
  const concurrency = 2 ** (seed % 3)
  const mayWrite = ledger === 'copies' ? 'all' : 'one'
  return simulate({ system, seed, writers, mayWrite, concurrency, actions, faults, maxTurns: 100_000 })
}

interface SystemOptions {
  readonly seed: number
  readonly actions: number
  readonly tested: Tested
  readonly ledger: Ledger
  readonly writers: number
}

function systemOf({ seed, actions, tested, ledger, writers }: SystemOptions): SimulatedSystem {
  const setting: Setting = { isOn: true }
  const chosen: ChosenOptions = {
    unplugged: seed % 2 === 0 ? 'keep' : 'delete',
    missedMutations: (seed >> 1) % 2 === 0 ? 'report' : 'ignore',
    terminatingClaim: (seed >> 2) % 3 === 0 ? 'serve' : 'refuse',
    staticRequests: (seed >> 3) % 2 === 0,
  }
  const processes: Switched[] = []
  let people: People
  return {
    kinds: [...KINDS, ...(ledger === 'own' ? [] : BLOCK_KINDS)],
    planner() {
      const nth = processes.length
      // the last one looks for what is left to be done
      const hasWorkloads = ledger !== 'copies' || nth === 0 || nth === writers
      const sides = [true, false].map((enabled) => tested.planners({ ...chosen, enabled, ledger, hasWorkloads }))
      const [on, off] = sides.map((planners) => new Process(planners))
      const process = new Switched({ on: on!, off: off! }, SWITCH, () => setting.isOn)
      processes.push(process)
      return process
    },
    ...(ledger !== 'own' && {
      externalOf: (process, store, options) => {
        const callers = new Map<Planner, AnyCaller>()
        return (call) => {
          const { active } = process as Switched
          const caller = callers.get(active) ?? taskCaller({ store, ...options, tasks: (active as Process).tasks! })
          callers.set(active, caller)
          return caller(call)
        }
      },
    }),
    prepare(store, dice) {
      people = new People(store, dice, { setting, actions })
      return people.prepare()
    },
    act: () => people.act(),
    rules: () =>
      new PersistentIPRules({
        isOn: (writer) => processes[Number(writer.split(' ')[1]) - 1]?.isOn ?? true,
        isOnAtLast: () => setting.isOn,
        options: chosen,
        hasBlocks: ledger !== 'own',
      }),
  }
}

/** The planners of one process, and the tasks of the one that makes calls. */
class Process extends Combined {
  readonly tasks: PersistentIPsOnBlocks['tasks'] | undefined

  constructor(planners: readonly Planner[]) {
    super(planners)
    const calling = planners.find((planner) => 'tasks' in planner) as PersistentIPsOnBlocks | undefined
    this.tasks = calling?.tasks
  }
}

import { ALL_FAULTS, Dice, type Fault } from 'ipam-kit/testing'
import type { SimulationResult } from '../../../../src/testing/simulation/simulate.js'
import { type UpgradeCommands, upgradeCommands, upgradeLibrary } from './library.js'
import { pickUpgradeNetworks } from './networks.js'
import { type Steps, steps } from './operator.js'
import { UpgradeRules } from './rules.js'
import { Upgrade } from './upgrade.js'
import { BLOCK_KINDS, UpgradeWorld } from './world.js'

export interface UpgradeSimulationOptions {
  /** Decides everything that is left to chance. */
  readonly seed: number
  /** How many nodes there are. Left out: 2 to 4, by the seed. */
  readonly nodes?: number | undefined
  /** How many steps people do. Default 30. */
  readonly actions?: number | undefined
  /** Default: all, with writes that are refused and processes that are suspended. */
  readonly faults?: readonly Fault[] | undefined
  /** The commands of the plugin. Default: those of the library. */
  readonly commands?: UpgradeCommands | undefined
  /** The steps of operators. Default: those of the library. */
  readonly tested?: Steps | undefined
  /** How many turns a simulation may take before it counts as never quiet. Default 200,000. */
  readonly maxTurns?: number | undefined
}

/**
 * Nodes that call the plugin while two operators upgrade pools of whereabouts to blocks, and back.
 * Every call of the API server may go wrong. Then, without faults, until the upgrade is finished or
 * rolled back.
 */
export async function simulateUpgrade({
  seed,
  nodes,
  actions = 30,
  faults = [...ALL_FAULTS, 'refused', 'stand-still'],
  commands = upgradeCommands,
  tested = steps,
  maxTurns = 200_000,
}: UpgradeSimulationOptions): Promise<SimulationResult> {
  const networks = pickUpgradeNetworks(new Dice(seed))
  const upgrade = new Upgrade(networks)
  const rules = new UpgradeRules(upgrade)
  const library = upgradeLibrary(upgrade, commands)
  const setting = { kinds: BLOCK_KINDS, networks: () => networks, rules, isPlain: () => upgrade.hasBegun }
  const options = { seed, nodes, flavors: undefined, actions, faults, library, maxTurns, setting }
  const world = new UpgradeWorld({ ...options, upgrade, upgradeRules: rules, steps: tested })
  await world.run()
  const { problems, schedule, faults: count } = world
  return { seed, problems, schedule, faults: count }
}

import type { Outcome, Task } from 'ipam-kit/plan'
import {
  copyRows,
  cutOver,
  finishUpgrade,
  type PhaseOutcome,
  type RollBackRequest,
  rollBack,
  startUpgrade,
  type UpgradeDifference,
  type UpgradeOddity,
  type UpgradeOutcome,
  type UpgradeRequest,
  verifyUpgrade,
} from 'ipam-kit/provider/whereabouts-blocks'
import type { Dice } from 'ipam-kit/testing'
import type { Scheduler } from '../../../../src/testing/simulation/scheduler.js'
import { NAMESPACE } from '../whereabouts/kinds.js'
import type { Network } from '../whereabouts/networks.js'
import { configsOf, oldPoolsOf } from './networks.js'
import type { Phase, Upgrade } from './upgrade.js'

/** The steps that are tested. */
export interface Steps {
  readonly startUpgrade: (request: UpgradeRequest) => Task<PhaseOutcome>
  readonly copyRows: (request: UpgradeRequest) => Task<Outcome>
  readonly verifyUpgrade: (request: UpgradeRequest) => Task<UpgradeOutcome>
  readonly cutOver: (request: UpgradeRequest) => Task<PhaseOutcome>
  readonly rollBack: (request: RollBackRequest) => Task<PhaseOutcome>
  readonly finishUpgrade: (request: UpgradeRequest) => Task<Outcome>
}

export const steps: Steps = { startUpgrade, copyRows, verifyUpgrade, cutOver, rollBack, finishUpgrade }

type StepName = keyof Steps

/** The obstacle that the outcome of a step names. */
export interface Found {
  readonly oddities?: readonly UpgradeOddity[] | undefined
  readonly differences?: readonly UpgradeDifference[] | undefined
}

export interface OperatorWorld {
  readonly scheduler: Scheduler
  readonly dice: Dice
  readonly now: () => number
  readonly isRough: () => boolean
  readonly upgrade: Upgrade
  readonly steps: Steps
  /** Whether nothing is there that no upgrade can have. */
  readonly isReady: () => boolean
  readonly phaseOf: (pool: string) => Phase
  /** Runs a step. `undefined`: its process has ended before the task. */
  readonly run: (operator: string, task: Task) => Promise<Outcome | undefined>
  /** Gives all nodes the new plugin, also one that was forgotten. */
  readonly replacePlugins: () => void
  /** Sets the pools of blocks of a network to give addresses, or to give none. */
  readonly disable: (network: Network, disabled: boolean) => Promise<void>
  /** Removes the obstacles of a pool that the report names. */
  readonly clear: (pool: string, found: Found) => Promise<void>
}

const PAUSES_MS = [0, 0, 500, 2000, 10_000]
const CALM_PAUSE_MS = 600_000
/** Steps without faults until the goal has to be reached. */
const MAX_CALM_STEPS = 150

/** An operator that carries an upgrade out, step by step. Operators do not wait for each other. */
export class Operator {
  readonly name: string
  readonly #world: OperatorWorld
  readonly #pools: readonly string[]
  /** Infinity: it is doing something. */
  #dueMs = 0
  #calmSteps = 0
  /** Pools that it has begun to roll back from `blocks`. */
  readonly #rollingBack = new Set<string>()

  constructor(name: string, world: OperatorWorld) {
    this.name = name
    this.#world = world
    this.#pools = oldPoolsOf(world.upgrade.networks)
  }

  /** When it has something to do next. */
  get dueMs(): number {
    const { upgrade, isReady } = this.#world
    return isReady() && !upgrade.isResting && !this.isDone ? this.#dueMs : Infinity
  }

  /** Whether all pools are where they are to be in the end. */
  get isDone(): boolean {
    const { upgrade, phaseOf } = this.#world
    if (upgrade.goal === undefined || this.#rollingBack.size > 0) return false
    if (this.#calmSteps > MAX_CALM_STEPS) return true
    const wanted = upgrade.goal === 'finish' ? 'finished' : undefined
    return this.#pools.every((pool) => phaseOf(pool) === wanted)
  }

  /** Runs until the simulation ends. */
  async live(): Promise<void> {
    const { scheduler, dice, now, isRough, upgrade } = this.#world
    for (;;) {
      await scheduler.turn(this.name, 'considers', () => this.dueMs <= now())
      if (!isRough()) this.#calmSteps++
      upgrade.busy++
      this.#dueMs = Infinity
      await this.#step()
      upgrade.busy--
      this.#dueMs = now() + (isRough() ? dice.pick(PAUSES_MS) : CALM_PAUSE_MS)
    }
  }

  async #step(): Promise<void> {
    const { dice, phaseOf, upgrade } = this.#world
    const [again] = this.#rollingBack
    if (again !== undefined) return this.#toDualWrite(again)
    const pool = dice.pick(this.#pools)
    const phase = phaseOf(pool)
    const goal = upgrade.goal ?? dice.pick(['finish', 'finish', 'back'])
    const isForth = goal === 'finish'
    if (phase === undefined && (isForth || upgrade.goal === undefined)) await this.#run('startUpgrade', pool)
    if (phase === 'dual-write' && isForth) {
      const names = ['copyRows', 'copyRows', 'cutOver', 'verifyUpgrade', 'startUpgrade'] as const
      await this.#run(dice.pick(names), pool)
    }
    if (phase === 'blocks' && isForth) await this.#forthFromBlocks(pool)
    if (phase === 'dual-write' && !isForth) await this.#run('rollBack', pool, 'none')
    if (phase === 'blocks' && !isForth) await this.#toDualWrite(pool)
  }

  async #forthFromBlocks(pool: string): Promise<void> {
    const { dice, phaseOf, upgrade, scheduler } = this.#world
    const network = dice.pick(upgrade.networksOf(pool))
    if (dice.chance(0.3)) await this.#run('verifyUpgrade', pool)
    else if (!upgrade.isOnBlocks(pool)) {
      const isChanged = upgrade.toBlocks(network, phaseOf)
      if (isChanged) await this.#world.disable(network, false)
      scheduler.note(this.name, `  ${network.name} ${isChanged ? 'gets' : 'cannot get'} the type ipam-kit`)
    } else if (upgrade.goal === 'finish') {
      const networks = upgrade.networksOf(pool)
      await scheduler.turn(this.name, 'waits for ADDs', () => upgrade.calls('whereabouts', networks).length === 0)
      await this.#run('finishUpgrade', pool)
    }
  }

  /** Definitions get their former type, and what was begun on blocks ends before. */
  async #toDualWrite(pool: string): Promise<void> {
    const { scheduler, upgrade, dice } = this.#world
    upgrade.rollsBack(pool, this.name)
    this.#rollingBack.add(pool)
    const networks = upgrade.networksOf(pool)
    if (dice.chance(0.5)) for (const network of networks) await this.#world.disable(network, true)
    await scheduler.turn(this.name, 'waits for ADDs', () => upgrade.calls('ipam-kit', networks).length === 0)
    const outcome = await this.#run('rollBack', pool)
    // it is repeated: a write of a process that has ended may arrive as long as the phase is the same
    if (outcome === undefined) return
    upgrade.hasRolledBack(pool, this.name)
    this.#rollingBack.delete(pool)
  }

  async #run(step: StepName, pool: string, to: RollBackRequest['to'] = 'dual-write'): Promise<Outcome | undefined> {
    const { upgrade, scheduler, dice, isRough, replacePlugins, clear } = this.#world
    if (step === 'cutOver') await this.#waitForUpstream()
    upgrade.steps++
    const request = { pool, namespace: NAMESPACE, networks: configsOf(upgrade.networks), to }
    const task: Task = this.#world.steps[step](request)
    scheduler.note(this.name, `  ${step} ${pool}`)
    const outcome = await this.#world.run(this.name, task)
    upgrade.steps++
    scheduler.note(this.name, `  ${step} ${pool}: ${outcome?.kind} ${outcome?.message}`)
    if (outcome?.kind === 'otherWriter') {
      replacePlugins()
      await this.#waitForUpstream()
      if (step !== 'startUpgrade') await this.#run('startUpgrade', pool)
    }
    if (isRough() ? dice.chance(0.3) : this.#calmSteps > 10) await clear(pool, (outcome ?? {}) as Found)
    return outcome
  }

  /** What upstream has begun ends. */
  async #waitForUpstream(): Promise<void> {
    const { upgrade, scheduler } = this.#world
    const calls = upgrade.calls('upstream')
    await scheduler.turn(this.name, 'waits for upstream', () => !calls.some((call) => upgrade.isUnderWay(call)))
  }
}

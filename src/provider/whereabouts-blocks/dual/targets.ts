import * as Prefix from '../../../cidr/nouns/prefix.js'
import { poolName } from '../../../crd/whereabouts/index.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import { PoolView } from '../../blocks/pool/pool-view.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { poolRef } from '../../blocks/tasks/steps.js'
import { ReadObjects } from '../../whereabouts/tasks/read-objects.js'
import type { InterfaceRequest, NetworkRequest } from '../../whereabouts/tasks/request.js'
import { type RangePool, rangePoolsOf } from '../config/range-pool.js'
import { textProblem } from '../upgrade/plan-pool.js'
import { type PoolPhases, part } from './parts.js'

interface Targets extends Outcome {
  readonly known: KnownBlocks
}

/** Reads the pools of blocks of some ranges. */
export class ReadTargets implements Task<Targets> {
  readonly #ranges: readonly RangePool[]
  readonly #read = new ReadObjects()
  readonly #known = new KnownBlocks()
  #nowMs = 0

  constructor(ranges: readonly RangePool[]) {
    this.#ranges = ranges
  }

  observe(change: Change): void {
    this.#read.observe(change)
    this.#known.observe(change, { nowMs: this.#nowMs })
  }

  next({ nowMs }: TaskTime): Step<Targets> {
    this.#nowMs = nowMs
    const step = this.#read.read(
      this.#ranges.map(({ name }) => poolRef(name)),
      'the pools of blocks of the network',
    )
    return step ?? { kind: 'done', outcome: { kind: 'read', message: '', known: this.#known } }
  }
}

/** The ranges of a network whose pools of whereabouts have these names. */
export function rangesOf({ config }: NetworkRequest, names: readonly string[]): readonly RangePool[] {
  return rangePoolsOf(config).filter(({ prefix }) => {
    const name = poolName({ range: Prefix.format(prefix), networkName: config.networkName })
    return name.ok && names.includes(name.value)
  })
}

/** Whether the blocks may have rows of a network: during an upgrade, and after it. */
export function* mayHaveRows(request: NetworkRequest, phases: PoolPhases): Generator<Task, boolean, Outcome> {
  if (phases.isUpgraded) return true
  const ranges = rangesOf(request, phases.absent)
  if (ranges.length === 0) return false
  const { known } = yield* part(new ReadTargets(ranges))
  return ranges.some(({ name }) => known.pool(name) instanceof PoolView)
}

/** Whether the row of a block can name a container. */
export function canHaveRow({ containerId: container, ifname }: InterfaceRequest): boolean {
  return textProblem({ owner: 'any', uid: 'any', interface: ifname, container }) === undefined
}

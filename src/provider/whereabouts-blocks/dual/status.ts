import * as Prefix from '../../../cidr/nouns/prefix.js'
import { poolName } from '../../../crd/whereabouts/index.js'
import { check } from '../../../errors/check.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import type { PoolView } from '../../blocks/pool/pool-view.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { poolRef } from '../../blocks/tasks/steps.js'
import type { StatusOutcome } from '../../whereabouts/tasks/outcome.js'
import { ReadObjects } from '../../whereabouts/tasks/read-objects.js'
import { NETWORK_REQUEST, type NetworkRequest } from '../../whereabouts/tasks/request.js'
import { statusTask } from '../../whereabouts/tasks/status.js'
import { type RangePool, rangePoolsOf } from '../config/range-pool.js'
import { fullProblem } from '../tasks/status.js'
import { targetProblem } from '../upgrade/compare.js'
import { type Parts, PartsTask, type PoolPhases, part } from './parts.js'

/**
 * The task of a CNI STATUS for a network of type `whereabouts` whose pools may be upgraded to
 * blocks. It is `status` of `ipam-kit/provider/whereabouts` for pools without a phase, with the
 * same requests. The range of a pool with a phase needs its pool of blocks too, with a free
 * address. That pool may be disabled.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function dualStatus(request: NetworkRequest): Task<StatusOutcome> {
  check<unknown>('dualStatus', 'request', request, NETWORK_REQUEST)
  return new PartsTask((phases) => both(request, phases))
}

function* both(request: NetworkRequest, phases: PoolPhases): Parts<StatusOutcome> {
  const outcome = yield* part(statusTask(request, { hasOther: true }))
  const ranges = rangesOf(request, phases.upgraded)
  if (outcome.kind !== 'ready' || ranges.length === 0) return outcome
  const { known } = yield* part(new ReadTargets(ranges))
  for (const range of ranges) {
    const { name: pool, domain, problem } = range
    const message =
      problem ?? targetProblem(pool, { domain }, known) ?? fullProblem({ pool, range }, known.pool(pool) as PoolView)
    if (message !== undefined) return { kind: 'notReady', message }
  }
  return outcome
}

interface Targets extends Outcome {
  readonly known: KnownBlocks
}

/** Reads the pools of blocks of some ranges. */
class ReadTargets implements Task<Targets> {
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
function rangesOf({ config }: NetworkRequest, names: readonly string[]): readonly RangePool[] {
  return rangePoolsOf(config).filter(({ prefix }) => {
    const name = poolName({ range: Prefix.format(prefix), networkName: config.networkName })
    return name.ok && names.includes(name.value)
  })
}

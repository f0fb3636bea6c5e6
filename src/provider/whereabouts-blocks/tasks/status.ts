import { check } from '../../../errors/check.js'
import type { Step, Task } from '../../../plan/index.js'
import type { PoolView } from '../../blocks/pool/pool-view.js'
import { assertKnown, KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import type { StatusOutcome } from '../../whereabouts/tasks/outcome.js'
import { NetworkTask } from './network-task.js'
import { familiesOf, type Place, placeProblem, placesOf } from './places.js'
import { BLOCK_NETWORK_REQUEST, type BlockNetworkRequest } from './request.js'

/**
 * The task of a CNI STATUS on blocks: whether an ADD would be served now, as far as the pools say.
 * It reads the pools, and writes nothing. The count of free addresses is that of the operator,
 * about a second old.
 *
 * @param known what the process knows of pools and blocks. Default: nothing
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blockStatus(request: BlockNetworkRequest, known: KnownBlocks = new KnownBlocks()): Task<StatusOutcome> {
  check<unknown>('blockStatus', 'request', request, BLOCK_NETWORK_REQUEST)
  assertKnown('blockStatus', known)
  return new StatusTask(request, known)
}

class StatusTask extends NetworkTask<StatusOutcome> {
  readonly #places: readonly Place[]

  constructor({ network }: BlockNetworkRequest, known: KnownBlocks) {
    super(known)
    this.#places = placesOf(network)
  }

  step(): Step<StatusOutcome> {
    const read = this.readPools(this.#places)
    if (read !== undefined) return read
    for (const place of this.#places) {
      const problem = this.#problem(place)
      if (problem === undefined) continue
      return this.readAgain(place) ?? { kind: 'done', outcome: { kind: 'notReady', message: problem } }
    }
    return { kind: 'done', outcome: { kind: 'ready', message: 'each pool has a free address' } }
  }

  #problem(place: Place): string | undefined {
    const problem = place.range?.problem ?? placeProblem(place, this.known)
    if (problem !== undefined) return problem
    const view = this.known.pool(place.pool) as PoolView
    if (view.problem !== undefined) return `IPPool ${place.pool}: ${view.problem}`
    return fullProblem(place, view)
  }
}

/** Whether the status of a pool counts no free address. */
export function fullProblem(place: Place, view: PoolView): string | undefined {
  const { status } = view.object
  const full = familiesOf(place, view).find((family) => status?.[family === 4 ? 'ipv4' : 'ipv6']?.free === '0')
  return full === undefined ? undefined : `IPPool ${place.pool} has no free IPv${full} address`
}

import { check } from '../../../errors/check.js'
import type { Task } from '../../../plan/index.js'
import type { PoolView } from '../../blocks/pool/pool-view.js'
import type { StatusOutcome } from '../../whereabouts/tasks/outcome.js'
import { NETWORK_REQUEST, type NetworkRequest } from '../../whereabouts/tasks/request.js'
import { statusTask } from '../../whereabouts/tasks/status.js'
import { fullProblem } from '../tasks/status.js'
import { targetProblem } from '../upgrade/compare.js'
import { type Parts, PartsTask, type PoolPhases, part } from './parts.js'
import { ReadTargets, rangesOf } from './targets.js'

/**
 * The task of a CNI STATUS for a network of type `whereabouts` whose pools may be upgraded to
 * blocks. It is `status` of `ipam-kit/provider/whereabouts` for pools without a phase, with the
 * same requests. The range of a pool with a phase needs its pool of blocks too, with a free
 * address. It may be disabled.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function dualStatus(request: NetworkRequest): Task<StatusOutcome> {
  check<unknown>('dualStatus', 'request', request, NETWORK_REQUEST)
  return new PartsTask((phases) => both(request, phases))
}

function* both(request: NetworkRequest, phases: PoolPhases): Parts<StatusOutcome> {
  const outcome = yield* part(statusTask(request, { hasOther: true }))
  const ranges = rangesOf(
    request,
    phases.names((phase) => phase !== undefined),
  )
  if (outcome.kind !== 'ready' || ranges.length === 0) return outcome
  const { known } = yield* part(new ReadTargets(ranges))
  for (const range of ranges) {
    const { name: pool, domain, problem } = range
    const message =
      problem ??
      targetProblem(pool, { domain, rows: [] }, known) ??
      fullProblem({ pool, range }, known.pool(pool) as PoolView)
    if (message !== undefined) return { kind: 'notReady', message }
  }
  return outcome
}

import { check as checkArgument } from '../../../errors/check.js'
import type { Task } from '../../../plan/index.js'
import { check } from '../../whereabouts/tasks/check.js'
import type { CheckOutcome } from '../../whereabouts/tasks/outcome.js'
import { CHECK_REQUEST, type CheckRequest } from '../../whereabouts/tasks/request.js'
import { blockCheck } from '../tasks/check.js'
import { canHaveRow } from './del.js'
import { type Parts, PartsTask, type PoolPhases, part } from './parts.js'

/**
 * The task of a CNI CHECK for a network of type `whereabouts` whose pools may be upgraded to
 * blocks. It is `check` of `ipam-kit/provider/whereabouts`, with the same requests. If all pools
 * have the phase `blocks` or `finished`, it is `blockCheck` after that.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function dualCheck(request: CheckRequest): Task<CheckOutcome> {
  checkArgument<unknown>('dualCheck', 'request', request, CHECK_REQUEST)
  return new PartsTask((phases) => compare(request, phases))
}

function* compare(request: CheckRequest, phases: PoolPhases): Parts<CheckOutcome> {
  const outcome = yield* part(check(request))
  if (!phases.areOnBlocks || !canHaveRow(request)) return outcome
  return yield* part(blockCheck({ ...request, network: { config: request.config, pools: [] } }))
}

import { formatRef } from '../../crd/meta/object.js'
import type { CallTasks } from '../../plan/call-tasks.js'
import type { ExternalResult, Holdings, PlanTime } from '../../plan/index.js'
import { adopt, allocate } from '../blocks/tasks/allocate.js'
import { AllocateGroup } from '../blocks/tasks/allocate-group.js'
import { answerOf, type BlockCall, type BlockOutcome } from '../blocks/tasks/calls.js'
import type { KnownBlocks } from '../blocks/tasks/known-blocks.js'
import { release } from '../blocks/tasks/release.js'
import { isAdoption, type TaskRequest } from '../blocks/tasks/request.js'
import { KEYS } from '../persistent-ip/serving/holds.js'
import { CLAIM_KIND } from './row-owners.js'

/** What the tasks read: after a reset of the planner these are other objects. */
export interface RowTaskSources {
  known(): KnownBlocks
  holdings(): Holdings
  networkOf(domain: string): string | undefined
}

/** Carries out the calls of the planner. Those that give addresses of one network share writes. */
export function rowTasks(sources: RowTaskSources): CallTasks<BlockCall, BlockOutcome, BlockOutcome> {
  const { known, networkOf } = sources
  const answer = (call: BlockCall, outcome: BlockOutcome, time: PlanTime): ExternalResult<BlockOutcome> => {
    const network = `the network ${networkOf(call.pool) ?? call.pool}`
    const message =
      outcome.kind === 'exhausted'
        ? `${network} has no free IPv${outcome.family} address`
        : outcome.message.replaceAll(call.pool, network)
    return answerOf(call, { ...outcome, message }, time)
  }
  return {
    taskFor: ({ input }) => {
      if (input.task === 'release') return release(input.request, known())
      const request = requestOf(input, sources)
      return isAdoption(request) ? adopt(request, known()) : allocate(request, known())
    },
    answerOf: ({ input }, outcome, time) => answer(input, outcome, time),
    groupOf: ({ input }) => (input.task === 'release' ? undefined : input.pool),
    openGroup: () =>
      new AllocateGroup({
        known,
        requestOf: ({ input }) => requestOf(input, sources),
        answerOf: ({ input }, outcome, time) => answer(input, outcome, time),
      }),
  }
}

/** The request with the holders of addresses without a row: their own adopt them. */
function requestOf(
  { pool, request }: Extract<BlockCall, { task: 'allocate' }>,
  { holdings, networkOf }: RowTaskSources,
): TaskRequest {
  const network = networkOf(pool)
  if (isAdoption(request) || network === undefined) return request
  const own = KEYS.format(request.owner.kind === CLAIM_KIND ? 'IPAMClaim' : 'Pod', request.owner.name)
  return {
    ...request,
    heldBy: (prefix) =>
      holdings()
        .ledger(network)
        .holders(prefix)
        .map(({ holder: { key, object } }) => (key === own ? undefined : object ? formatRef(object) : key))
        .find((by) => by !== undefined),
  }
}

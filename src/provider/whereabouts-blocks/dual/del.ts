import * as Address from '../../../cidr/nouns/address.js'
import { check } from '../../../errors/check.js'
import type { Task } from '../../../plan/index.js'
import { del } from '../../whereabouts/tasks/del.js'
import type { DelOutcome } from '../../whereabouts/tasks/outcome.js'
import { DEL_REQUEST, type InterfaceRequest } from '../../whereabouts/tasks/request.js'
import { blockDel } from '../tasks/del.js'
import { textProblem } from '../upgrade/plan-pool.js'
import { type Parts, PartsTask, type PoolPhases, part } from './parts.js'

/**
 * The task of a CNI DEL for a network of type `whereabouts` whose pools may be upgraded to blocks.
 * It is `del` of `ipam-kit/provider/whereabouts` for pools without a phase, with the same requests.
 * If a pool of the network has a phase, it then releases the rows in blocks, and reads the pools
 * again: a roll-back may have written a row of a block to them meanwhile.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function dualDel(request: InterfaceRequest): Task<DelOutcome> {
  check<unknown>('dualDel', 'request', request, DEL_REQUEST)
  return new PartsTask((phases) => release(request, phases))
}

function* release(request: InterfaceRequest, phases: PoolPhases): Parts<DelOutcome> {
  const outcomes: DelOutcome[] = [yield* part(del(request))]
  while (phases.upgraded.length > 0 && canHaveRow(request)) {
    const block = yield* part(blockDel({ ...request, network: { config: request.config, pools: [] } }))
    outcomes.push(block)
    if (block.kind !== 'released') break
    const pool = yield* part(del(request))
    outcomes.push(pool)
    if (pool.kind !== 'released') break
  }
  return together(outcomes)
}

/** Whether the row of a block can name a container. */
export function canHaveRow({ containerId: container, ifname }: InterfaceRequest): boolean {
  return textProblem({ owner: 'any', uid: 'any', interface: ifname, container }) === undefined
}

/** The outcome of both sides. */
function together(outcomes: readonly DelOutcome[]): DelOutcome {
  const released = outcomes.flatMap((outcome) => (outcome.kind === 'released' ? outcome.addresses : []))
  const problem = outcomes.find(({ kind }) => kind === 'poolNotReady')
  if (problem !== undefined) return problem
  if (released.length === 0) return outcomes.find(({ kind }) => kind === 'kept') ?? (outcomes[0] as DelOutcome)
  const addresses = [...new Map(released.map((address) => [Address.format(address), address])).values()]
  return { kind: 'released', message: `released ${addresses.map(Address.format).join(', ')}`, addresses }
}

import * as Address from '../../../cidr/nouns/address.js'
import { check } from '../../../errors/check.js'
import type { Task } from '../../../plan/index.js'
import { gc } from '../../whereabouts/tasks/gc.js'
import type { WhereaboutsGcOutcome } from '../../whereabouts/tasks/outcome.js'
import { GC_REQUEST, type GcRequest } from '../../whereabouts/tasks/request.js'
import { blockGc } from '../tasks/gc.js'
import { type Parts, PartsTask, type PoolPhases, part } from './parts.js'

/**
 * The task of a CNI GC for a network of type `whereabouts` whose pools may be upgraded to blocks.
 * It is `gc` of `ipam-kit/provider/whereabouts` for pools without a phase, with the same requests.
 * If a pool of the network has a phase, it then is `blockGc` too.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function dualGc(request: GcRequest): Task<WhereaboutsGcOutcome> {
  check<unknown>('dualGc', 'request', request, GC_REQUEST)
  return new PartsTask((phases) => collect(request, phases))
}

function* collect(request: GcRequest, phases: PoolPhases): Parts<WhereaboutsGcOutcome> {
  const pools = yield* part(gc(request))
  if (pools.kind === 'off' || phases.upgraded.length === 0) return pools
  const blocks = yield* part(blockGc({ ...request, network: { config: request.config, pools: [] } }))
  if (blocks.kind === 'off') return pools
  const all = [...pools.addresses, ...blocks.addresses]
  const addresses = [...new Map(all.map((address) => [Address.format(address), address])).values()]
  return { kind: 'collected', message: `freed ${all.length} rows`, addresses }
}

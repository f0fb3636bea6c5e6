import type { Address } from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { poolName } from '../../../crd/whereabouts/index.js'
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
 * blocks. It is `check` of `ipam-kit/provider/whereabouts`, with the same requests. For a range
 * whose pool has the phase `blocks` or `finished`, it compares the rows of blocks in place of those
 * of the pool, as `blockCheck` does.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function dualCheck(request: CheckRequest): Task<CheckOutcome> {
  checkArgument<unknown>('dualCheck', 'request', request, CHECK_REQUEST)
  return new PartsTask((phases) => compare(request, phases))
}

function* compare(request: CheckRequest, phases: PoolPhases): Parts<CheckOutcome> {
  const outcome = yield* part(check(request))
  const { config, addresses } = request
  const onBlocks = config.ranges.filter(({ prefix }) => {
    const name = poolName({ range: Prefix.format(prefix), networkName: config.networkName })
    return name.ok && phases.isOnBlocks(name.value)
  })
  if (onBlocks.length === 0 || !canHaveRow(request)) return outcome
  const others = config.ranges.filter((range) => !onBlocks.includes(range))
  const isOnBlocks = (address: Address) => onBlocks.some(({ prefix }) => Prefix.contains(prefix, address))
  if (others.length > 0) {
    const rest = addresses?.filter((address) => !isOnBlocks(address))
    const inPools = yield* part(check({ ...request, config: { ...config, ranges: others }, addresses: rest }))
    if (inPools.kind !== 'present') return inPools
  }
  const network = { config: { ...config, ranges: onBlocks }, pools: [] }
  const inBlocks = others.length === 0 ? addresses : addresses?.filter(isOnBlocks)
  return yield* part(blockCheck({ ...request, network, addresses: inBlocks }))
}

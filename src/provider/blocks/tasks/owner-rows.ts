import * as Address from '../../../cidr/nouns/address.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import { addressOf, allocationOf } from '../block/allocation.js'
import { isRowOf } from '../block/rows.js'
import { PoolView } from '../pool/pool-view.js'
import { unitsWanted } from './choose-block.js'
import type { KnownBlocks, PlacedRow } from './known-blocks.js'
import type { AllocationOutcome } from './outcome.js'
import type { TaskRequest } from './request.js'
import type { TaskView } from './task-view.js'

/** The row that the owner of a request has of a family, whichever pool of the request it is of. */
export function ownRow(request: TaskRequest, family: 4 | 6, known: KnownBlocks): PlacedRow | undefined {
  const { owner, interface: name, pools } = request
  const asked = request.addresses?.find((address) => address.family === family)
  const places = known.rowsOf(owner.uid).filter(({ parsed, entry }) => {
    if (parsed.prefix.address.family !== family || !isRowOf(entry, owner.uid, name)) return false
    const pool = entry.row.pool ?? parsed.object.spec.pool
    if (!pools.includes(pool)) return false
    // the row is of an earlier pool of that name, in another domain
    const view = known.pool(pool)
    return !(view instanceof PoolView) || view.object.spec.domain === parsed.object.spec.domain
  })
  // a row that an earlier attempt has left beside it is not the requested one
  const wanted = asked && places.find(({ parsed, entry }) => Address.equals(addressOf(parsed, entry), asked))
  return wanted ?? places[0]
}

/**
 * The failure if the owner has something else than it requests: another address, or another number
 * of them.
 */
export function differingFrom(
  request: TaskRequest,
  places: readonly (PlacedRow | undefined)[],
  known: KnownBlocks,
): AllocationOutcome | undefined {
  const found = places.filter((place) => place !== undefined)
  const allocations = found.map((place) => allocationOf(place, known))
  const wrong = allocations.find(({ family, address, count }, nth) => {
    const asked = request.addresses?.find((each) => each.family === family)
    if (asked !== undefined && !Address.equals(asked, address)) return true
    const length = (found[nth] as PlacedRow).parsed.object.spec.allocationPrefixLength
    return count !== unitsWanted(request, family, length)
  })
  if (wrong === undefined) return undefined
  const size = wrong.count === 1 ? '' : `${wrong.count} from `
  const message = `${request.owner.name} has ${size}${Address.format(wrong.address)} of pool ${wrong.pool}`
  return { kind: 'different', message, allocations }
}

/**
 * The blocks of the requested addresses that the task was not shown: of two rows the second may be
 * there.
 */
export function unseenBlocks({ addresses = [], pools }: TaskRequest, view: TaskView): readonly ObjectRef[] {
  const names = addresses.flatMap((address) => view.pools(pools).flatMap((pool) => pool.blockAt(address) ?? []))
  return view.unseen(IPBlock.info, names)
}

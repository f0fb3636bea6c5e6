import type { Task } from '../../../plan/index.js'
import { type AddOptions, AddTask, assertAdd } from '../../whereabouts/tasks/add.js'
import type { AddOutcome } from '../../whereabouts/tasks/outcome.js'
import type { InterfaceRequest } from '../../whereabouts/tasks/request.js'
import { BlockSide } from './block-side.js'

/**
 * The task of a CNI ADD for a network of type `whereabouts` whose pools may be upgraded to blocks.
 * It is `add` of `ipam-kit/provider/whereabouts` for pools without a phase, with the same requests.
 * For each pool with a phase:
 *
 * - It gives an address that is free in the pool and in the blocks.
 * - It writes the row to the pool, and then to the block. It succeeds if the pool still has the row
 *   after that, so that a change of the phase in between loses nothing.
 * - An interface that has a row in the blocks gets the same address again, also in another
 *   container of the same Pod. A late DEL of the earlier container frees nothing then. In the phase
 *   `blocks` it is `taken` if the pool cannot give that address.
 * - In the phase `blocks` a row of the pool whose address is free in the blocks has no meaning. The
 *   task takes it over if no other address is free.
 * - An earlier Pod of the name keeps its row, also with sticky `pod`.
 * - Without `podUid` it reads the Pod.
 * - A row of the container whose address has another holder in the blocks is refused: `taken`.
 * - A pool in the phase `finished` gives no address: `poolNotReady`. A pool with a phase that is
 *   deleted meanwhile is not created again.
 * - A network with a claim or with node slices is refused. The pools of blocks must exist, and may
 *   be disabled.
 *
 * A task that ends early may leave rows on either side. `dualDel` removes both.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function dualAdd(request: InterfaceRequest, options: AddOptions = {}): Task<AddOutcome> {
  assertAdd('dualAdd', request, options)
  return new AddTask(request, options, new BlockSide(request, options))
}

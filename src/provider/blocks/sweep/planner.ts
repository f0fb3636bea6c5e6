import { IPAddress } from '../../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import { type KindInfo, kindKey, nameKey } from '../../../crd/meta/object.js'
import { check, type KindOf } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import { defineWithoutHoldings, type Watches } from '../../../plan/define-planner.js'
import { Absences, type Delta, modelWatch, type Planner, type Watch } from '../../../plan/index.js'
import type { OperatorOutcome } from '../operator/outcome.js'
import { blockWatch, poolWatch } from '../tasks/watches.js'
import { HANDLES, handleWatch, planHandle } from './handles.js'
import { changedUids, Owners, ownerWatch } from './owners.js'
import { decideByOwner, planRows, type Sweep } from './rows.js'

export interface BlocksSweepOptions {
  /**
   * The kinds of owners to watch. Rows of other kinds are never changed. With IPAddressClaim among
   * them, rows that a claim has beside its IPAddress are removed as well. A row continues to the
   * claim that has adopted the IPAddress.
   */
  readonly owners: readonly KindInfo[]
  /**
   * How long an owner has to be missing before its rows are removed, in seconds, from 0 to 86,400.
   * Default 900.
   */
  readonly graceSeconds?: number | undefined
  /**
   * Whether the handles of missing owners are removed too. Handles are then watched as well.
   * Default false.
   */
  readonly handles?: boolean | undefined
}

const BLOCKS_SWEEP_OPTIONS: KindOf<BlocksSweepOptions> = {
  owners: ['list', 'object'],
  graceSeconds: 'number?',
  handles: 'flag?',
}

/**
 * Removes the rows of owners that do not exist: their writer died before the release, or they were
 * deleted by force.
 *
 * An owner is identified by its uid: a new object of the same name is another owner. It has to be
 * missing when it is first looked up, which starts anew with each process, and after the grace
 * period. Right before the row is removed, the store is asked for the owner. A row that was given
 * again since has another number, and stays. O(rows of a block) a plan.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blocksSweep(options: BlocksSweepOptions): Planner<OperatorOutcome> {
  check('blocksSweep', 'options', options, BLOCKS_SWEEP_OPTIONS)
  const { owners: kinds, graceSeconds = 900, handles = false } = options
  if (!Array.isArray(kinds) || kinds.length === 0)
    refuse('blocksSweep', 'owners', 'a list of kinds, one at least', kinds)
  if (!(graceSeconds >= 0 && graceSeconds <= 86_400))
    refuse('blocksSweep', 'graceSeconds', 'seconds, 0 to 86400', graceSeconds)
  const kindWatches = kinds.map((kind) => ({ kind, watch: ownerWatch(kind) }))
  const addressWatch: Watch<IPAddress> = modelWatch(IPAddress)
  const hasClaims = kinds.some((kind) => IPAddressClaim.is(kind))
  const watches: Watches = {
    pools: poolWatch,
    blocks: blockWatch,
    ...(handles ? { handles: handleWatch } : {}),
    ...(hasClaims ? { addresses: addressWatch } : {}),
    ...Object.fromEntries(kindWatches.map(({ kind, watch }) => [kindKey(kind), watch])),
  }
  return defineWithoutHoldings<OperatorOutcome, Watches, Sweep>({
    name: 'blocks-sweep',
    watches,
    state: (cache) => ({
      pools: cache.open(poolWatch),
      blocks: cache.open(blockWatch),
      handles: handles ? cache.open(handleWatch) : undefined,
      addresses: hasClaims ? cache.open(addressWatch) : undefined,
      owners: new Owners(kindWatches.map(({ kind, watch }) => ({ kind, objects: cache.open(watch) }))),
      absences: new Absences(graceSeconds),
      refusals: new Map(),
    }),
    wakes: {
      ...Object.fromEntries(
        kinds.map((kind) => [kindKey(kind), (delta, { state }) => keysOf(changedUids(delta), state)]),
      ),
      pools: () => [],
      blocks: ({ ref: { name }, before, now }) => (now !== undefined && now === before ? [] : [name]),
      handles: ({ ref }) => [HANDLES.format('handle', ref)],
      addresses: (delta, { state }) => [
        ...keysOf(uidsAt(delta, state.owners), state),
        // the row of an earlier claim of the name stays while the IPAddress has its address
        ...state.blocks.by('ownerName', nameKey(delta.ref)).map(({ name }) => name),
      ],
    },
    plan(key, { state }, time) {
      const handle = HANDLES.read(key)
      if (handle !== undefined) return planHandle(handle.name, state, time)
      return planRows(key, { ...state, decide: (place) => decideByOwner(place, state) }, time)
    },
    refused(key, _, { state: { refusals } }) {
      refusals.set(key, (refusals.get(key) ?? 0) + 1)
      return undefined
    },
    isAggregate: () => true,
  })
}

/** The keys of the blocks and handles of some owners. */
function keysOf(uids: readonly string[], { blocks, handles }: Sweep): readonly string[] {
  const names = uids.flatMap((uid) => blocks.by('owner', uid).map(({ name }) => name))
  const owned = uids.flatMap((uid) => handles?.by('owner', uid) ?? [])
  return [...names, ...owned.map(({ metadata }) => HANDLES.format('handle', metadata))]
}

/**
 * The uids of the claims that an IPAddress concerns: its controllers, and the claim of its name.
 */
function uidsAt({ ref, before, now }: Delta<IPAddress>, owners: Owners): readonly string[] {
  const controllers = [before, now].flatMap((entry) => {
    const references = entry?.ok === true ? (entry.value.metadata.ownerReferences ?? []) : []
    return references.filter((owner) => IPAddressClaim.is(owner)).map(({ uid }) => uid)
  })
  const claim = owners.uidOf({ ...IPAddressClaim.info, namespace: ref.namespace, name: ref.name })
  return [...controllers, ...(claim === undefined ? [] : [claim])]
}

import * as Address from '../../cidr/nouns/address.js'
import { Pod } from '../../crd/core/index.js'
import { IPAMClaim } from '../../crd/ipamclaims/index.js'
import { formatRef, nameKey, type ObjectRef } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { CallTasks } from '../../plan/call-tasks.js'
import { Calls } from '../../plan/calls.js'
import {
  Absences,
  type CachedObjects,
  type Delta,
  definePlanner,
  type Moved,
  type Planner,
  type PlannerContext,
  type PlannerWatches,
  patchStatus,
} from '../../plan/index.js'
import { plannerKeys } from '../../plan/planner-keys.js'
import { isBound, type ParsedBlock } from '../blocks/block/parsed-block.js'
import type { BlockCall, BlockOutcome, KnownBlocks as Known, OperatorOutcome } from '../blocks/index.js'
import { ParsedPool } from '../blocks/pool/parsed-pool.js'
import { planRows } from '../blocks/sweep/rows.js'
import { KnownBlocks, type PlacedRow } from '../blocks/tasks/known-blocks.js'
import { blockWatch } from '../blocks/tasks/watches.js'
import type { PersistentIPsOptions, PersistentIPsOutcome } from '../persistent-ip/index.js'
import { hostOf, KEYS } from '../persistent-ip/serving/holds.js'
import { networkNamed } from '../persistent-ip/serving/networks.js'
import { type ServingState, servingDefinition, takeWaiting } from '../persistent-ip/serving/serving.js'
import type { ServedDefinition, ServedPod } from '../persistent-ip/serving/watches.js'
import { domainOfNetwork, isDomainOfNetwork, networkPoolOf } from './network-pool.js'
import { rowDecision } from './row-decision.js'
import { CLAIM_KIND } from './row-owners.js'
import { addressIn, blockOf, rowRecord } from './row-record.js'
import { rowTasks } from './row-tasks.js'

export interface PersistentIPsOnBlocksOptions extends PersistentIPsOptions {
  /**
   * How long a claim has to be missing before its rows are removed, in seconds, from 0 to 86,400.
   * Longer than a request to the API server can take. Default 120.
   */
  readonly graceSeconds?: number | undefined
}

/** The network side of persistent IPs, on blocks. */
export interface PersistentIPsOnBlocks extends Planner<PersistentIPsOutcome | OperatorOutcome> {
  /** Carries out the calls: pass it to `taskCaller` of `ipam-kit/run`. */
  readonly tasks: CallTasks<BlockCall, BlockOutcome, BlockOutcome>
  /** The networks and blocks that this planner was shown. */
  readonly known: Known
}

const OPTIONS: KindOf<PersistentIPsOnBlocksOptions> = {
  enabled: 'flag?',
  terminatingClaim: ['one?', { refuse: 1, serve: 1 }],
  staticRequests: 'flag?',
  defaultNetworkNamespace: 'text?',
  stretched: ['list?', 'text'],
  graceSeconds: 'number?',
}

interface State extends ServingState {
  readonly blocks: CachedObjects<ParsedBlock>
  readonly known: KnownBlocks
  /** The networks of the domains, as far as a definition was read. */
  readonly networks: Map<string, string>
  readonly absences: Absences
  readonly refusals: Map<string, number>
}
type Context = PlannerContext<PlannerWatches, State>

const BLOCK_KEYS = plannerKeys('IPBlock')

/**
 * The network side of persistent IPs with blocks as its ledger: an address is a row of an IPBlock
 * before it is in the status of a claim or in the annotation of a Pod. So any number of processes
 * may serve the same networks at once, without a leader. Everything else is as with
 * `persistentIPs` of `ipam-kit/provider/persistent-ip`, which is for one process at a time.
 *
 * The blocks of a network are in a domain of its own. A row is owned by the claim, or by a Pod for
 * an interface without a claim. Existing addresses get their row with the next plan of their claim
 * or Pod; that of another owner is a conflict, and nothing is overwritten. Keys are also
 * `IPBlock name`: a row is removed when its owner has ended and no Pod has its address.
 *
 * Its calls are tasks over blocks: pass `tasks` to `taskCaller` of `ipam-kit/run`. Also run
 * `blocksOperator`, which deletes empty blocks. Do not run `persistentIPs` at the same time.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * const kinds = persistentIPsOnBlocks().watches.map(({ kind }) => kind)
 * kinds // ['NetworkAttachmentDefinition', 'IPAMClaim', 'Pod', 'IPBlock']
 */
export function persistentIPsOnBlocks(options: PersistentIPsOnBlocksOptions = {}): PersistentIPsOnBlocks {
  check('persistentIPsOnBlocks', 'options', options, OPTIONS)
  const { graceSeconds = 120, enabled = true } = options
  if (!(graceSeconds >= 0 && graceSeconds <= 86_400)) {
    refuse('persistentIPsOnBlocks', 'graceSeconds', 'seconds, 0 to 86400', graceSeconds)
  }
  const { planWith, wakes, moved, ...definition } = servingDefinition(options)
  const calls = new Calls()
  const planner = definePlanner<PersistentIPsOutcome | OperatorOutcome, PlannerWatches, State>({
    ...definition,
    watches: { ...definition.watches, blocks: blockWatch },
    calls,
    state: (objects, before) => {
      const known = before?.known.anew(objects) ?? new KnownBlocks({ isComplete: true }, objects)
      return {
        ...definition.state(objects),
        blocks: objects.open(blockWatch),
        known,
        networks: new Map(),
        absences: before?.absences ?? new Absences(graceSeconds),
        refusals: new Map(),
        isRecorded: ({ metadata }, address) =>
          known.rowsOf(metadata.uid ?? '').some((place) => Address.equals(addressIn(place), address)),
      }
    },
    wakes: {
      ...wakes,
      claims: (delta: Delta<IPAMClaim>, context: Context) => {
        if (delta.now === undefined) calls.drop(formatRef(delta.ref), 'calls')
        return [...wakes.claims!(delta, context), ...blocksOf([delta], context.state)]
      },
      pods: (delta: Delta<ServedPod>, context: Context) => {
        if (delta.now === undefined) calls.drop(formatRef(delta.ref), 'calls')
        return [...wakes.pods!(delta, context), ...blocksOf([delta], context.state, namedBy(delta))]
      },
      ...(enabled && {
        definitions: (delta: Delta<ServedDefinition>, context: Context) => {
          followNetworks(delta, context.state)
          return wakes.definitions!(delta, context)
        },
      }),
      blocks: (delta: Delta<ParsedBlock>, context: Context) => keysOfBlock(delta, context, calls),
    },
    moved: (change: Moved, context) => [
      ...retried([...(moved?.(change, context) ?? [])], calls),
      ...change.freed.flatMap(({ pool, prefix }) => blockKey(blockOf(pool, prefix.address), context.state)),
    ],
    plan(key, context, time) {
      const { cache, known, networks, ...state } = context.state
      const block = BLOCK_KEYS.read(key)
      if (block === undefined) {
        const { absences } = state
        const sources = { known, calls, cache, absences, holdings: context.holdings, nowMs: time.nowMs }
        // for the status: no permission for the claim itself is necessary
        const checks = (claim: IPAMClaim) => [patchStatus(claim, {}, 'a claim that was deleted gives no addresses')]
        return planWith(key, context, time, { open: rowRecord(sources), checks })
      }
      if (!enabled) return undefined
      const view = { cache, known, holdings: context.holdings, networkOf: (domain: string) => networks.get(domain) }
      return planRows(block.name, { ...state, decide: (place) => rowDecision(place, view) }, time)
    },
    onResult: (result) => {
      calls.answered(result)
      return [formatRef(result.call.about)]
    },
    refused(key, _, { state: { refusals } }) {
      const name = BLOCK_KEYS.read(key)?.name
      if (name !== undefined) refusals.set(name, (refusals.get(name) ?? 0) + 1)
      return undefined
    },
    isBegun: (key, { state: { cache, known } }) => isBegun(key, cache.claims, known),
  })
  const known = () => planner.context.state.known
  const networkOf = (domain: string) => planner.context.state.networks.get(domain)
  const tasks = rowTasks({ known, networkOf, holdings: () => planner.context.holdings })
  return Object.defineProperties(planner, {
    known: { get: known },
    tasks: { value: tasks },
  }) as typeof planner & PersistentIPsOnBlocks
}

/** Whether a claim without addresses has rows: another process may be about to write its status. */
function isBegun(key: string, claims: CachedObjects<IPAMClaim>, known: KnownBlocks): boolean {
  const read = KEYS.read(key)
  const claim = read?.kind === 'IPAMClaim' ? claims.get(read.name) : undefined
  if (claim === undefined || (claim.status?.ips ?? []).length > 0) return false
  return known.rowsOf(claim.metadata.uid ?? '').length > 0
}

/** Plans that waited for an address can make their calls again. */
function retried(keys: readonly string[], calls: Calls): readonly string[] {
  for (const key of keys) calls.drop(key, 'failures')
  return keys
}

function blockKey(name: string | undefined, { blocks }: State): readonly string[] {
  return name === undefined || blocks.entry(name) === undefined ? [] : [BLOCK_KEYS.format('IPBlock', name)]
}

/** The claims that a Pod names and has named: their rows stay until it has ended. */
function namedBy({ before, now }: Delta<ServedPod>): readonly string[] {
  return [before, now].flatMap((entry) => (entry?.ok === true ? entry.value.claims : []))
}

/**
 * The blocks with rows of a claim or a Pod, by the uids that it has and had, and by its name.
 *
 * @param others the names of other owners
 */
function blocksOf(
  deltas: readonly Delta<unknown>[],
  { blocks }: State,
  others: readonly string[] = [],
): readonly string[] {
  const names = deltas.flatMap(({ ref, before, now }) => {
    const uids = new Set([before, now].flatMap((entry) => entry?.object.metadata.uid ?? []))
    return [...[...uids].flatMap((uid) => blocks.by('owner', uid)), ...blocks.by('ownerName', nameKey(ref))]
  })
  for (const other of others) names.push(...blocks.by('ownerName', other))
  return [...new Set(names.map(({ name }) => BLOCK_KEYS.format('IPBlock', name)))]
}

/** Shows the pools of the networks of a definition to the tasks. */
function followNetworks({ before, now }: Delta<ServedDefinition>, { cache, known, networks }: State): void {
  const versions = [before, now].flatMap((entry) => (entry?.ok === true ? [entry.value.definition.name] : []))
  for (const name of new Set(versions)) {
    const network = networkNamed(name, cache)
    const domain = domainOfNetwork(name)
    networks.set(domain, name)
    const object = network && networkPoolOf(network.definition)
    const pool = object && ({ ok: true, value: new ParsedPool(object), object } as const)
    known.followPool({ ref: poolRef(domain), before: undefined, wasKnown: true, now: pool }, 0)
  }
}

function poolRef(name: string): ObjectRef {
  return { apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPPool', name }
}

/** The block, the owners of rows that it has gained or lost, and what waits for a free address. */
function keysOfBlock(delta: Delta<ParsedBlock>, { state, holdings }: Context, calls: Calls): readonly string[] {
  state.known.followBlock(delta, 0)
  const [before, now] = [rowsIn(delta.before), rowsIn(delta.now)]
  const [lost, gained] = [without(before, now), without(now, before)]
  const domain = [...before.values(), ...now.values()][0]?.parsed.object.spec.domain ?? ''
  if (!isDomainOfNetwork(domain)) return []
  const network = state.networks.get(domain)
  const owners = [...lost, ...gained].flatMap(({ entry: { row } }) => keyOfOwner(row.kind, row.owner))
  const holders = lost.flatMap((place) =>
    network === undefined
      ? []
      : holdings
          .ledger(network)
          .holders(hostOf(addressIn(place)))
          .map(({ holder }) => holder.key),
  )
  const waiting = network === undefined || lost.length === 0 ? [] : takeWaiting(network, state)
  const own = delta.now === undefined ? [] : [BLOCK_KEYS.format('IPBlock', delta.ref.name)]
  return [...new Set([...own, ...owners, ...holders, ...retried(waiting, calls)])]
}

function keyOfOwner(kind: string | undefined, owner: string): readonly string[] {
  if (kind === CLAIM_KIND) return [KEYS.format(IPAMClaim.info.kind as 'IPAMClaim', owner)]
  return kind === undefined ? [KEYS.format(Pod.info.kind as 'Pod', owner)] : []
}

function rowsIn(entry: Delta<ParsedBlock>['now']): ReadonlyMap<string, PlacedRow> {
  const parsed = entry?.ok === true ? entry.value : undefined
  const rows = parsed === undefined ? [] : parsed.entries.filter(isBound)
  return new Map(
    rows.map((each) => [`${each.key} ${each.row.uid} ${each.row.sequence}`, { parsed: parsed!, entry: each }]),
  )
}

function without(rows: ReadonlyMap<string, PlacedRow>, others: ReadonlyMap<string, PlacedRow>): readonly PlacedRow[] {
  return [...rows].flatMap(([id, place]) => (others.has(id) ? [] : [place]))
}

import * as Address from '../../../cidr/nouns/address.js'
import { IPAddress } from '../../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import type { IPHandle } from '../../../crd/ipam-kit/ip-handle.js'
import { type KindInfo, kindKey, type ObjectRef } from '../../../crd/meta/object.js'
import { refuse } from '../../../errors/refuse.js'
import {
  type CachedObjects,
  type Delta,
  definePlanner,
  type Effect,
  modelWatch,
  type Plan,
  type Planner,
  type PlanTime,
  type Watches,
} from '../../../plan/index.js'
import type { Place } from '../known-blocks.js'
import type { OperatorOutcome } from '../operator/outcome.js'
import { isBound, type ParsedBlock } from '../parsed-block.js'
import type { PoolReading } from '../pool-reading.js'
import { handOver, takeBack } from '../rows.js'
import { blockWatch, poolWatch } from '../watches.js'
import { handleIn, handleKey, handleWatch, planHandle } from './handles.js'
import { changedUids, Owners, ownerWatch } from './owners.js'
import { type OrphanedAddress, type Verdict, verdictOn } from './verdict.js'

export interface BlocksSweepOptions {
  /**
   * The kinds of owners that are looked for. A row of an owner of another kind is never touched. With IPAddressClaim among them, rows that a claim has beside
   * the address that it was given go as well, and what it had goes on to the claim that has adopted its IPAddress.
   */
  readonly owners: readonly KindInfo[]
  /** How long an owner has to be missing before what it has is taken back, in seconds, from 0 to 86,400. Default 900. */
  readonly graceSeconds?: number | undefined
  /** Whether the handles of owners that are gone are removed too. They are then watched as well. Default false. */
  readonly handles?: boolean | undefined
}

/**
 * Takes back what belongs to owners that are gone: whose writer has died before it could, or that were removed by force.
 *
 * An owner is told by its uid: another one of the same name is another owner. It has to be missing twice: when it is first seen, which begins anew with each
 * start, and after the grace period; and right before the row goes the store is asked for it. A row that was given anew since has another number, and is not
 * touched. O(rows of a block) a plan.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blocksSweep(options: BlocksSweepOptions): Planner<OperatorOutcome> {
  const { owners: kinds, graceSeconds = 900, handles = false } = options ?? {}
  if (!Array.isArray(kinds) || kinds.length === 0) refuse('owners', 'a list of kinds, one at least', kinds)
  if (!(graceSeconds >= 0 && graceSeconds <= 86_400)) refuse('graceSeconds', 'seconds, 0 to 86400', graceSeconds)
  const watches: Watches = {
    pools: poolWatch,
    blocks: blockWatch,
    ...(handles ? { handles: handleWatch } : {}),
    ...(kinds.some((kind) => IPAddressClaim.is(kind)) ? { addresses: modelWatch(IPAddress) } : {}),
    ...Object.fromEntries(kinds.map((kind) => [kindKey(kind), ownerWatch(kind)])),
  }
  const known = (objects: object) => knownIn(objects as SweepObjects, kinds)
  return definePlanner<OperatorOutcome, Watches, SweepState>({
    name: 'blocks-sweep',
    watches,
    state: () => ({ missing: new Map(), turns: new Map(), owners: new Map() }),
    wakes: {
      ...Object.fromEntries(
        kinds.map((kind) => [kindKey(kind), (delta, { cache }) => keysOf(changedUids(delta), known(cache))]),
      ),
      pools: () => [],
      blocks: ({ ref: { name }, now }, { state }) => {
        if (now === undefined) for (const map of [state.missing, state.turns]) map.delete(name)
        return [name]
      },
      handles: ({ ref: { name }, before, now }: Delta<IPHandle>, { state }) => {
        if (now === undefined && before?.ok === true) state.owners.delete(before.value.spec.uid)
        return [handleKey(name)]
      },
      addresses: (delta: Delta<IPAddress>, { cache }) => {
        const objects = known(cache)
        // a row of an earlier claim of the name stays for as long as the IPAddress has its address
        const blocks = objects.blocks.by('ownerName', `${delta.ref.namespace}/${delta.ref.name}`)
        return [...keysOf(uidsAt(delta, objects.owners), objects), ...blocks.map(({ name }) => name)]
      },
    },
    plan(key, { cache, state }, time) {
      const objects = known(cache)
      const handle = handleIn(key)
      if (handle === undefined) return planRows(key, { ...objects, state, graceSeconds }, time)
      const entry = objects.handles?.entry(handle)
      const { owners, hasRows } = objects
      return entry && planHandle(entry, { owners, hasRows, missing: state.owners, graceSeconds }, time)
    },
    isAggregate: () => true,
  })
}

/** What the sweep remembers beside the objects. */
interface SweepState {
  /** Since when owners are missing, by block and number of the row. */
  readonly missing: Map<string, Map<number, number>>
  /** The unit of the row that a plan was made for last, by block. */
  readonly turns: Map<string, number>
  /** Since when the owners of handles are missing, by uid. */
  readonly owners: Map<string, number>
}

interface SweepObjects {
  readonly pools: CachedObjects<PoolReading>
  readonly blocks: CachedObjects<ParsedBlock>
  readonly handles?: CachedObjects<IPHandle>
  readonly addresses?: CachedObjects<IPAddress>
}

/** The objects, and the owners among them. */
interface Known extends SweepObjects {
  readonly owners: Owners
  readonly hasRows: (uid: string) => boolean
}

interface PlanInput extends Known {
  readonly state: SweepState
  readonly graceSeconds: number
}

/** A row that something is to be done about. */
interface Case {
  readonly place: Place
  readonly verdict: Exclude<Verdict, { readonly kind: 'stays' }>
}

function knownIn(objects: SweepObjects, kinds: readonly KindInfo[]): Known {
  const ofKind = objects as unknown as { readonly [kind: string]: ReturnType<ConstructorParameters<typeof Owners>[1]> }
  return {
    ...objects,
    owners: new Owners(kinds, (kind) => ofKind[kindKey(kind)]),
    hasRows: (uid) => objects.blocks.countBy('owner', uid) > 0,
  }
}

/** The keys of the blocks and handles of some owners. */
function keysOf(uids: readonly string[], { blocks, handles }: SweepObjects): readonly string[] {
  const names = uids.flatMap((uid) => blocks.by('owner', uid).map(({ name }) => name))
  const handlesOf = (uid: string) => handles?.by('owner', uid) ?? []
  return [...names, ...uids.flatMap(handlesOf).map(({ metadata }) => handleKey(metadata.name))]
}

/** The uids of the claims that an IPAddress concerns: those that control it, and the one of its name. */
function uidsAt({ ref, before, now }: Delta<IPAddress>, owners: Owners): readonly string[] {
  const controllers = [before, now].flatMap((entry) => {
    const references = entry?.ok === true ? (entry.value.metadata.ownerReferences ?? []) : []
    return references.filter((owner) => IPAddressClaim.is(owner)).map(({ uid }) => uid)
  })
  const claim = owners.uidOf({ ...IPAddressClaim.info, namespace: ref.namespace, name: ref.name })
  return [...controllers, ...(claim === undefined ? [] : [claim])]
}

function planRows(name: string, input: PlanInput, time: PlanTime): Plan<OperatorOutcome> | undefined {
  const entry = input.blocks.entry(name)
  if (entry === undefined) return undefined
  if (!entry.ok) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  const { cases, waitMs } = findCases(entry.value, input, time)
  const again = waitMs === undefined ? {} : { requeueAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) }
  const next = nextOf(entry.value, cases, input.state)
  if (next !== undefined) {
    // one at a time: each has the version of the block as its condition
    const outcome: OperatorOutcome = { kind: 'going', message: `${cases.length} rows are not as their owners are` }
    const effects = effectsFor(next, input, time)
    return { outcome, effects, ...(cases.length > 1 ? { requeueAfterSeconds: 0 } : again) }
  }
  const outcome: OperatorOutcome =
    waitMs === undefined
      ? { kind: 'ready', message: 'all owners are there' }
      : { kind: 'waiting', message: 'an owner is missing' }
  return { outcome, effects: [], ...again }
}

/** The rows that something is to be done about now, and how long it is until the next one. */
function findCases(
  parsed: ParsedBlock,
  { owners, addresses, state, graceSeconds }: PlanInput,
  { nowMs }: PlanTime,
): { readonly cases: readonly Case[]; readonly waitMs: number | undefined } {
  const before = state.missing.get(parsed.name)
  const missing = new Map<number, number>()
  const cases: Case[] = []
  let waitMs: number | undefined
  for (const entry of parsed.entries) {
    const place = { parsed, entry }
    const owner = isBound(entry) ? owners.refOf(entry.row) : undefined
    if (owner === undefined) continue
    const verdict = verdictOn(place, owner, owners, addressOf(owner, addresses))
    if (verdict.kind === 'stays') continue
    const { sequence } = entry.row
    const sinceMs = before?.get(sequence) ?? nowMs
    const leftMs = verdict.kind === 'missing' ? sinceMs + graceSeconds * 1000 - nowMs : 0
    if (verdict.kind === 'missing') missing.set(sequence, sinceMs)
    if (verdict.kind !== 'missing' || (leftMs <= 0 && before?.has(sequence) === true)) cases.push({ place, verdict })
    else waitMs = Math.min(waitMs ?? Number.POSITIVE_INFINITY, Math.max(leftMs, 1))
  }
  if (missing.size === 0) state.missing.delete(parsed.name)
  else state.missing.set(parsed.name, missing)
  return { cases, waitMs }
}

/** They take turns, so that a row which the store refuses keeps no other row from going. */
function nextOf({ name }: ParsedBlock, cases: readonly Case[], { turns }: SweepState): Case | undefined {
  const turn = turns.get(name) ?? -1
  const next = cases.find(({ place }) => place.entry.unit > turn) ?? cases[0]
  if (next === undefined) turns.delete(name)
  else turns.set(name, next.place.entry.unit)
  return next
}

function effectsFor({ place, verdict }: Case, { pools }: PlanInput, { nowMs }: PlanTime): readonly Effect[] {
  const { parsed, entry } = place
  const { owner } = entry.row
  if (verdict.kind === 'heir')
    return [verdict.check, handOver(place, verdict.uid, { nowMs, why: `${owner} was made anew` })]
  const rules = pools.get(entry.row.pool ?? parsed.object.spec.pool)?.object.spec
  const isStray = verdict.kind === 'stray'
  const why = isStray ? `${owner} has another address` : `its owner ${owner} is gone`
  return [...(isStray ? [verdict.check] : verdict.checks), takeBack(place, rules, { nowMs, why })]
}

/** The IPAddress of a name; `unreadable`: it exists, and its address cannot be read. */
function addressOf(owner: ObjectRef, addresses: CachedObjects<IPAddress> | undefined): OrphanedAddress {
  const entry = addresses?.entry(owner)
  if (entry === undefined) return undefined
  return entry.ok && Address.safeParse(entry.value.spec.address, { zone: 'drop' }).ok ? entry.value : 'unreadable'
}

import * as Address from '../../../cidr/nouns/address.js'
import { asObject } from '../../../crd/meta/json.js'
import {
  type IPPool,
  OverlappingRangeIPReservation,
  type PoolRow,
  poolNamePrefix,
  reservationName,
  reservationReadings,
  rowKey,
} from '../../../crd/whereabouts/index.js'
import {
  type Absences,
  type CachedObjects,
  deleteObject,
  type Effect,
  eventAbout,
  guard,
  type Plan,
  type PlanTime,
  patchObject,
} from '../../../plan/index.js'
import { plannerKeys } from '../../../plan/planner-keys.js'
import type { TrimmedObject } from '../../../plan/selection.js'
import { CLAIM_UID_ANNOTATION } from '../tasks/holder.js'
import { type Decision, decisionOn, type OtherRow, type PodRules } from './decision.js'
import { type ClaimFacts, type PodFacts, type SweptPool, textOf } from './watches.js'

/** The outcome of a plan of the sweep, for a pool or a reservation. */
export type WhereaboutsSweepOutcome =
  /** Each address has its Pod or its claim, as far as can be known. */
  | { readonly kind: 'ready'; readonly message: string }
  /** An address may be free: the grace period is not over. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** Addresses are freed, or reservations are created. */
  | { readonly kind: 'going'; readonly message: string }
  /** The object cannot be read, so it is left as it is. */
  | { readonly kind: 'broken'; readonly message: string }

/** The objects that the sweep reads, and its state. */
export interface Sweep {
  readonly pools: CachedObjects<SweptPool>
  readonly reservations: CachedObjects<OverlappingRangeIPReservation>
  readonly pods: CachedObjects<PodFacts, TrimmedObject>
  readonly claims: CachedObjects<ClaimFacts> | undefined
  readonly rules: PodRules
  /** The network of a pool whose rows need reservations. */
  readonly reservationsOf: ((pool: IPPool) => { readonly networkName: string } | undefined) | undefined
  /** Rows and reservations that their Pod does not report. */
  readonly absences: Absences
  /** How often the store has refused a plan for a key, since it had nothing to free. */
  readonly refusals: Map<string, number>
}

export const KEYS = plannerKeys('pool', 'reservation')

/** How many rows one patch frees: each needs a read of its Pod. */
const MAX_ROWS = 100

type SweepPlan = Plan<WhereaboutsSweepOutcome>

interface Judged {
  readonly row: PoolRow
  readonly decision: Decision
}

/** Frees the rows of a pool that no Pod and no claim has, and creates missing reservations. */
export function planPool(key: string, name: string, sweep: Sweep, { nowMs }: PlanTime): SweepPlan | undefined {
  const entry = sweep.pools.entry(name)
  const { pods, claims, rules } = sweep
  const swept = entry?.ok === true ? entry.value : undefined
  const judged = (swept?.read.rows ?? []).map((row): Judged => {
    const holding = { ...row, others: () => rowsInOthers(swept?.object, row, sweep) }
    return { row, decision: decisionOn(holding, pods, claims, rules) }
  })
  const surplus = judged.filter(({ decision }) => decision.kind === 'surplus').map(identityOf)
  const { due, requeueAfterSeconds } = sweep.absences.look(key, surplus, nowMs)
  const free = judged.filter((each) => each.decision.kind === 'free' || due.has(identityOf(each)))
  if (free.length === 0) sweep.refusals.delete(key)
  if (entry === undefined) return undefined
  if (!entry.ok) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  const { object, read } = entry.value
  if (free.length > 0) {
    const now = batchOf(free, sweep.refusals.get(key))
    return {
      outcome: { kind: 'going', message: `${free.length} rows are freed` },
      effects: [...now.flatMap(({ decision }) => checksOf(decision)), freeRows(object, now), freedEvent(object, now)],
      requeueAfterSeconds: now.length < free.length ? 0 : requeueAfterSeconds,
    }
  }
  const missing = missingReservations(object, judged, sweep)
  if (missing.length > 0) {
    return {
      outcome: { kind: 'going', message: `${missing.length} reservations are created` },
      effects: [guard(object, 'the rows of the reservations exist'), ...missing],
      requeueAfterSeconds,
    }
  }
  const odd = read.oddities.length === 0 ? '' : `; ${read.oddities.length} oddities: ${read.oddities[0]?.problem}`
  if (read.range === undefined) return { outcome: { kind: 'broken', message: odd.slice(2) }, effects: [] }
  const outcome: WhereaboutsSweepOutcome =
    surplus.length === 0
      ? { kind: 'ready', message: `no row to free${odd}` }
      : { kind: 'waiting', message: `${surplus.length} rows are not reported by their Pods${odd}` }
  return { outcome, effects: [], requeueAfterSeconds }
}

/**
 * The rows of the address of a row in other pools, with the claims of their reservations. One that
 * can be that of both rows says nothing. O(pools with the address).
 */
function rowsInOthers(pool: IPPool | undefined, row: PoolRow, sweep: Sweep): readonly OtherRow[] {
  const { address } = row
  const own = pool && reservationOfRow(pool, address)
  return sweep.pools.by('address', textOf(address)).flatMap(({ object, read: { range } }) => {
    const key = object === pool || range === undefined ? undefined : rowKey(range, address)
    const stored = key?.ok === true ? asObject(object.spec.allocations[key.value]) : undefined
    if (stored === undefined) return []
    const { podref, ifname } = stored
    const other = { podref: String(podref), ifname: typeof ifname === 'string' ? ifname : undefined, stored }
    const name = reservationOfRow(object, address)
    const isOfBoth = name === own && (row.podref === '' || other.podref === '' || row.podref === other.podref)
    return isOfBoth ? other : withClaim(other, reservationFor(name, object, other, sweep))
  })
}

/** The name of the reservation of a row, if the name of its pool begins with its network. */
function reservationOfRow({ metadata, spec }: IPPool, address: Address.Address): string | undefined {
  const networkName = poolNamePrefix(metadata.name, spec.range)
  const name = networkName === undefined ? undefined : reservationName({ address, networkName })
  return name?.ok === true ? name.value : undefined
}

/** The reservation of a name, if it is that of the row. */
function reservationFor(
  name: string | undefined,
  { metadata: { namespace } }: IPPool,
  { podref }: OtherRow,
  { reservations }: Sweep,
): OverlappingRangeIPReservation | undefined {
  const entry = name === undefined ? undefined : reservations.entry({ namespace, name })
  return entry?.ok === true && (podref === '' || entry.value.spec.podref === podref) ? entry.value : undefined
}

/** A row with the claim of its reservation: an API server may have dropped that of the row. */
function withClaim(row: OtherRow, reservation: OverlappingRangeIPReservation | undefined): OtherRow {
  const uid = reservation?.metadata.annotations?.[CLAIM_UID_ANNOTATION]
  return uid === undefined ? row : { ...row, stored: { ...row.stored, [CLAIM_UID_ANNOTATION]: uid } }
}

/** A row that was given again is another one, and its grace period begins anew. */
function identityOf({ row }: Judged): string {
  return `${row.key} ${row.id} ${row.podref} ${row.ifname ?? ''}`
}

/** All at once; after a refusal one by one in rotation, so that one does not block the others. */
function batchOf(free: readonly Judged[], refusals: number | undefined): readonly Judged[] {
  if (refusals === undefined) return free.slice(0, MAX_ROWS)
  const start = refusals % free.length
  return free.slice(start, start + 1)
}

function checksOf(decision: Decision): readonly Effect[] {
  return decision.kind === 'stays' ? [] : decision.checks
}

function freeRows(pool: IPPool, freed: readonly Judged[]): Effect {
  const allocations = Object.fromEntries(freed.map(({ row }) => [row.key, null]))
  const reasons = new Set(freed.map(({ decision }) => (decision.kind === 'stays' ? '' : decision.why)))
  return patchObject(pool, { spec: { allocations } }, [...reasons].slice(0, 3).join('; '))
}

/** The reason is that of upstream. */
function freedEvent(pool: IPPool, freed: readonly Judged[]): Effect {
  const rows = freed.map(({ row }) => `${Address.format(row.address)} of ${row.podref}`)
  const more = rows.length > 3 ? ` and ${rows.length - 3} more` : ''
  const message = `freed ${rows.slice(0, 3).join(', ')}${more}`
  return eventAbout(pool, { type: 'Normal', reason: 'IPAddressGarbageCollected', message })
}

/** Creations of the reservations that live rows lack. A reservation of another Pod stays. */
function missingReservations(pool: IPPool, judged: readonly Judged[], sweep: Sweep): readonly Effect[] {
  const network = sweep.reservationsOf?.(pool)
  if (network === undefined) return []
  const { namespace } = pool.metadata
  const { apiVersion, kind } = OverlappingRangeIPReservation.info
  const effects = new Map<string, Effect>()
  for (const { row, decision } of judged) {
    if (decision.kind !== 'stays' || row.podref === '') continue
    const name = reservationName({ address: row.address, networkName: network.networkName })
    if (!name.ok || sweep.reservations.entry({ namespace, name: name.value }) !== undefined) continue
    const { podref, ifname } = row
    const object = {
      apiVersion,
      kind,
      metadata: { name: name.value, namespace },
      spec: { podref, ...(ifname !== undefined && { ifname }) },
    }
    effects.set(name.value, { kind: 'create', object, why: `the row of ${podref} has no reservation` })
  }
  return [...effects.values()].slice(0, MAX_ROWS)
}

/**
 * Deletes a reservation that no row, no Pod and no claim has. The reservation of another Pod than
 * that of the row is judged by its own Pod.
 */
export function planReservation(key: string, name: string, sweep: Sweep, { nowMs }: PlanTime): SweepPlan | undefined {
  const entry = sweep.reservations.entry(name)
  const decision = entry?.ok === true ? reservationDecision(entry.value, sweep) : undefined
  const { due, requeueAfterSeconds } = sweep.absences.look(
    key,
    decision?.kind === 'surplus' && entry?.ok === true ? [entry.value.metadata.uid ?? ''] : [],
    nowMs,
  )
  if (entry === undefined) return undefined
  if (!entry.ok) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  if (decision === undefined) {
    return { outcome: { kind: 'broken', message: 'the name is not that of an address' }, effects: [] }
  }
  if (decision.kind === 'stays') return { outcome: { kind: 'ready', message: 'it is in use' }, effects: [] }
  if (decision.kind === 'surplus' && due.size === 0) {
    return { outcome: { kind: 'waiting', message: decision.why }, effects: [], requeueAfterSeconds }
  }
  return {
    outcome: { kind: 'going', message: decision.why },
    effects: [...decision.checks, deleteObject(entry.object, decision.why)],
  }
}

/** What to do with a reservation; `undefined`: its name is not that of an address. */
function reservationDecision(object: OverlappingRangeIPReservation, sweep: Sweep): Decision | undefined {
  const { podref, ifname } = object.spec
  const addresses = reservationReadings(object.metadata.name).map(({ address }) => address)
  const rows = addresses.map((address) => rowsOf(object, address, sweep))
  if (rows.some(({ own }) => own.length > 0)) return { kind: 'stays', isCertain: true }
  // each reading has to be without a holder
  const decisions = addresses.map((address, index) =>
    decisionOn(
      { podref, ifname, address, others: () => rows[index]?.elsewhere ?? [] },
      sweep.pods,
      sweep.claims,
      sweep.rules,
    ),
  )
  return decisions.find(({ kind }) => kind === 'stays') ?? decisions[0]
}

/**
 * The rows that have the address: those of the Pod, and of claims without a Pod, in the network of
 * the reservation; those of all Pods in others. The name of a pool does not say for certain which
 * network it is of, so the row counts as one of another network only if it has a reservation by the
 * name of that one.
 */
function rowsOf(
  { metadata: { namespace, name }, spec }: OverlappingRangeIPReservation,
  address: Address.Address,
  sweep: Sweep,
): { readonly own: readonly PoolRow[]; readonly elsewhere: readonly OtherRow[] } {
  const text = textOf(address)
  const [own, elsewhere]: [PoolRow[], OtherRow[]] = [[], []]
  for (const { object, read } of sweep.pools.by('address', text)) {
    if (object.metadata.namespace !== namespace) continue
    for (const row of read.rows) {
      if (textOf(row.address) !== text) continue
      const other = reservationOfRow(object, row.address)
      const reservation = other === name ? undefined : reservationFor(other, object, row, sweep)
      if (reservation !== undefined) elsewhere.push(withClaim(row, reservation))
      else if (row.podref === spec.podref || row.podref === '') own.push(row)
    }
  }
  return { own, elsewhere }
}

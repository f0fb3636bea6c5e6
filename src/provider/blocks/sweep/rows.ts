import * as Address from '../../../cidr/nouns/address.js'
import type { IPAddress } from '../../../crd/cluster-api/ip-address.js'
import type { IPHandle } from '../../../crd/ipam-kit/ip-handle.js'
import type { Absences, CachedObjects, Effect, Plan, PlanTime } from '../../../plan/index.js'
import { isBound, type ParsedBlock } from '../block/parsed-block.js'
import { handOver, takeBack } from '../block/rows.js'
import type { OperatorOutcome } from '../operator/outcome.js'
import type { ParsedPool } from '../pool/parsed-pool.js'
import type { PlacedRow } from '../tasks/known-blocks.js'
import { type Decision, decisionOn } from './decision.js'
import type { Owners } from './owners.js'

/** What the plan for a block reads, and its state. */
export interface RowSweep {
  /** Left out: no pool of the rows is stored, and a row that is removed leaves nothing. */
  readonly pools?: CachedObjects<ParsedPool> | undefined
  readonly blocks: CachedObjects<ParsedBlock>
  /** Missing owners: of a block by the number of the row, of a handle by uid. */
  readonly absences: Absences
  /** How often the store has refused a plan for a block, since it had the last row to repair. */
  readonly refusals: Map<string, number>
  decide(place: PlacedRow): Decision
}

/** The objects that the sweep reads, and its state. */
export interface Sweep extends Omit<RowSweep, 'decide'> {
  readonly handles: CachedObjects<IPHandle> | undefined
  readonly addresses: CachedObjects<IPAddress> | undefined
  readonly owners: Owners
}

/** A row to remove or to change. */
interface Case {
  readonly place: PlacedRow
  readonly decision: Exclude<Decision, { readonly kind: 'stays' }>
}

/**
 * Removes the rows of a block whose owners do not exist, one in each plan: each patch requires the
 * version of the block.
 */
export function planRows(name: string, sweep: RowSweep, { nowMs }: PlanTime): Plan<OperatorOutcome> | undefined {
  const entry = sweep.blocks.entry(name)
  if (entry?.ok === false) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  const cases = entry === undefined ? [] : casesIn(entry.value, sweep)
  const missing = cases.filter(({ decision }) => decision.kind === 'missing').map(sequenceOf)
  const { due, requeueAfterSeconds } = sweep.absences.look(name, missing, nowMs)
  const ready = cases.filter((each) => each.decision.kind !== 'missing' || due.has(sequenceOf(each)))
  const next = nextOf(name, ready, sweep)
  if (entry === undefined) return undefined
  if (next !== undefined) {
    return {
      outcome: { kind: 'going', message: `${ready.length} rows need repair` },
      effects: effectsFor(next, sweep, nowMs),
      requeueAfterSeconds: ready.length > 1 ? 0 : requeueAfterSeconds,
    }
  }
  const outcome: OperatorOutcome =
    missing.length === 0
      ? { kind: 'ready', message: 'all owners exist' }
      : { kind: 'waiting', message: 'an owner is missing' }
  return { outcome, effects: [], requeueAfterSeconds }
}

function casesIn(parsed: ParsedBlock, { decide }: RowSweep): readonly Case[] {
  return parsed.entries.flatMap((entry) => {
    const place = { parsed, entry }
    const decision: Decision = isBound(entry) ? decide(place) : { kind: 'stays' }
    return decision.kind === 'stays' ? [] : [{ place, decision }]
  })
}

/** Decides on a row by its owner. */
export function decideByOwner(place: PlacedRow, { owners, addresses }: Sweep): Decision {
  const owner = owners.refOf(place.entry.row)
  if (owner === undefined) return { kind: 'stays' }
  const address = addresses?.entry(owner)
  const isReadable = address?.ok === true && Address.safeParse(address.value.spec.address, { zone: 'drop' }).ok
  return decisionOn(place, owner, owners, isReadable ? address.value : address && 'unreadable')
}

function sequenceOf({ place }: Case): number {
  return place.entry.row.sequence
}

/** Rows are tried in rotation, so that a row that the store refuses does not block the others. */
function nextOf(name: string, cases: readonly Case[], { refusals }: RowSweep): Case | undefined {
  if (cases.length === 0) refusals.delete(name)
  return cases[(refusals.get(name) ?? 0) % cases.length]
}

function effectsFor({ place, decision }: Case, { pools }: RowSweep, nowMs: number): readonly Effect[] {
  const { parsed, entry } = place
  const { owner } = entry.row
  if (decision.kind === 'successor')
    return [decision.check, handOver(place, decision.uid, { nowMs, why: `${owner} was created again` })]
  const rules = pools?.get(entry.row.pool ?? parsed.object.spec.pool)?.object.spec
  const why = decision.kind === 'surplus' ? decision.why : `its owner ${owner} does not exist`
  return [...decision.checks, takeBack(place, rules, { nowMs, why })]
}

import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { IPBlock, IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'
import type { IPPoolSpec } from '../../../crd/ipam-kit/ip-pool.js'
import { API_VERSION, MAX_SECONDS, ROWS_FINALIZER } from '../../../crd/ipam-kit/names.js'
import { defined } from '../../../crd/meta/json.js'
import type { CreateEffect, PatchEffect } from '../../../plan/effect.js'
import { patchObject } from '../../../plan/index.js'
import type { PlacedRow } from '../tasks/known-blocks.js'
import { type BlockEntry, isBound, type ParsedBlock } from './parsed-block.js'

/** A row before it gets its number. */
export type NewRow = Omit<IPBlockRow, 'sequence' | 'state' | 'released' | 'until'>

/** The number of the first row of a block that is created now. */
export function firstSequence(nowMs: number): number {
  // greater than every number of an earlier block of this name: no block gains a million rows a
  // second
  return Math.floor(nowMs) * 1000
}

/**
 * The number of the next row of a block. It follows the clock, because a create may arrive late and
 * begin at an old time. Without the clock, rows that are added to that block would get the numbers
 * of rows in a block of the same name that was created and removed meanwhile.
 */
export function nextSequence({ spec }: IPBlock, nowMs: number): number {
  return Math.max(spec.sequence + 1, firstSequence(nowMs))
}

interface WriteOptions {
  readonly nowMs: number
  readonly why: string
}

/** Adds a row to an existing block. */
export function giveUnits(parsed: ParsedBlock, unit: number, row: NewRow, { nowMs, why }: WriteOptions): PatchEffect {
  const { object } = parsed
  const count = row.count ?? 1
  const sequence = nextSequence(object, nowMs)
  const rows: { [unit: string]: unknown } = {}
  // the rows that are kept of earlier owners of these units
  for (const entry of entriesAt(parsed, unit, count)) rows[entry.key] = null
  const before = object.spec.rows[unit]
  const now = { ...defined(row), sequence }
  rows[unit] = before === undefined ? now : { ...nulls(before), ...now }
  return patchBlock(object, { sequence, last: unit + count - 1, rows }, why)
}

/** A new block with its first row. */
export function makeBlock(
  {
    name,
    prefix,
    unit,
    row,
  }: { readonly name: string; readonly prefix: Prefix.Prefix; readonly unit: number; readonly row: NewRow },
  spec: Pick<IPBlock['spec'], 'domain' | 'allocationPrefixLength' | 'pool' | 'node'>,
  { nowMs, why }: WriteOptions,
): CreateEffect {
  const sequence = firstSequence(nowMs)
  const { pool: _, ...rest } = row
  const object: IPBlock = {
    apiVersion: API_VERSION,
    kind: 'IPBlock',
    metadata: { name, finalizers: [ROWS_FINALIZER] },
    spec: {
      ...(defined(spec) as typeof spec),
      cidr: Prefix.format(prefix),
      sequence,
      last: unit + (row.count ?? 1) - 1,
      rows: { [unit]: { ...(defined(rest) as NewRow), sequence } },
    },
  }
  return { kind: 'create', object, why }
}

/**
 * Releases the units of a row. They are free at once, unless the pool waits before it gives them
 * again, keeps them for their owner, or gives first what was free the longest: then the row stays
 * as a released one.
 *
 * @param rules those of the pool of the row; `undefined`: the pool does not exist
 */
export function takeBack(
  { parsed, entry }: PlacedRow,
  rules: Pick<IPPoolSpec, 'sticky' | 'reuseAfterSeconds' | 'order'> | undefined,
  { nowMs, why }: WriteOptions,
): PatchEffect {
  const isRemembered =
    rules !== undefined &&
    (rules.sticky !== undefined || rules.reuseAfterSeconds > 0 || rules.order === 'leastRecentlyReleased')
  const patch = (row: unknown) => patchBlock(parsed.object, { rows: { [entry.key]: row } }, why)
  if (!isRemembered) return patch(null)
  const isKept = rules.sticky !== undefined && (rules.sticky.by === 'owner' || entry.row.mac !== undefined)
  // a store without validation may have a pool above the limit: a row with such a time would close
  // the block
  const seconds = Math.min(Math.max(rules.reuseAfterSeconds, isKept ? (rules.sticky?.forSeconds ?? 0) : 0), MAX_SECONDS)
  const at = (ms: number) => new Date(ms).toISOString()
  const released = at(nowMs)
  return patch({ state: isKept ? 'held' : 'cooldown', released, until: at(nowMs + seconds * 1000), container: null })
}

/**
 * Removes a row that was just added. Rows that were kept there of earlier owners are restored,
 * except where their units have been given again since.
 *
 * @param replaced the kept rows that the new row replaced
 */
export function undoGiving({ parsed, entry }: PlacedRow, replaced: readonly BlockEntry[], why: string): PatchEffect {
  let { sequence } = parsed.object.spec
  const rows: { [key: string]: unknown } = { [entry.key]: null }
  for (const { key, unit, count, row } of replaced) {
    // other owners may have got some of these units meanwhile: two rows over one unit would close
    // the block
    if (entriesAt(parsed, unit, count).some((other) => other !== entry)) continue
    sequence++
    const kept = { ...row, sequence }
    rows[key] = key === entry.key ? { ...nulls(entry.row), ...kept } : kept
  }
  return patchBlock(parsed.object, { sequence, rows }, why)
}

/** Writes another uid to a row: its owner was created again, and keeps its units. */
export function handOver(place: PlacedRow, uid: string, options: WriteOptions): PatchEffect {
  return changeRow(place, { uid }, options)
}

/**
 * Changes what a row says of its owner. The row gets a new number, so that a late release of the
 * earlier row has no effect.
 */
export function changeRow(
  { parsed, entry }: PlacedRow,
  fields: Partial<Pick<IPBlockRow, 'uid' | 'container' | 'mac'>>,
  { nowMs, why }: WriteOptions,
): PatchEffect {
  const sequence = nextSequence(parsed.object, nowMs)
  return patchBlock(parsed.object, { sequence, rows: { [entry.key]: { ...fields, sequence } } }, why)
}

/** Gives a row to another owner, without a moment in which the units are free. */
export function passOn(
  { parsed, entry }: PlacedRow,
  to: Pick<IPBlockRow, 'uid' | 'owner' | 'kind' | 'interface'>,
  { nowMs, why }: WriteOptions,
): PatchEffect {
  const sequence = nextSequence(parsed.object, nowMs)
  const row = { kind: null, interface: null, container: null, mac: null, ...defined(to), sequence }
  return patchBlock(parsed.object, { sequence, rows: { [entry.key]: row } }, why)
}

/** The entries that have some of these units. */
export function entriesAt(parsed: ParsedBlock, unit: number, count: number): readonly BlockEntry[] {
  return parsed.entries.filter((entry) => entry.unit < unit + count && entry.unit + entry.count > unit)
}

/**
 * Changes only the version of a block: writes that were sent for the version before can no longer
 * succeed.
 */
export function fence(parsed: ParsedBlock): PatchEffect {
  const sequence = parsed.object.spec.sequence + 1
  return patchBlock(parsed.object, { sequence }, 'writes sent for earlier versions cannot succeed')
}

function patchBlock(object: IPBlock, spec: object, why: string): PatchEffect {
  return patchObject(object, { spec }, why)
}

/** Whether a row is that of an owner and interface. */
export function isRowOf(entry: BlockEntry, uid: string, interfaceName: string | undefined): boolean {
  return isBound(entry) && entry.row.uid === uid && entry.row.interface === interfaceName
}

function nulls(row: IPBlockRow): { readonly [field: string]: null } {
  return Object.fromEntries(Object.keys(row).map((field) => [field, null]))
}

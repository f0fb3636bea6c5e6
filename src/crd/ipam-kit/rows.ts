import * as Prefix from '../../cidr/nouns/prefix.js'
import type { Range } from '../../cidr/nouns/range.js'
import type { IPBlock, IPBlockRow } from './ip-block.js'
import { UNIT_PATTERN } from './names.js'

/** A row with its place in the block. */
export interface PlacedRow {
  readonly key: string
  readonly row: IPBlockRow
  /** The units of the row: from `first` up to, and without, `end`. */
  readonly first: number
  readonly end: number
}

const UNIT = /* @__PURE__ */ new RegExp(UNIT_PATTERN, 'u')

/**
 * The rows of a block whose key is a number of a unit, in order. The unit may lie outside of the
 * block. O(n log n).
 */
export function placedRows({ spec }: Pick<IPBlock, 'spec'>): readonly PlacedRow[] {
  const placed = Object.entries(spec.rows).flatMap(([key, row]) =>
    UNIT.test(key) ? [{ key, row, first: Number(key), end: Number(key) + (row.count ?? 1) }] : [],
  )
  return placed.sort((a, b) => a.first - b.first)
}

/** The name of the pool of a row. */
export function poolOf({ spec }: IPBlock, row: IPBlockRow): string {
  return row.pool ?? spec.pool
}

/**
 * The rows of a block that belong to a pool, each with its addresses. Empty if the block is
 * invalid.
 */
export function rowsOfPool(
  block: IPBlock,
  pool: string,
): readonly { readonly row: IPBlockRow; readonly range: Range }[] {
  const { cidr, allocationPrefixLength } = block.spec
  const prefix = Prefix.safeParse(cidr)
  if (!prefix.ok || !Number.isInteger(allocationPrefixLength)) return []
  const units = unitsOf(prefix.value, allocationPrefixLength)
  const unit = (index: number) => Prefix.subnetAt(prefix.value, allocationPrefixLength, index)
  return placedRows(block).flatMap(({ row, first, end }) =>
    poolOf(block, row) === pool && end <= units
      ? [{ row, range: { first: Prefix.first(unit(first)), last: Prefix.last(unit(end - 1)) } }]
      : [],
  )
}

/** How many units a prefix has. 0 if it is smaller than one. */
export function unitsOf(prefix: Prefix.Prefix, allocationPrefixLength: number): number {
  return allocationPrefixLength < prefix.length ? 0 : 2 ** (allocationPrefixLength - prefix.length)
}

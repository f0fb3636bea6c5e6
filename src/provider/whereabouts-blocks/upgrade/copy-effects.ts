import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { IPBlock, IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'
import { API_VERSION, ROWS_FINALIZER } from '../../../crd/ipam-kit/names.js'
import { type Effect, patchObject } from '../../../plan/index.js'
import { isBound, type ParsedBlock } from '../../blocks/block/parsed-block.js'
import { entriesAt, firstSequence, nextSequence } from '../../blocks/block/rows.js'
import type { RowPlace } from './compare.js'
import type { UpgradeRow } from './report.js'

/** As many blocks are written by one plan. */
const MOST_BLOCKS = 32

/**
 * The writes of rows that are missing or name an earlier container, one for each block. Each
 * requires the version of its block, and none changes the row of another holder.
 */
export function copyEffects(places: readonly RowPlace[], nowMs: number): readonly Effect[] {
  const byBlock = new Map<string, [RowPlace, ...RowPlace[]]>()
  for (const place of places) {
    const others = byBlock.get(place.name)
    if (others !== undefined) others.push(place)
    else byBlock.set(place.name, [place])
  }
  return [...byBlock.values()].slice(0, MOST_BLOCKS).map((ofBlock) => {
    const [{ parsed }] = ofBlock
    return parsed === undefined ? newBlock(ofBlock, nowMs) : rowsOf(parsed, ofBlock, nowMs)
  })
}

const WHY = 'rows of a pool of whereabouts'

function newBlock(places: readonly [RowPlace, ...RowPlace[]], nowMs: number): Effect {
  const [{ name, domain, prefix, grid, row: first }] = places
  const from = firstSequence(nowMs)
  const rows = places.map(({ unit, row }, index) => [unit, rowOf(row, first.pool, from + index)] as const)
  const object: IPBlock = {
    apiVersion: API_VERSION,
    kind: 'IPBlock',
    metadata: { name, finalizers: [ROWS_FINALIZER] },
    spec: {
      domain,
      allocationPrefixLength: grid.allocationPrefixLength,
      pool: first.pool,
      cidr: Prefix.format(prefix),
      sequence: from + places.length - 1,
      last: Math.max(...places.map(({ unit }) => unit)),
      rows: Object.fromEntries(rows),
    },
  }
  return { kind: 'create', object, why: WHY }
}

function rowsOf(parsed: ParsedBlock, places: readonly RowPlace[], nowMs: number): Effect {
  const { object } = parsed
  const from = nextSequence(object, nowMs)
  const rows: { [key: string]: unknown } = {}
  places.forEach(({ unit, row, entry }, index) => {
    const sequence = from + index
    if (entry !== undefined && isBound(entry)) {
      rows[entry.key] = { container: row.container, sequence }
      return
    }
    // released rows that are kept there
    for (const released of entriesAt(parsed, unit, 1)) rows[released.key] = null
    const before = object.spec.rows[unit]
    rows[unit] = { ...(before && nulls(before)), ...rowOf(row, object.spec.pool, sequence) }
  })
  return patchObject(object, { spec: { sequence: from + places.length - 1, rows } }, WHY)
}

function rowOf(
  { owner, uid, interface: name, container, pool }: UpgradeRow,
  ofBlock: string,
  sequence: number,
): IPBlockRow {
  return {
    owner,
    uid,
    ...(name !== undefined && { interface: name }),
    container,
    ...(pool !== ofBlock && { pool }),
    sequence,
  }
}

function nulls(row: IPBlockRow): { readonly [field: string]: null } {
  return Object.fromEntries(Object.keys(row).map((field) => [field, null]))
}

import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as Range from '../../../cidr/nouns/range.js'
import { fromRanges, prefixes } from '../../../cidr/nouns/range-set.js'
import type { Holding } from '../../../plan/holdings.js'
import type { Parsed } from '../../../plan/index.js'
import { addressOf } from '../block/allocation.js'
import { addressOfUnit } from '../block/grid.js'
import type { BlockEntry, ParsedBlock } from '../block/parsed-block.js'

/** What the rows of a block hold, each for its owner. Nothing of a block that cannot be read. */
export function heldByBlock(entry: Parsed<ParsedBlock>): readonly Holding[] {
  return entry.ok ? entry.value.entries.flatMap((row) => heldByRow(row, entry.value)) : []
}

function heldByRow(entry: BlockEntry, parsed: ParsedBlock): readonly Holding[] {
  const { key, count, unit, row, untilMs } = entry
  const { domain, pool, allocationPrefixLength } = parsed.object.spec
  const first = addressOf(parsed, entry)
  const last = Prefix.of(addressOfUnit(parsed.prefix, allocationPrefixLength, unit + count - 1), allocationPrefixLength)
  const held = fromRanges([Range.of(first, Prefix.last(last))])
  const reason = row.state === undefined ? 'held' : row.state === 'cooldown' ? 'cooldown' : 'former'
  return prefixes(held).map((prefix) => ({
    pool: row.pool ?? pool,
    prefix,
    reason,
    key: `${row.kind} ${row.owner}`,
    owner: row.owner,
    ownerUid: row.uid,
    domain,
    field: `spec.rows[${key}]`,
    ...(row.state === 'cooldown' && { untilMs }),
  }))
}

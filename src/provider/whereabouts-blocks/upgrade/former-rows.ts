import * as Address from '../../../cidr/nouns/address.js'
import type { PoolRow } from '../../../crd/whereabouts/index.js'
import { addressOf } from '../../blocks/block/allocation.js'
import { type BlockEntry, isBound, isPlaced, type ParsedBlock } from '../../blocks/block/parsed-block.js'
import { takeBack } from '../../blocks/block/rows.js'
import { PoolView } from '../../blocks/pool/pool-view.js'
import type { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import type { UpgradePool } from './report.js'

/**
 * Releases rows in blocks that an earlier container has left, whose DEL was lost: the pool has a
 * row of the same interface at another address, and none at this one. A later ADD on blocks may
 * have written its own container to the row. One row of each block. O(rows of the domain).
 *
 * @param rows those of the pool, at the version at which the blocks were read
 */
export function releaseFormerRows(
  rows: readonly PoolRow[],
  { domain, targets }: Pick<UpgradePool, 'domain' | 'targets'>,
  known: KnownBlocks,
  nowMs: number,
): readonly ReturnType<typeof takeBack>[] {
  const holders = new Map(rows.map((row) => [Address.key(row.address), row]))
  const interfaces = new Set(rows.map(({ podref, ifname = '' }) => `${podref} ${ifname}`))
  const isFormer = (parsed: ParsedBlock, entry: BlockEntry): boolean => {
    const { owner, interface: name = '', pool = parsed.object.spec.pool } = entry.row
    if (!targets.includes(pool) || !interfaces.has(`${owner} ${name}`)) return false
    const holder = holders.get(Address.key(addressOf(parsed, entry)))
    return holder?.podref !== owner || (holder.ifname || name) !== name
  }
  return [...known.blocks()].flatMap((parsed) => {
    if (parsed.object.spec.domain !== domain) return []
    const entry = parsed.entries.find((each) => isBound(each) && isPlaced(each) && isFormer(parsed, each))
    if (entry === undefined) return []
    const view = known.pool(entry.row.pool ?? parsed.object.spec.pool)
    const rules = view instanceof PoolView ? view.object.spec : undefined
    return [takeBack({ parsed, entry }, rules, { nowMs, why: 'its interface has another address' })]
  })
}

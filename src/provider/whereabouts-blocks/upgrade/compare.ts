import * as Address from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import { blockName } from '../../../crd/ipam-kit/block-name.js'
import type { IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'
import { isDeleting } from '../../../crd/meta/object.js'
import { addressOf } from '../../blocks/block/allocation.js'
import { blockAround, type Grid, unitOf } from '../../blocks/block/grid.js'
import { type BlockEntry, isBound, ParsedBlock } from '../../blocks/block/parsed-block.js'
import { PoolView } from '../../blocks/pool/pool-view.js'
import type { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import type { UpgradePool, UpgradeRow } from './report.js'

/** An address for which a pool of whereabouts and the blocks do not name the same holder. */
export interface UpgradeDifference {
  /**
   * - `missing`: no block has the row
   * - `container`: the row of the block names an earlier container of the same interface
   * - `other`: the row of the block names another holder, or another pool
   * - `surplus`: the pool of whereabouts has no row of the address
   */
  readonly kind: 'missing' | 'container' | 'other' | 'surplus'
  readonly address: Address.Address
  /** The holder by the pool of whereabouts: Pod, container and interface. */
  readonly old?: string | undefined
  /** The holder by the block. */
  readonly block?: string | undefined
}

/** Where the row of an address is in blocks. */
export interface RowPlace {
  readonly row: UpgradeRow
  readonly domain: string
  readonly name: string
  readonly prefix: Prefix
  readonly grid: Grid
  readonly unit: number
  /** Left out: the block does not exist. */
  readonly parsed: ParsedBlock | undefined
  /** The row that has the unit, also a released one. */
  readonly entry: BlockEntry | undefined
}

export interface Comparison {
  readonly differences: readonly UpgradeDifference[]
  /** The rows to write: those that are missing, and those of an earlier container. */
  readonly writable: readonly RowPlace[]
}

/**
 * Compares the rows of a pool with the blocks, all of which are known. O(rows + rows of the
 * domain).
 *
 * @returns a text: why the blocks cannot have the rows
 */
export function comparePool(pool: UpgradePool, known: KnownBlocks): Comparison | string {
  const problem = pool.targets.map((name) => targetProblem(name, pool, known)).find((one) => one !== undefined)
  if (problem !== undefined) return problem
  const differences: UpgradeDifference[] = []
  const writable: RowPlace[] = []
  for (const row of pool.rows) {
    const place = placeOf(row, pool, known)
    if (typeof place === 'string') return place
    const kind = differenceAt(place)
    if (kind === undefined) continue
    const { entry } = place
    const block = entry !== undefined && isBound(entry) ? holderOf(entry.row) : undefined
    differences.push({ kind, address: row.address, old: holderOf(row), ...(block !== undefined && { block }) })
    if (kind !== 'other') writable.push(place)
  }
  return { differences: [...differences, ...surplus(pool, known)], writable }
}

/** Why a pool of blocks cannot have rows. One that is disabled can. */
export function targetProblem(
  name: string,
  { domain, rows }: Pick<UpgradePool, 'domain' | 'rows'>,
  known: KnownBlocks,
): string | undefined {
  const view = known.pool(name)
  if (!(view instanceof PoolView)) {
    return typeof view === 'object' ? `IPPool ${name}: ${view.unreadable}` : `there is no IPPool ${name}`
  }
  if (isDeleting(view.object)) return `IPPool ${name} is being deleted`
  if (view.object.spec.domain !== domain)
    return `IPPool ${name} is in the domain ${view.object.spec.domain}, not in ${domain}`
  const family = rows.find(({ pool }) => pool === name)?.address.family ?? [...view.families][0]
  const grid = family && view.grid(family)
  if (grid === undefined) return `IPPool ${name}: ${view.specProblem ?? 'it is not accepted into its domain yet'}`
  if (grid.allocationPrefixLength !== Address.bitsOf(grid.family)) return `IPPool ${name} gives prefixes`
  return undefined
}

/** Where a row is in blocks, or why they cannot have it. */
export function placeOf(
  row: UpgradeRow,
  { domain }: Pick<UpgradePool, 'domain'>,
  known: KnownBlocks,
): RowPlace | string {
  const view = known.pool(row.pool) as PoolView
  const grid = view.grid(row.address.family) as Grid
  const prefix = blockAround(grid, row.address)
  const name = blockName(domain, prefix)
  const offGrid = view.offGridOver(prefix)
  if (offGrid !== undefined) return `block ${offGrid} overlaps block ${name}, and is not on the grid of the domain`
  const unit = unitOf(prefix, grid.allocationPrefixLength, row.address)
  const parsed = known.block(name)
  const place = { row, domain, name, prefix, grid, unit }
  if (parsed === undefined || parsed === 'absent') return { ...place, parsed: undefined, entry: undefined }
  if (!(parsed instanceof ParsedBlock)) return parsed.unreadable
  const isOfGrid = parsed.object.spec.allocationPrefixLength === grid.allocationPrefixLength
  if (!parsed.isOpen || !isOfGrid) {
    return `block ${name} cannot be used: ${parsed.problems[0] ?? (isOfGrid ? 'it is being deleted' : 'its units are not addresses')}`
  }
  return { ...place, parsed, entry: parsed.at(unit) }
}

/** How the block differs from a row; `undefined`: it has the row. */
export function differenceAt({ row, parsed, entry, unit }: RowPlace): UpgradeDifference['kind'] | undefined {
  if (parsed === undefined || entry === undefined || !isBound(entry)) return 'missing'
  const { owner, uid, kind = 'Pod', interface: name, container, pool = parsed.object.spec.pool } = entry.row
  const isSame = owner === row.owner && uid === row.uid && kind === 'Pod' && name === row.interface && pool === row.pool
  if (!isSame || entry.unit !== unit || entry.count !== 1) return 'other'
  return container === row.container ? undefined : 'container'
}

/** The rows in the pools of blocks that the pool of whereabouts does not have. */
function surplus(
  {
    rows,
    targets,
    domain,
  }: Pick<UpgradePool, 'targets' | 'domain'> & { readonly rows: readonly Pick<UpgradeRow, 'address'>[] },
  known: KnownBlocks,
): readonly UpgradeDifference[] {
  const planned = new Set(rows.map(({ address }) => Address.key(address)))
  const found: UpgradeDifference[] = []
  for (const parsed of known.blocks()) {
    const { spec } = parsed.object
    if (spec.domain !== domain) continue
    for (const entry of parsed.entries) {
      if (!isBound(entry) || !targets.includes(entry.row.pool ?? spec.pool)) continue
      const address = addressOf(parsed, entry)
      if (!planned.has(Address.key(address))) found.push({ kind: 'surplus', address, block: holderOf(entry.row) })
    }
  }
  return found
}

function holderOf({
  owner,
  container = '',
  interface: name = '',
}: Pick<IPBlockRow, 'owner' | 'container' | 'interface'>) {
  return `${owner} ${container}/${name}`
}

import * as Address from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import { blockName } from '../../../crd/ipam-kit/block-name.js'
import type { IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'
import { isDeleting } from '../../../crd/meta/object.js'
import type { PoolRow } from '../../../crd/whereabouts/index.js'
import { addressOf } from '../../blocks/block/allocation.js'
import { blockAround, type Grid, unitOf } from '../../blocks/block/grid.js'
import { type BlockEntry, isBound, isPlaced, ParsedBlock } from '../../blocks/block/parsed-block.js'
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

/** A difference, with the rows of both sides. */
export interface RowDifference extends Pick<UpgradeDifference, 'kind' | 'address'> {
  readonly row?: PoolRow | undefined
  readonly block?: IPBlockRow | undefined
}

/** A difference as an outcome reports it. */
export function reportOf({ kind, address, row, block }: RowDifference): UpgradeDifference {
  return {
    kind,
    address,
    ...(row !== undefined && { old: holderOf({ owner: row.podref, container: row.id, interface: row.ifname }) }),
    ...(block !== undefined && { block: holderOf(block) }),
  }
}

/** Where a pool of whereabouts is in blocks. */
type Blocks = Pick<UpgradePool, 'domain' | 'targets'>

/** Where an address is in blocks. */
interface Place {
  readonly name: string
  readonly prefix: Prefix
  readonly grid: Grid
  readonly unit: number
  /** Left out: the block does not exist. */
  readonly parsed: ParsedBlock | undefined
  /** The row that has the unit, also a released one. */
  readonly entry: BlockEntry | undefined
}

/** Where the row of an address is in blocks. */
export interface RowPlace extends Place {
  readonly row: UpgradeRow
  readonly domain: string
}

/**
 * The addresses for which the rows of a pool and the blocks, all of which are known, do not name
 * the same Pod, container and interface. O(rows + rows of the domain).
 *
 * @returns a text: why the blocks cannot have the rows
 */
export function compareRows(
  rows: readonly PoolRow[],
  of: Blocks,
  known: KnownBlocks,
): readonly RowDifference[] | string {
  const problem = targetsProblem(of, known)
  if (problem !== undefined) return problem
  const differences: RowDifference[] = []
  for (const row of rows) {
    const place = placeAt(row.address, of, known)
    if (typeof place === 'string') return place
    const kind = differenceOf(row, place, of)
    if (kind === undefined) continue
    const { entry } = place
    const block = entry !== undefined && isBound(entry) ? entry.row : undefined
    differences.push({ kind, address: row.address, row, block })
  }
  const others = surplus(rows, of, known)
  return typeof others === 'string' ? others : [...differences, ...others]
}

/**
 * The rows of a plan to write: those that are missing, and those of an earlier container.
 *
 * @returns a text: why the blocks cannot have the rows
 */
export function writableRows(pool: UpgradePool, known: KnownBlocks): readonly RowPlace[] | string {
  const problem = targetsProblem(pool, known)
  if (problem !== undefined) return problem
  const writable: RowPlace[] = []
  for (const row of pool.rows) {
    const place = placeOf(row, pool, known)
    if (typeof place === 'string') return place
    const kind = differenceAt(place)
    if (kind === 'missing' || kind === 'container') writable.push(place)
  }
  return writable
}

function targetsProblem(of: Blocks, known: KnownBlocks): string | undefined {
  return of.targets.map((name) => targetProblem(name, of, known)).find((one) => one !== undefined)
}

/** Why a pool of blocks cannot have rows. One that is disabled can. */
export function targetProblem(
  name: string,
  { domain }: Pick<Blocks, 'domain'>,
  known: KnownBlocks,
): string | undefined {
  const view = known.pool(name)
  if (!(view instanceof PoolView)) {
    return typeof view === 'object' ? `IPPool ${name}: ${view.unreadable}` : `there is no IPPool ${name}`
  }
  const { object } = view
  if (isDeleting(object)) return `IPPool ${name} is being deleted`
  if (object.spec.domain !== domain) return `IPPool ${name} is in the domain ${object.spec.domain}, not in ${domain}`
  const [family] = view.families
  const grid = family && view.grid(family)
  if (grid === undefined) return `IPPool ${name}: ${view.specProblem ?? 'it is not accepted into its domain yet'}`
  return grid.allocationPrefixLength === Address.bitsOf(grid.family) ? undefined : `IPPool ${name} gives prefixes`
}

/** Where a planned row is in blocks, or why they cannot have it. */
export function placeOf(row: UpgradeRow, { domain }: Pick<Blocks, 'domain'>, known: KnownBlocks): RowPlace | string {
  const place = placeAt(row.address, { domain, targets: [row.pool] }, known)
  return typeof place === 'string' ? place : { ...place, row, domain }
}

function placeAt(address: Address.Address, { domain, targets }: Blocks, known: KnownBlocks): Place | string {
  const views = targets.map((name) => known.pool(name)).filter((view) => view instanceof PoolView)
  const view = views.find((each) => each.grid(address.family) !== undefined)
  const grid = view?.grid(address.family)
  if (view === undefined || grid === undefined) return `no pool of blocks has the family of ${Address.format(address)}`
  const prefix = blockAround(grid, address)
  const name = blockName(domain, prefix)
  const offGrid = view.offGridOver(prefix)
  if (offGrid !== undefined) return `block ${offGrid} overlaps block ${name}, and is not on the grid of the domain`
  const unit = unitOf(prefix, grid.allocationPrefixLength, address)
  const parsed = known.block(name)
  const place = { name, prefix, grid, unit }
  if (parsed === undefined || parsed === 'absent') return { ...place, parsed: undefined, entry: undefined }
  if (!(parsed instanceof ParsedBlock)) return parsed.unreadable
  const isOfGrid = parsed.object.spec.allocationPrefixLength === grid.allocationPrefixLength
  if (!parsed.isOpen || !isOfGrid) {
    return `block ${name} cannot be used: ${parsed.problems[0] ?? (isOfGrid ? 'it is being deleted' : 'its units are not addresses')}`
  }
  return { ...place, parsed, entry: parsed.at(unit) }
}

function differenceOf(
  { podref, id, ifname }: PoolRow,
  { parsed, entry, unit }: Place,
  { targets }: Blocks,
): UpgradeDifference['kind'] | undefined {
  if (parsed === undefined || entry === undefined || !isBound(entry)) return 'missing'
  const { owner, kind = 'Pod', interface: name, container, pool = parsed.object.spec.pool } = entry.row
  // old rows of upstream name no interface
  const isSame = owner === podref && kind === 'Pod' && (!ifname || name === ifname) && targets.includes(pool)
  if (!isSame || entry.unit !== unit || entry.count !== 1) return 'other'
  return container === id ? undefined : 'container'
}

/** How the block differs from a planned row; `undefined`: it has the row. */
export function differenceAt({ row, parsed, entry, unit }: RowPlace): UpgradeDifference['kind'] | undefined {
  if (parsed === undefined || entry === undefined || !isBound(entry)) return 'missing'
  const { owner, uid, kind = 'Pod', interface: name, container, pool = parsed.object.spec.pool } = entry.row
  const isSame = owner === row.owner && uid === row.uid && kind === 'Pod' && name === row.interface && pool === row.pool
  if (!isSame || entry.unit !== unit || entry.count !== 1) return 'other'
  return container === row.container ? undefined : 'container'
}

/** The rows in the pools of blocks that the pool of whereabouts does not have. */
function surplus(
  rows: readonly PoolRow[],
  { targets, domain }: Blocks,
  known: KnownBlocks,
): readonly RowDifference[] | string {
  const inPool = new Set(rows.map(({ address }) => Address.key(address)))
  const found: RowDifference[] = []
  for (const parsed of known.blocks()) {
    const { spec } = parsed.object
    if (spec.domain !== domain) continue
    for (const entry of parsed.entries) {
      if (!isBound(entry) || !targets.includes(entry.row.pool ?? spec.pool)) continue
      if (!isPlaced(entry)) return `block ${parsed.name}: ${parsed.problems[0]}`
      const address = addressOf(parsed, entry)
      if (!inPool.has(Address.key(address))) found.push({ kind: 'surplus', address, block: entry.row })
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

import { Address, Prefix } from 'ipam-kit/cidr'
import type { Meta } from 'ipam-kit/crd'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { isOurs } from './cast.js'

/** A row, and where it lies. */
export interface StoredRow {
  readonly row: IPBlock['spec']['rows'][string]
  readonly block: IPBlock
  readonly pool: string
  readonly family: 4 | 6
  /** The first and the last of its addresses, as numbers. */
  readonly first: bigint
  readonly last: bigint
}

/**
 * What there is of the pools of the scenario, and of their domains: also what others have in them.
 */
export interface Stored {
  readonly pools: readonly IPPool[]
  readonly blocks: readonly IPBlock[]
  readonly rows: readonly StoredRow[]
  /** What cannot be read, and why. */
  readonly unfit: readonly string[]
}

export async function readStored(store: Store): Promise<Stored> {
  const unfit: string[] = []
  const pools = await readAll(store, IPPool, unfit)
  const blocks = await readAll(store, IPBlock, unfit)
  return { pools, blocks, rows: blocks.flatMap(rowsOf), unfit }
}

async function readAll<T extends Meta.KubeObject>(store: Store, model: Meta.Model<T>, unfit: string[]): Promise<T[]> {
  const { apiVersion, kind } = model.info
  const { items } = unwrap(await store.list({ apiVersion, kind }))
  return items.flatMap((object) => {
    const { name } = object.metadata
    if (!isOurs({ kind, name })) return []
    const read = model.safeParse(object)
    if (read.ok) return [read.value]
    unfit.push(`${kind} ${name}: ${read.failure.message}`)
    return []
  })
}

/**
 * The rows of a block, by plain arithmetic: all units of a block have the same number of addresses,
 * and a row has one unit or more.
 */
export function rowsOf(block: IPBlock): readonly StoredRow[] {
  const { cidr, allocationPrefixLength, pool, rows } = block.spec
  const { address } = Prefix.parse(cidr)
  const { family } = address
  const unitSize = 1n << BigInt(Address.bitsOf(family) - allocationPrefixLength)
  const start = Address.toBigInt(address)
  return Object.entries(rows).map(([unit, row]) => {
    const first = start + BigInt(unit) * unitSize
    return { row, block, pool: row.pool ?? pool, family, first, last: first + BigInt(row.count ?? 1) * unitSize - 1n }
  })
}

/** Whether the owner has it: what is remembered of rows that were given back is nobody's. */
export function isBound({ row }: StoredRow): boolean {
  return row.state === undefined
}

export function textOf({ family, first }: Pick<StoredRow, 'family' | 'first'>): string {
  return Address.format(Address.fromBigInt(family, first))
}

import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Change } from 'ipam-kit/plan'

/** A row of a block that is not released. */
export interface BlockRow {
  readonly domain: string
  readonly address: string
  readonly uid: string
  readonly owner: string
  readonly container: string
  readonly ifname: string
}

/** What the blocks have, read without the library. */
export class StoredBlocks {
  readonly #blocks = new Map<string, readonly BlockRow[]>()

  /** @returns the rows that have gone */
  observe(change: Change): readonly BlockRow[] {
    const ref = change.kind === 'present' ? change.object : change.ref
    if (ref.kind !== IPBlock.info.kind) return []
    const name = change.kind === 'present' ? change.object.metadata.name : change.ref.name
    const before = this.#blocks.get(name) ?? []
    const after = change.kind === 'present' ? rowsOf(change.object) : []
    this.#blocks.set(name, after)
    return before.filter((row) => !after.some((other) => isSame(row, other)))
  }

  get allRows(): readonly BlockRow[] {
    return [...this.#blocks.values()].flat()
  }

  at(domain: string, address: string): BlockRow | undefined {
    return this.allRows.find((row) => row.domain === domain && row.address === address)
  }
}

function isSame(left: BlockRow, right: BlockRow): boolean {
  return (
    left.address === right.address &&
    left.uid === right.uid &&
    left.container === right.container &&
    left.ifname === right.ifname
  )
}

interface StoredRow {
  readonly uid: string
  readonly owner: string
  readonly container?: string
  readonly interface?: string
  readonly state?: string
}

function rowsOf({ spec }: KubeObject): readonly BlockRow[] {
  const {
    cidr,
    domain,
    rows = {},
  } = spec as {
    readonly cidr: string
    readonly domain: string
    readonly rows?: { readonly [unit: string]: StoredRow }
  }
  const first = Prefix.first(Prefix.parse(cidr))
  return Object.entries(rows).flatMap(([unit, row]) => {
    const { uid, owner, container = '', interface: ifname = '', state } = row
    const address = Address.format(Address.add(first, Number(unit)))
    return state === undefined ? [{ domain, address, uid, owner, container, ifname }] : []
  })
}

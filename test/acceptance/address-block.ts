import { AddressPool, type Owner, type PoolCounts } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'

/** What a block says of some of its addresses. */
export interface BlockRow {
  readonly addresses: readonly Address[]
  /** Who holds them. Several rows may have the same. */
  readonly handle?: string | undefined
  /** Which time it is that they were given. */
  readonly sequence?: number | undefined
  /** For how long they have been in nobody's hands any more. */
  readonly releasedSecondsAgo?: number | undefined
}

export interface BlockSpec<R extends BlockRow> {
  readonly prefix: Prefix
  readonly rows: readonly R[]
  readonly reserved: RangeSet
  readonly coolDownSeconds: number
}

export interface ReleaseRequest {
  readonly address: Address
  /** Only from this holder. */
  readonly handle?: string | undefined
  /** Only what was given this time. */
  readonly sequence?: number | undefined
}

/** What a release of some addresses has done: all of it, or nothing. */
export type BlockRelease =
  | {
      readonly kind: 'released'
      /** Those that nobody held. */
      readonly skipped: readonly Address[]
      readonly countByHandle: Readonly<Record<string, number>>
    }
  | { readonly kind: 'failed'; readonly problem: string }

/** The time at which a block is read: any one does. */
const NOW_MS = 1_800_000_000_000

/**
 * A block of addresses with its rows, read into a pool that gives the address which has been free for the longest time. The owner of an address
 * has the handle as uid, and as key the place of the row.
 */
export class AddressBlock<R extends BlockRow> {
  readonly prefix: Prefix
  readonly pool: AddressPool
  readonly #rows: readonly R[]

  constructor({ prefix, rows, reserved, coolDownSeconds }: BlockSpec<R>) {
    this.prefix = prefix
    this.#rows = rows
    const ranges = RangeSet.fromPrefixes([prefix])
    this.pool = new AddressPool({ ranges, reserved, coolDownSeconds, strategy: { kind: 'least-recently-released' } })
    for (const [index, { addresses, sequence = 0 }] of rows.entries()) {
      for (const address of addresses) this.pool.occupy(address, this.#ownerOf(index), { sequence })
    }
    const released = [...rows.entries()].filter(([, row]) => row.releasedSecondsAgo !== undefined)
    for (const [index, row] of released.sort(([, a], [, b]) => agoOf(b) - agoOf(a))) {
      const at = { nowMs: NOW_MS - agoOf(row) * 1000 }
      for (const address of row.addresses) this.pool.release(address, this.#ownerOf(index), at)
    }
  }

  counts(): PoolCounts {
    return this.pool.counts({ nowMs: NOW_MS })
  }

  /** The free addresses in the order in which they would be given. */
  freeList(): Address[] {
    const twin = AddressPool.decode(AddressPool.encode(this.pool))
    const given: Address[] = []
    for (;;) {
      const outcome = twin.allocate({ owner: { uid: `who asks ${given.length}` } }, { nowMs: NOW_MS })
      if (outcome.kind !== 'allocated') return given
      given.push(outcome.address)
    }
  }

  /** The addresses that are not free: in use, or released and cooling down. */
  allocated(): Address[] {
    const free = RangeSet.fromAddresses(this.freeList())
    const cooling = RangeSet.subtract(RangeSet.subtract(this.pool.available, this.pool.inUse()), free)
    return [...RangeSet.addresses(RangeSet.union(this.pool.inUse(), cooling))]
  }

  /** The rows that an address which is not free is of. */
  rows(): R[] {
    const allocated = RangeSet.fromAddresses(this.allocated())
    return this.#rows.filter(({ addresses }) => addresses.some((address) => RangeSet.contains(allocated, address)))
  }

  /** What the block says of an address that somebody holds. */
  rowOf(address: Address): R | undefined {
    const owner = this.pool.ownersOf(address)[0]
    return owner && this.#rows[Number(owner.key)]
  }

  addressesOf(handle: string): Address[] {
    return this.pool.addressesOf(handle).sort(Address.compare)
  }

  release(requests: readonly ReleaseRequest[]): BlockRelease {
    const skipped: Address[] = []
    const countByHandle: Record<string, number> = {}
    const undos: (() => boolean)[] = []
    for (const request of requests) {
      const { address, sequence } = request
      const row = this.rowOf(address)
      const [holder] = this.pool.ownersOf(address)
      const owner = request.handle === undefined ? holder : { uid: request.handle }
      const outcome = owner && this.pool.release(address, owner, { sequence, nowMs: NOW_MS })
      if (outcome?.kind === 'released') {
        undos.push(() => this.pool.undo(outcome.delta))
        if (row?.handle !== undefined) countByHandle[row.handle] = (countByHandle[row.handle] ?? 0) + 1
      } else if (holder === undefined && Prefix.contains(this.prefix, address)) skipped.push(address)
      else {
        for (const undo of undos.reverse()) undo()
        return { kind: 'failed', problem: `${Address.format(address)}: ${outcome?.kind ?? 'not of this block'}` }
      }
    }
    return { kind: 'released', skipped, countByHandle }
  }

  /** Releases what a holder has, or, of that, what it was given at one time. Returns how many addresses that are. */
  releaseHandle(handle: string, sequence: number | undefined): number {
    const at = { nowMs: NOW_MS }
    if (sequence === undefined) return this.pool.releaseOwner(handle, at).holds.length
    const released = this.pool
      .addressesOf(handle)
      .map((address) => this.pool.release(address, { uid: handle }, { sequence, ...at }))
    return released.filter(({ kind }) => kind === 'released').length
  }

  #ownerOf(index: number): Owner {
    const handle = this.#rows[index]?.handle
    return { uid: handle || `nobody, row ${index}`, key: String(index) }
  }
}

/** What is said to be released later was released by a clock that is ahead: at the latest it is now. */
function agoOf({ releasedSecondsAgo = 0 }: BlockRow): number {
  return Math.max(0, releasedSecondsAgo)
}

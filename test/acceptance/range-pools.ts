import { AddressPool, type Owner, type ReserveRule, reservedAddresses } from 'ipam-kit/allocator'
import { type Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'

/** Of a CIDR the lowest address is given to nobody; the highest is. */
const NETWORK_ADDRESS: ReserveRule = {
  v4: { first: 1, last: 0 },
  v6: { first: 1, last: 0 },
  pointToPoint: 'reserved',
}

/** So many addresses are taken one by one. */
const MOST_ADDRESSES = 1_048_576

interface NamedPool {
  readonly name: string
  readonly pool: AddressPool
}

/** An address and who was given it. */
export interface Given {
  readonly address: Address
  readonly owner: Owner
}

/**
 * CIDRs and ranges, each a pool of its own: what is asked for is looked for in one after the other,
 * in the order of the list.
 */
export class RangePools {
  readonly #pools: readonly NamedPool[]
  #owners = 0

  constructor(ranges: readonly string[], reserved: readonly string[]) {
    const exclude = RangeSet.parse(reserved)
    this.#pools = ranges.map((text) => poolOf(text, exclude))
  }

  get names(): string[] {
    return this.#pools.map(({ name }) => name)
  }

  get total(): bigint {
    return this.#pools.reduce((sum, { pool }) => sum + pool.counts().total, 0n)
  }

  /** The next address, or `undefined` where none is left. */
  next(): Given | undefined {
    const owner = this.#newOwner()
    return this.#first((pool) => {
      const outcome = pool.allocate({ owner })
      return outcome.kind === 'allocated' ? { address: outcome.address, owner } : undefined
    })
  }

  /** All that is left. */
  rest(): Address[] {
    const given: Address[] = []
    for (let next = this.next(); next !== undefined; next = this.next()) {
      if (given.push(next.address) > MOST_ADDRESSES) throw new Error('too many addresses to take them one by one')
    }
    return given
  }

  /** Takes an address. False if it is not free. */
  take(address: Address): boolean {
    const owner = this.#newOwner()
    const kindIn = (pool: AddressPool) => pool.allocate({ owner, want: { kind: 'address', address } }).kind
    return this.#pools.some(({ pool }) => kindIn(pool) === 'allocated')
  }

  /** Addresses one behind the other, all of one range. */
  run(count: number): readonly Address[] | undefined {
    const owner = this.#newOwner()
    return this.#first((pool) => {
      const outcome = pool.allocate({ owner, want: { kind: 'run', count } })
      return outcome.kind === 'allocated' ? outcome.addresses : undefined
    })
  }

  /** Gives an address back. False if it has been already. */
  release({ address, owner }: Given): boolean {
    return this.#pools.some(({ pool }) => pool.release(address, owner).kind === 'released')
  }

  has(address: Address): boolean {
    return this.#pools.some(({ pool }) => pool.hasAddress(address))
  }

  #first<T>(ask: (pool: AddressPool) => T | undefined): T | undefined {
    for (const { pool } of this.#pools) {
      const found = ask(pool)
      if (found !== undefined) return found
    }
    return undefined
  }

  #newOwner(): Owner {
    return { uid: `owner-${this.#owners++}` }
  }
}

function poolOf(text: string, exclude: RangeSet): NamedPool {
  if (text.includes('-')) {
    const range = Range.parse(text)
    return { name: Range.format(range), pool: new AddressPool({ ranges: RangeSet.fromRanges([range]), exclude }) }
  }
  const prefix = Prefix.masked(Prefix.parse(text))
  const reserved = reservedAddresses([prefix], NETWORK_ADDRESS)
  return {
    name: Prefix.format(prefix),
    pool: new AddressPool({ ranges: RangeSet.fromPrefixes([prefix]), exclude, reserved }),
  }
}

import { Address, RangeSet } from 'ipam-kit/cidr'

/**
 * A simple model of an address pool: a list of addresses, a `Map` of holders and a `for` loop.
 * Property tests compare every allocator with it. Only for small pools, because it lists each
 * address.
 */
export class ModelPool {
  readonly addresses: readonly string[]
  readonly holders = new Map<string, Set<string>>()

  /** @param ranges at most 100,000 addresses */
  constructor(ranges: RangeSet, exclude: RangeSet = RangeSet.empty) {
    const list: Address[] = []
    for (const { first, last } of RangeSet.ranges(ranges)) {
      for (let address: Address | undefined = first; address !== undefined; address = Address.next(address)) {
        if (Address.compare(address, last) > 0) break
        if (!RangeSet.contains(exclude, address)) list.push(address)
        if (list.length > 100_000) throw new RangeError('a model pool holds at most 100,000 addresses')
      }
    }
    this.addresses = list.sort(Address.compare).map(Address.format)
  }

  lowestFree(family?: 4 | 6): string | undefined {
    for (const address of this.addresses) {
      if (family !== undefined && address.includes(':') !== (family === 6)) continue
      if (!this.holders.has(address)) return address
    }
    return undefined
  }

  occupy(address: string, owner: string): void {
    const holders = this.holders.get(address) ?? new Set()
    holders.add(owner)
    this.holders.set(address, holders)
  }

  release(address: string, owner: string): boolean {
    const holders = this.holders.get(address)
    if (holders === undefined || !holders.delete(owner)) return false
    if (holders.size === 0) this.holders.delete(address)
    return true
  }

  counts(): { total: bigint; used: bigint; free: bigint; outOfRange: bigint } {
    const inPool = new Set(this.addresses)
    let used = 0n
    let outOfRange = 0n
    for (const address of this.holders.keys()) {
      if (inPool.has(address)) used++
      else outOfRange++
    }
    const total = BigInt(this.addresses.length)
    return { total, used, free: total - used, outOfRange }
  }
}

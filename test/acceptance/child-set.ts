import { PrefixAllocator } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'

/** So many children can a case have taken by naming what is around them. */
const MOST_AT_ONCE = 1_048_576n

/** What upstream's metrics say of a set. */
export interface ChildCounts {
  /** The share of the children that is taken. */
  readonly usage: number
  /** Children taken so far, by an allocation or as occupied. */
  readonly allocations: number
  readonly releases: number
  /** Children that allocations passed over because they were taken. */
  readonly tries: number
}

/** Asked for something beside the set. */
export class OutOfRange extends Error {}

/**
 * The children of one length of a cluster CIDR: a `PrefixAllocator`, whose children each have an
 * owner of their own.
 */
export class ChildSet {
  readonly cluster: Prefix
  readonly length: number
  readonly #allocator: PrefixAllocator
  #owners = 0
  #allocations = 0
  #releases = 0
  #tries = 0
  /** The index behind the last child that was given. */
  #behind = 0n

  constructor(cluster: Prefix, length: number) {
    this.cluster = Prefix.masked(cluster)
    this.length = length
    this.#allocator = new PrefixAllocator({
      ranges: RangeSet.fromPrefixes([cluster]),
      childLength: length,
      strategy: { kind: 'next-fit' },
    })
  }

  get capacity(): bigint {
    return this.#allocator.total
  }

  get occupied(): bigint {
    return this.#allocator.total - this.#allocator.free()
  }

  /** The children that are taken, in order. */
  get taken(): Prefix[] {
    return this.#allocator.entries().map((entry) => entry.prefix)
  }

  counts(): ChildCounts {
    return {
      usage: Number(this.occupied) / Number(this.capacity),
      allocations: this.#allocations,
      releases: this.#releases,
      tries: this.#tries,
    }
  }

  /** The next child, or `undefined` where none is left. */
  allocate(): Prefix | undefined {
    const outcome = this.#allocator.allocate({ owner: this.#newOwner() })
    if (outcome.kind === 'exhausted') return undefined
    if (outcome.kind !== 'allocated') throw new Error(`a new owner was answered ${outcome.kind}`)
    const index = this.indexOf(outcome.prefix)
    this.#tries += Number((index - this.#behind + this.capacity) % this.capacity)
    this.#behind = (index + 1n) % this.capacity
    this.#allocations++
    return outcome.prefix
  }

  /** The child that would be given next. */
  next(): Prefix | undefined {
    return this.#allocator.next()
  }

  isTaken(child: Prefix): boolean {
    return this.#allocator.ownersOf(child).length > 0
  }

  overlaps(prefix: Prefix): boolean {
    return RangeSet.overlaps(RangeSet.fromPrefixes(this.taken), prefix)
  }

  /** Takes all children of a CIDR that are not taken yet. */
  occupy(cidr: Prefix): void {
    const part = this.#partOf(cidr)
    if (Prefix.subnetCount(part, this.length) > MOST_AT_ONCE) {
      throw new Error(`${Prefix.format(cidr)} has too many children to take them one by one`)
    }
    for (const child of Prefix.split(part, this.length)) {
      if (this.isTaken(child)) continue
      this.#allocator.occupy(child, this.#newOwner())
      this.#allocations++
    }
  }

  /** Frees all children of a CIDR that are taken. */
  release(cidr: Prefix): void {
    const part = this.#partOf(cidr)
    for (const { prefix, owners } of this.#allocator.entries()) {
      if (!Prefix.contains(part, prefix)) continue
      for (const owner of owners) this.#allocator.release(prefix, owner)
      this.#releases++
    }
  }

  childAt(index: bigint | number): Prefix {
    return Prefix.subnetAt(this.cluster, this.length, index)
  }

  /** Which child a CIDR is, or begins in. */
  indexOf(cidr: Prefix): bigint {
    const first = Prefix.first(cidr)
    if (!Prefix.contains(this.cluster, first)) throw new OutOfRange(`${Prefix.format(cidr)} is beside the set`)
    return Address.distance(Prefix.first(this.cluster), first) / Prefix.size(this.childAt(0))
  }

  /**
   * What of the set a CIDR is about: all of it, the children in it, or the child that it is a part
   * of.
   */
  #partOf(cidr: Prefix): Prefix {
    if (!Prefix.overlaps(this.cluster, cidr)) throw new OutOfRange(`${Prefix.format(cidr)} is beside the set`)
    if (cidr.length <= this.cluster.length) return this.cluster
    return cidr.length > this.length ? Prefix.supernet(cidr, this.length) : Prefix.masked(cidr)
  }

  #newOwner() {
    return { uid: `owner-${this.#owners++}` }
  }
}

import { Address, type Address4, Prefix } from 'ipam-kit/cidr'

/**
 * What is often written by hand for children of mixed lengths: the free ranges in two sorted
 * arrays. The lowest that has room for a prefix, at an address where one may begin, is found by a
 * loop, and the place of one that comes back by binary search.
 */
export class SortedPrefixes {
  /** How many addresses are free. */
  free: number
  readonly #firsts: number[]
  readonly #lasts: number[]

  constructor(first: number, last: number) {
    this.free = last - first + 1
    this.#firsts = [first]
    this.#lasts = [last]
  }

  nextFree(length: number): Prefix | undefined {
    const size = 2 ** (32 - length)
    for (let at = 0; at < this.#firsts.length; at++) {
      const first = Math.ceil(this.#firsts[at]! / size) * size
      if (first + size - 1 <= this.#lasts[at]!) return Prefix.of(Address.from4(first), length)
    }
    return undefined
  }

  take(prefix: Prefix): boolean {
    const { first, last } = endsOf(prefix)
    const at = this.#atOrBehind(first)
    if (at === this.#firsts.length || this.#firsts[at]! > first || this.#lasts[at]! < last) return false
    const before = this.#firsts[at]! < first
    const behind = this.#lasts[at]! > last
    if (before && behind) {
      this.#firsts.splice(at + 1, 0, last + 1)
      this.#lasts.splice(at, 0, first - 1)
    } else if (before) this.#lasts[at] = first - 1
    else if (behind) this.#firsts[at] = last + 1
    else {
      this.#firsts.splice(at, 1)
      this.#lasts.splice(at, 1)
    }
    this.free -= last - first + 1
    return true
  }

  release(prefix: Prefix): boolean {
    const { first, last } = endsOf(prefix)
    const at = this.#atOrBehind(first)
    if (this.#firsts[at]! <= last) return false
    const isBehind = at > 0 && this.#lasts[at - 1] === first - 1
    const isBefore = this.#firsts[at] === last + 1
    if (isBehind && isBefore) {
      this.#firsts.splice(at, 1)
      this.#lasts.splice(at - 1, 1)
    } else if (isBehind) this.#lasts[at - 1] = last
    else if (isBefore) this.#firsts[at] = first
    else {
      this.#firsts.splice(at, 0, first)
      this.#lasts.splice(at, 0, last)
    }
    this.free += last - first + 1
    return true
  }

  /** The place of the lowest range that ends at an address or behind it. */
  #atOrBehind(address: number): number {
    let low = 0
    let high = this.#lasts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#lasts[middle]! < address) low = middle + 1
      else high = middle
    }
    return low
  }
}

function endsOf({ address, length }: Prefix): { readonly first: number; readonly last: number } {
  const first = (address as Address4).value
  return { first, last: first + 2 ** (32 - length) - 1 }
}

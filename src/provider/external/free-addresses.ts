import * as Address from '../../cidr/nouns/address.js'

/** A free address, and its place in the order. */
export interface Candidate {
  /** Canonical. */
  readonly text: string
  readonly address: Address.Address
  /** Its place among the preallocated addresses; others follow those, by value. */
  readonly nth: number
}

/**
 * Free addresses in the order in which they are given. One that cannot be given when it comes first
 * is removed; {@link add} puts it back. First and add: O(log n) comparisons.
 */
export class FreeAddresses {
  #sorted: Candidate[]
  #first = 0

  constructor(candidates: Iterable<Candidate> = []) {
    this.#sorted = [...candidates].sort(inOrder)
  }

  add(candidate: Candidate): void {
    let [low, high] = [this.#first, this.#sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (inOrder(this.#sorted[middle]!, candidate) < 0) low = middle + 1
      else high = middle
    }
    if (this.#sorted[low]?.text === candidate.text) return
    if (low === this.#first && low > 0) this.#sorted[--this.#first] = candidate
    else this.#sorted.splice(low, 0, candidate)
  }

  /** Up to `count` addresses for which `isFree` returns true. */
  first(count: number, isFree: (candidate: Candidate) => boolean): readonly Candidate[] {
    while (this.#first < this.#sorted.length && !isFree(this.#sorted[this.#first]!)) this.#first++
    const found: Candidate[] = []
    for (let nth = this.#first; nth < this.#sorted.length && found.length < count; nth++) {
      const candidate = this.#sorted[nth]!
      if (isFree(candidate)) found.push(candidate)
    }
    return found
  }
}

function inOrder(left: Candidate, right: Candidate): number {
  return left.nth - right.nth || Address.compare(left.address, right.address)
}

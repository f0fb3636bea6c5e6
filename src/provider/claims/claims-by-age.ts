import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { compareText } from '../../plan/cached-objects.js'

/**
 * Keys of claims in the order of service: the oldest first, of the same age by key. Sorted when
 * iterated, and only if claims were added since.
 */
export class ClaimsByAge implements Iterable<string> {
  readonly #ages = new Map<string, string>()
  #sorted: readonly string[] = []
  #isSorted = true
  #hasLeft = false

  get size(): number {
    return this.#ages.size
  }

  /** @returns whether the key is new, or of another age */
  add(key: string, { metadata }: IPAddressClaim): boolean {
    const age = metadata.creationTimestamp ?? ''
    if (this.#ages.get(key) === age) return false
    this.#ages.set(key, age)
    this.#isSorted = false
    return true
  }

  /** @returns whether the key was present */
  delete(key: string): boolean {
    const wasThere = this.#ages.delete(key)
    if (wasThere) this.#hasLeft = true
    return wasThere
  }

  [Symbol.iterator](): Iterator<string> {
    if (!this.#isSorted) {
      const age = (key: string) => this.#ages.get(key)!
      this.#sorted = [...this.#ages.keys()].sort((a, b) => compareText(age(a), age(b)) || compareText(a, b))
    } else if (this.#hasLeft) this.#sorted = this.#sorted.filter((key) => this.#ages.has(key))
    this.#isSorted = true
    this.#hasLeft = false
    return this.#sorted[Symbol.iterator]()
  }
}

/** Which pools have addresses in common: kept by both of each two, so that a plan for one of them does not look at all the others. */
export class Overlaps {
  readonly #of = new Map<string, Set<string>>()

  /** Takes in with whom a pool has addresses in common from here on. O(those, and those before). @returns the others for whom that is new */
  set(pool: string, others: readonly string[]): readonly string[] {
    const before = this.#of.get(pool)
    const now = new Set(others)
    const lost = [...(before ?? [])].filter((other) => !now.has(other))
    const gained = others.filter((other) => before?.has(other) !== true)
    for (const other of lost) this.#remove(other, pool)
    for (const other of gained) this.#add(other, pool)
    if (now.size === 0) this.#of.delete(pool)
    else this.#of.set(pool, now)
    return [...lost, ...gained]
  }

  /** Those with which a pool has addresses in common, by name. */
  of(pool: string): readonly string[] {
    return [...(this.#of.get(pool) ?? [])].sort()
  }

  clear(): void {
    this.#of.clear()
  }

  #add(pool: string, other: string): void {
    const others = this.#of.get(pool)
    if (others === undefined) this.#of.set(pool, new Set([other]))
    else others.add(other)
  }

  #remove(pool: string, other: string): void {
    const others = this.#of.get(pool)
    others?.delete(other)
    if (others?.size === 0) this.#of.delete(pool)
  }
}

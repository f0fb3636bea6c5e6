import type * as Prefix from '../../../cidr/nouns/prefix.js'
import type { FamilyGrid } from '../../../crd/ipam-kit/grid.js'
import type { IPDomainSpec } from '../../../crd/ipam-kit/ip-domain.js'
import type { BlockBook } from '../book.js'
import type { Grid } from '../grid.js'

type Family = 4 | 6

/**
 * The blocks of a domain, counted by the grid on which they lie, so that no plan goes through all of them. Those that can not be read are among them: who has
 * what in them is not known, and their names say where they lie.
 */
export class DomainCensus {
  readonly #grids = new Map<string, { readonly grid: Grid; readonly names: Set<string> }>()
  /** Where each is counted. */
  readonly #keys = new Map<string, string>()
  readonly #unreadable = new Map<string, Prefix.Prefix>()

  /** Takes a block in. O(1). */
  note(book: BlockBook): void {
    this.forget(book.name)
    const { prefix, object } = book
    const { allocationPrefixLength } = object.spec
    const grid: Grid = { family: prefix.address.family, blockPrefixLength: prefix.length, allocationPrefixLength }
    const key = `${grid.family} ${grid.blockPrefixLength} ${allocationPrefixLength}`
    const known = this.#grids.get(key)
    if (known === undefined) this.#grids.set(key, { grid, names: new Set([book.name]) })
    else known.names.add(book.name)
    this.#keys.set(book.name, key)
  }

  /** Takes a block in that can not be read. O(1). */
  noteUnreadable(name: string, prefix: Prefix.Prefix): void {
    this.forget(name)
    this.#unreadable.set(name, prefix)
  }

  forget(name: string): void {
    this.#unreadable.delete(name)
    const key = this.#keys.get(name)
    if (key === undefined) return
    this.#keys.delete(name)
    const known = this.#grids.get(key)
    known?.names.delete(name)
    if (known?.names.size === 0) this.#grids.delete(key)
  }

  /** How many blocks can be read. */
  get size(): number {
    return this.#keys.size
  }

  get isEmpty(): boolean {
    return this.#keys.size + this.#unreadable.size === 0
  }

  /** The blocks that can be read. */
  names(): Iterable<string> {
    return this.#keys.keys()
  }

  /** Those that can not be read, and where they lie. */
  unreadable(): Iterable<readonly [string, Prefix.Prefix]> {
    return this.#unreadable
  }

  /** One that can not be read. */
  get firstUnreadable(): string | undefined {
    const [first] = this.#unreadable.keys()
    return first
  }

  /** The grid on which the blocks of a family lie. */
  gridOf(family: Family): FamilyGrid | undefined {
    for (const { grid } of this.#grids.values()) {
      const { blockPrefixLength, allocationPrefixLength } = grid
      if (grid.family === family) return { blockPrefixLength, allocationPrefixLength }
    }
    return undefined
  }

  /** One that can not be read, and that lies on none of the grids of the others: so its grid is not known. */
  get untold(): string | undefined {
    const grids = [...this.#grids.values()].map(({ grid }) => grid)
    for (const [name, { address, length }] of this.#unreadable) {
      if (!grids.some(({ family, blockPrefixLength }) => family === address.family && blockPrefixLength === length))
        return name
    }
    return undefined
  }

  /** One that does not lie on the grid of the domain. O(grids), and of those that can not be read. */
  strangerOn(spec: IPDomainSpec): string | undefined {
    for (const { grid, names } of this.#grids.values()) {
      const own = grid.family === 4 ? spec.ipv4 : spec.ipv6
      const isSame =
        grid.blockPrefixLength === own.blockPrefixLength && grid.allocationPrefixLength === own.allocationPrefixLength
      if (isSame) continue
      const [first] = names
      return first
    }
    for (const [name, { address, length }] of this.#unreadable) {
      if (length !== (address.family === 4 ? spec.ipv4 : spec.ipv6).blockPrefixLength) return name
    }
    return undefined
  }
}

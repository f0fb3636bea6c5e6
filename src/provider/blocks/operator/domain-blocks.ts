import type * as Prefix from '../../../cidr/nouns/prefix.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import type { FamilyGrid } from '../../../crd/ipam-kit/grid.js'
import type { IPDomainSpec } from '../../../crd/ipam-kit/ip-domain.js'
import type { CachedObjects } from '../../../plan/index.js'
import type { ParsedBlock } from '../block/parsed-block.js'
import { gridKey } from '../tasks/watches.js'

type Family = 4 | 6

const FAMILIES = [4, 6] as const

/** A block that cannot be read: its owners are not known, and its name says where it lies. */
interface Unreadable {
  readonly name: string
  readonly prefix: Prefix.Prefix
}

/**
 * The blocks of a domain at the moment of a plan. Each query costs O(blocks of the domain) at most.
 */
export class DomainBlocks {
  readonly #blocks: CachedObjects<ParsedBlock>
  readonly #domain: string

  constructor(blocks: CachedObjects<ParsedBlock>, domain: string) {
    this.#blocks = blocks
    this.#domain = domain
  }

  /** The number of readable blocks. O(1). */
  get size(): number {
    return this.#blocks.countBy('domain', this.#domain)
  }

  /** The blocks that cannot be read. */
  get unreadable(): readonly Unreadable[] {
    return this.#blocks.unreadable().flatMap(({ object: { metadata } }) => {
      const place = parseBlockName(metadata.name)
      return place?.domain === this.#domain ? [{ name: metadata.name, prefix: place.prefix }] : []
    })
  }

  /** The grid on which the blocks of a family lie. */
  gridOf(family: Family): FamilyGrid | undefined {
    const parsed = this.#find(({ prefix }) => prefix.address.family === family)
    return parsed && gridOf(parsed)
  }

  /**
   * A block that cannot be read and does not lie on a grid of the other blocks: its grid is not
   * known.
   */
  get offGrid(): string | undefined {
    const isOnGrid = ({ prefix: { address, length } }: Unreadable) =>
      this.#find(({ prefix }) => prefix.length === length && prefix.address.family === address.family) !== undefined
    return this.unreadable.find((block) => !isOnGrid(block))?.name
  }

  /** A block that does not lie on the grid of the domain. O(1) if all do. */
  offGridOf(spec: IPDomainSpec): string | undefined {
    const onGrid = FAMILIES.map((family) => {
      return this.#blocks.countBy('grid', gridKey(this.#domain, family, family === 4 ? spec.ipv4 : spec.ipv6))
    })
    const areAllOnGrid = onGrid.reduce((sum, count) => sum + count, 0) === this.size
    const wanted = ({ address }: Prefix.Prefix) => (address.family === 4 ? spec.ipv4 : spec.ipv6)
    const isOff = (each: ParsedBlock) => {
      const [has, wants] = [gridOf(each), wanted(each.prefix)]
      return (
        has.blockPrefixLength !== wants.blockPrefixLength || has.allocationPrefixLength !== wants.allocationPrefixLength
      )
    }
    const parsed = areAllOnGrid ? undefined : this.#find(isOff)
    return (
      parsed?.name ?? this.unreadable.find(({ prefix }) => prefix.length !== wanted(prefix).blockPrefixLength)?.name
    )
  }

  #find(isWanted: (parsed: ParsedBlock) => boolean): ParsedBlock | undefined {
    for (const parsed of this.#blocks.each('domain', this.#domain)) if (isWanted(parsed)) return parsed
    return undefined
  }
}

function gridOf({ prefix, object }: ParsedBlock): FamilyGrid {
  return { blockPrefixLength: prefix.length, allocationPrefixLength: object.spec.allocationPrefixLength }
}

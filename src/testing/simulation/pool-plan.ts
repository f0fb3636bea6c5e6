import { Address } from '../../cidr/index.js'
import type { IPPoolSpec } from '../../crd/ipam-kit/ip-pool.js'
import type { Seeker } from './block-rules.js'
import type { Dice } from './dice.js'

/**
 * The pools of a simulation, and what they may be changed to: small and large ones, that overlap,
 * and one of another domain with the same addresses.
 */
export class PoolPlan {
  readonly #dice: Dice
  readonly pools = new Map<string, IPPoolSpec>()
  readonly grid4: { readonly blockPrefixLength: number; readonly allocationPrefixLength: number }
  readonly grid6: { readonly blockPrefixLength: number; readonly allocationPrefixLength: number }
  readonly #size: number
  /** How many blocks a node has at most, where it gets nothing beside those. */
  readonly #maxBlocks: number | undefined

  constructor(dice: Dice) {
    this.#dice = dice
    this.#size = dice.pick([10, 10, 12, 20, 50, 1000, 100_000])
    this.grid4 = { blockPrefixLength: dice.pick([24, 28, 29, 30]), allocationPrefixLength: 32 }
    this.grid6 = { blockPrefixLength: dice.pick([120, 124, 126]), allocationPrefixLength: 128 }
    const affinity = dice.chance(0.3) ? { by: 'node', borrow: dice.chance(0.5), maxBlocksPerNode: 2 } : undefined
    this.#maxBlocks = affinity?.borrow === false ? affinity.maxBlocksPerNode : undefined
    const rules = {
      skipEdges: 'auto',
      order: dice.pick(['lowest', 'lowest', 'next', 'leastRecentlyReleased'] as const),
      reuseAfterSeconds: dice.pick([0, 0, 1]),
      sticky: dice.chance(0.3) ? { by: dice.pick(['mac', 'owner'] as const), forSeconds: 2 } : undefined,
      affinity: affinity as IPPoolSpec['affinity'],
      priority: 0,
      disabled: false,
    } as const
    for (const [name, domain] of [
      ['blue', 'default'],
      ['red', 'default'],
      ['green', 'other'],
    ] as const) {
      this.pools.set(name, { domain, subnets: this.resized(name), ...rules })
    }
  }

  /** What a node may have, where it gets nothing of the blocks of others. */
  nodeOf(name: string, family: 4 | 6): Seeker['node'] {
    const { blockPrefixLength } = family === 4 ? this.grid4 : this.grid6
    return this.#maxBlocks === undefined ? undefined : { name, maxBlocks: this.#maxBlocks, blockPrefixLength }
  }

  /** The ranges of a pool, some of them: red begins in the midst of blue. */
  resized(name: string): IPPoolSpec['subnets'] {
    const half = Math.floor(this.#size / 2)
    const first = (name === 'red' ? half : 1) + this.#dice.pick([0, 0, 3])
    const last = first + Math.max(3, this.#size - this.#dice.pick([0, 0, 2, half]))
    const at = (offset: number) => Address.format(Address.add(Address.parse('10.0.0.0'), offset))
    const six = (offset: number) => Address.format(Address.add(Address.parse('fd00::'), offset))
    const exclude = this.#dice.chance(0.3) ? [at(first + 2)] : undefined
    return [
      { cidr: '10.0.0.0/8', ranges: [`${at(first)}-${at(last)}`], exclude },
      { cidr: 'fd00::/64', ranges: [`${six(first)}-${six(last)}`] },
    ]
  }
}

import type { CachedObjects } from '../../../plan/index.js'
import type { ParsedBlock } from '../block/parsed-block.js'
import { PoolView } from '../pool/pool-view.js'
import { isEmpty } from './block.js'

interface Empty {
  readonly version: string | undefined
  readonly sinceMs: number
}

/** Since when blocks are empty, and which of them stay because their pool has no other capacity. */
export class EmptyBlocks {
  /** By name, with the version: a block that was seen empty is empty in that version. */
  readonly #since: Map<string, Empty>
  /** The blocks that stay, by {@link groupOf}. */
  readonly #kept = new Map<string, Set<string>>()

  /** @param before the state before the reset */
  constructor(before?: EmptyBlocks, exists: (name: string) => boolean = () => true) {
    this.#since = new Map([...(before === undefined ? [] : before.#since)].filter(([name]) => exists(name)))
  }

  /** Since when a block is empty. */
  sinceMs({ name, version }: ParsedBlock, nowMs: number): number {
    const known = this.#since.get(name)
    if (known !== undefined && known.version === version) return known.sinceMs
    this.#since.set(name, { version, sinceMs: nowMs })
    return nowMs
  }

  /** Called for a block that is not empty, cannot be read, or does not exist. */
  forget(name: string): void {
    this.#since.delete(name)
  }

  /**
   * Whether an empty block stays: its pool gives addresses, no block in use of the pool and family
   * has free addresses, and it is the first by name of the empty ones. A block that stays is
   * planned again when another block of the pool changes. O(blocks of the pool).
   */
  keepIfNeeded(parsed: ParsedBlock, pool: unknown, blocks: CachedObjects<ParsedBlock>, nowMs: number): boolean {
    if (!(pool instanceof PoolView) || pool.problem !== undefined || !hasCapacity(parsed, pool, nowMs)) return false
    for (const other of blocks.each('pool', groupOf(parsed))) {
      const comesFirst = other !== parsed && (!isEmpty(other, nowMs) || other.name < parsed.name)
      if (comesFirst && hasCapacity(other, pool, nowMs)) return false
    }
    const kept = this.#kept.get(groupOf(parsed)) ?? new Set()
    this.#kept.set(groupOf(parsed), kept.add(parsed.name))
    return true
  }

  /**
   * Removes the empty blocks that are kept for a pool and family: the pool may not need them any
   * more. @returns their names
   */
  takeKept(group: string): readonly string[] {
    const names = this.#kept.get(group) ?? []
    this.#kept.delete(group)
    return [...names]
  }
}

/** The blocks of one pool and family. */
export function groupOf({ prefix, object }: ParsedBlock): string {
  return `${prefix.address.family} ${object.spec.pool}`
}

/**
 * Whether a pool can give something in a block to any owner. A block of a node serves that node
 * alone, and the node may never return.
 */
function hasCapacity(parsed: ParsedBlock, pool: PoolView, nowMs: number): boolean {
  const { domain, node } = parsed.object.spec
  return node === undefined && pool.object.spec.domain === domain && pool.knowsCapacityIn(parsed, nowMs)
}

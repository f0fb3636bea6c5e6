import type { CachedObjects } from '../../../plan/index.js'
import type { ParsedBlock } from '../block/parsed-block.js'
import { PoolView } from '../pool/pool-view.js'
import { isEmpty } from './block.js'

interface Empty {
  readonly version: string | undefined
  readonly sinceMs: number
}

/** Since when blocks are empty, and which of them stay because their pool has no other room. */
export class EmptyBlocks {
  /** By name, with the version: a block that was seen empty stays empty in that version. */
  readonly #since: Map<string, Empty>
  /** Those that stay, by {@link groupOf}. */
  readonly #kept = new Map<string, Set<string>>()

  /** @param before what was known before the reset */
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

  /** A block is not empty, or cannot be read, or does not exist. */
  forget(name: string): void {
    this.#since.delete(name)
  }

  /**
   * Whether an empty block stays: its pool gives addresses, no block of the pool and family that is
   * in use has room, and it is the first by name of those that are empty. One that stays is looked
   * at again when another block of the pool changes. O(blocks of the pool).
   */
  keepIfNeeded(parsed: ParsedBlock, pool: unknown, blocks: CachedObjects<ParsedBlock>, nowMs: number): boolean {
    if (!(pool instanceof PoolView) || pool.problem !== undefined || !hasRoom(parsed, pool, nowMs)) return false
    for (const other of blocks.each('pool', groupOf(parsed))) {
      const comesFirst = other !== parsed && (!isEmpty(other, nowMs) || other.name < parsed.name)
      if (comesFirst && hasRoom(other, pool, nowMs)) return false
    }
    const kept = this.#kept.get(groupOf(parsed)) ?? new Set()
    this.#kept.set(groupOf(parsed), kept.add(parsed.name))
    return true
  }

  /**
   * Takes out the empty blocks that are kept for a pool and family: they may not be needed any
   * more. @returns their keys
   */
  takeKept(group: string): readonly string[] {
    const names = this.#kept.get(group) ?? []
    this.#kept.delete(group)
    return [...names].map((name) => `IPBlock ${name}`)
  }
}

/** The blocks of one pool and family. */
export function groupOf({ prefix, object }: ParsedBlock): string {
  return `${prefix.address.family} ${object.spec.pool}`
}

/**
 * Whether a pool can give something in a block to any owner. A block of a node is for that node
 * alone, and the node may never come back.
 */
function hasRoom(parsed: ParsedBlock, pool: PoolView, nowMs: number): boolean {
  const { domain, node } = parsed.object.spec
  return node === undefined && pool.object.spec.domain === domain && pool.knowsRoomIn(parsed, nowMs)
}

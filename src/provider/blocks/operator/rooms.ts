import type { BlockBook } from '../book.js'

/** What a block has for its pool: nothing, something, or all that it ever had, because nobody has anything in it. */
export type Room = 'none' | 'some' | 'all'

/** The blocks of one family that were made for a pool. */
interface PoolRooms {
  readonly rooms: Map<string, Room>
  /** How many have `some`. */
  some: number
  /** Those that have `all`. */
  readonly empty: Set<string>
  /** The first of those by name, if that is known. */
  first: string | undefined
  /** Those that stay, empty as they are, because they were found to be needed. */
  readonly kept: Set<string>
  /** Whether some block has more than it had when the kept ones were looked at. */
  hasGained: boolean
}

/**
 * Which blocks of a pool have room, as they were last seen: by that it is told whether an empty one is needed, without a look at the others. What is out of date
 * is so because time has gone on: then a block has more room than is known, and another one is kept for longer.
 */
export class Rooms {
  readonly #pools = new Map<string, PoolRooms>()

  /** Takes in what a block has. O(1). */
  note(book: BlockBook, room: Room): void {
    const pool = this.#poolOf(book)
    const { name } = book
    const before = pool.rooms.get(name)
    if (before === room) return
    drop(pool, name)
    pool.rooms.set(name, room)
    if (room === 'some') pool.some++
    else if (room === 'all') {
      pool.empty.add(name)
      if (pool.first !== undefined && name < pool.first) pool.first = name
    }
    // from all to some is a gain for the others: it stays without being kept
    if (room !== 'none') pool.hasGained = true
  }

  forget(book: BlockBook): void {
    const key = keyOf(book)
    const pool = this.#pools.get(key)
    if (pool === undefined) return
    drop(pool, book.name)
    pool.kept.delete(book.name)
    if (pool.rooms.size === 0) this.#pools.delete(key)
  }

  /** Whether two blocks are counted with each other. */
  areTogether(one: BlockBook, other: BlockBook): boolean {
    return keyOf(one) === keyOf(other)
  }

  /** Whether an empty block is the only one with room; of several such the first, whoever is looked at first. It is remembered as kept then. O(1), amortised. */
  isNeeded(book: BlockBook): boolean {
    const pool = this.#poolOf(book)
    if (pool.some > 0 || pool.rooms.get(book.name) !== 'all') return false
    if (pool.first === undefined) {
      for (const name of pool.empty) if (pool.first === undefined || name < pool.first) pool.first = name
    }
    if (pool.first !== book.name) return false
    pool.kept.add(book.name)
    return true
  }

  /** Takes out the kept ones that may not be needed any more, because another block counted with this one has gained room. */
  takeKept(book: BlockBook): readonly string[] {
    const pool = this.#pools.get(keyOf(book))
    return pool?.hasGained === true ? takeAll(pool) : []
  }

  /** Takes out all that are kept for a pool. */
  takeKeptOf(pool: string): readonly string[] {
    return this.#both(pool).flatMap(takeAll)
  }

  /** The blocks that were made for a pool. */
  blocksOf(pool: string): readonly string[] {
    return this.#both(pool).flatMap(({ rooms }) => [...rooms.keys()])
  }

  clear(): void {
    this.#pools.clear()
  }

  #both(pool: string): readonly PoolRooms[] {
    return [this.#pools.get(`4 ${pool}`), this.#pools.get(`6 ${pool}`)].filter((rooms) => rooms !== undefined)
  }

  #poolOf(book: BlockBook): PoolRooms {
    const key = keyOf(book)
    let pool = this.#pools.get(key)
    if (pool === undefined) {
      pool = { rooms: new Map(), some: 0, empty: new Set(), first: undefined, kept: new Set(), hasGained: false }
      this.#pools.set(key, pool)
    }
    return pool
  }
}

function keyOf({ prefix, object }: BlockBook): string {
  return `${prefix.address.family} ${object.spec.pool}`
}

function drop(pool: PoolRooms, name: string): void {
  if (pool.rooms.get(name) === 'some') pool.some--
  pool.rooms.delete(name)
  pool.empty.delete(name)
  if (pool.first === name) pool.first = undefined
}

function takeAll(pool: PoolRooms): readonly string[] {
  pool.hasGained = false
  const kept = [...pool.kept]
  pool.kept.clear()
  return kept
}

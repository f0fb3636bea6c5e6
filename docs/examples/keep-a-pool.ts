import {
  AddressPool,
  type AddressPoolSpec,
  type AllocationOutcome,
  type AllocationRequest,
  type AtTime,
  type Hold,
  type Owner,
  type PoolCounts,
  type PoolEntry,
  type Released,
} from 'ipam-kit/allocator'
import { Address } from 'ipam-kit/cidr'
import type { SqliteDatabase } from 'ipam-kit/store/sqlite'

/** A row for each address that was ever given. `released_ms` is null while it is in use. */
const TABLE = `create table if not exists holds (
  address text primary key,
  owner text not null,
  sequence integer not null,
  sticky_key text,
  released_ms integer,
  change integer not null unique
) strict`

interface Row {
  readonly address: string
  /** An `Owner` as JSON. */
  readonly owner: string
  readonly sequence: number
  readonly sticky_key: string | null
  readonly released_ms: number | null
  readonly change: number
}

/**
 * An `AddressPool` in a file of SQLite. A call returns after its change is on disk. After a kill,
 * and after a write that failed, the pool is read from the file again.
 */
export class KeptPool {
  readonly #database: SqliteDatabase
  readonly #spec: AddressPoolSpec
  readonly #now: () => number
  /** `undefined`: the file has to be read. */
  #pool: AddressPool | undefined
  /** The version of the file that `#pool` was read from, without changes of this connection. */
  #version: unknown
  #lastChange = 0

  constructor(database: SqliteDatabase, spec: AddressPoolSpec, { now }: { readonly now: () => number }) {
    this.#database = database
    this.#spec = spec
    this.#now = now
    database.exec('pragma busy_timeout = 5000')
    database.exec('pragma journal_mode = wal')
    // a commit is on disk before it is answered
    database.exec('pragma synchronous = full')
    database.exec(TABLE)
  }

  /** An owner that asks again, also after a kill, gets the same addresses. */
  allocate(request: AllocationRequest): AllocationOutcome {
    return this.#change((pool, at) => pool.allocate(request, at))
  }

  releaseOwner(uid: string): Released {
    return this.#change((pool, at) => pool.releaseOwner(uid, at))
  }

  entries(): PoolEntry[] {
    return this.#current().entries()
  }

  counts(): PoolCounts {
    return this.#current().counts({ nowMs: this.#now() })
  }

  /** One transaction: the pool decides, and its decision is written before it is returned. */
  #change<T extends AllocationOutcome | Released>(decide: (pool: AddressPool, at: AtTime) => T): T {
    const nowMs = this.#now()
    this.#database.exec('begin immediate')
    try {
      const answer = decide(this.#current(), { nowMs })
      if (answer.kind === 'allocated') for (const hold of answer.delta.holds) this.#recordHold(hold)
      if (answer.kind === 'release') for (const hold of answer.holds) this.#recordRelease(hold, nowMs)
      this.#database.exec('commit')
      return answer
    } catch (error) {
      // the pool may be ahead of the file
      this.#pool = undefined
      try {
        this.#database.exec('rollback')
      } catch {
        // SQLite has rolled back by itself
      }
      throw error
    }
  }

  /** The primary key refuses a second owner of an address. */
  #recordHold({ address, owner, sequence, stickyKey }: Hold): void {
    const text = Address.format(address)
    this.#database.prepare('delete from holds where address = ? and released_ms is not null').run(text)
    this.#database
      .prepare('insert into holds (address, owner, sequence, sticky_key, change) values (?, ?, ?, ?, ?)')
      .run(text, JSON.stringify(owner), sequence, stickyKey ?? null, ++this.#lastChange)
  }

  #recordRelease({ address }: Hold, nowMs: number): void {
    this.#database
      .prepare('update holds set released_ms = ?, change = ? where address = ?')
      .run(nowMs, ++this.#lastChange, Address.format(address))
  }

  /** The pool as the file has it. It is read at the start, and after a write of another process. */
  #current(): AddressPool {
    const version = Object.values(this.#database.prepare('pragma data_version').get() as object)[0]
    if (this.#pool !== undefined && version === this.#version) return this.#pool
    this.#version = version
    this.#pool = this.#read()
    return this.#pool
  }

  #read(): AddressPool {
    const pool = new AddressPool(this.#spec)
    this.#lastChange = 0
    // a cooldown and the address of a sticky key depend on the order of the releases
    for (const row of this.#database.prepare('select * from holds order by change').all() as Row[]) {
      const address = Address.parse(row.address)
      const owner = JSON.parse(row.owner) as Owner
      pool.occupy(address, owner, { sequence: row.sequence, stickyKey: row.sticky_key ?? undefined })
      if (row.released_ms !== null) pool.release(address, owner, { nowMs: row.released_ms })
      this.#lastChange = row.change
    }
    return pool
  }
}

import type { SqliteDatabase, SqliteStatement } from 'ipam-kit/store/sqlite'

type Row = Record<string, string | number | null>

/**
 * The statements of docs/examples/keep-a-pool.ts on rows in memory, for a Node without SQLite:
 * transactions, the primary key, and the version that changes with commits of another connection.
 * All connections to one file share a `SmallFile`.
 */
export class SmallDatabase implements SqliteDatabase {
  readonly #file: SmallFile
  /** The rows of the open transaction. */
  #rows: ReadonlyMap<string, Row> | undefined

  constructor(file: SmallFile) {
    this.#file = file
  }

  exec(sql: string): void {
    if (sql.startsWith('pragma') || sql.startsWith('create table if not exists holds')) return
    if (sql === 'begin immediate') this.#begin()
    else if (sql === 'commit') this.#end(this.#openRows())
    else if (sql === 'rollback') this.#end(undefined)
    else throw new Error(`a statement that this database does not know: ${sql}`)
  }

  prepare(sql: string): SqliteStatement {
    const known = STATEMENTS[sql]
    if (known === undefined && sql !== 'pragma data_version') throw new Error(`an unknown statement: ${sql}`)
    const write = (...values: unknown[]) => {
      this.#rows = known!(new Map(this.#openRows()), values as (string | number | null)[])
    }
    const all = () => [...(this.#rows ?? this.#file.rows).values()].sort((a, b) => Number(a.change) - Number(b.change))
    return { run: write, get: () => ({ data_version: this.#file.versionFor(this) }), all }
  }

  #begin(): void {
    if (this.#file.writer !== undefined) throw new Error('database is locked')
    this.#file.writer = this
    this.#rows = this.#file.rows
  }

  #openRows(): ReadonlyMap<string, Row> {
    if (this.#rows === undefined) throw new Error('cannot commit - no transaction is active')
    return this.#rows
  }

  #end(rows: ReadonlyMap<string, Row> | undefined): void {
    this.#openRows()
    if (rows !== undefined && rows !== this.#file.rows) this.#file.commit(rows, this)
    this.#rows = undefined
    this.#file.writer = undefined
  }
}

/** What several connections see of one file. */
export class SmallFile {
  rows: ReadonlyMap<string, Row> = new Map()
  writer: SmallDatabase | undefined
  readonly #commits = new Map<SmallDatabase, number>()
  #all = 0

  commit(rows: ReadonlyMap<string, Row>, by: SmallDatabase): void {
    this.rows = rows
    this.#all++
    this.#commits.set(by, (this.#commits.get(by) ?? 0) + 1)
  }

  /** It changes with each commit of another connection. */
  versionFor(database: SmallDatabase): number {
    return this.#all - (this.#commits.get(database) ?? 0)
  }
}

type Values = readonly (string | number | null)[]

const STATEMENTS: Readonly<Record<string, (rows: Map<string, Row>, values: Values) => Map<string, Row>>> = {
  'select * from holds order by change': (rows) => rows,
  'delete from holds where address = ? and released_ms is not null': (rows, [address]) => {
    if (rows.get(String(address))?.released_ms !== null) rows.delete(String(address))
    return rows
  },
  'insert into holds (address, owner, sequence, sticky_key, change) values (?, ?, ?, ?, ?)': (rows, values) => {
    const [address, owner, sequence, sticky_key, change] = values as [string, string, number, string | null, number]
    if (rows.has(address)) throw new Error('UNIQUE constraint failed: holds.address')
    assertNewChange(rows, change)
    return rows.set(address, { address, owner, sequence, sticky_key, released_ms: null, change })
  },
  'update holds set released_ms = ?, change = ? where address = ?': (rows, values) => {
    const [released_ms, change, address] = values as [number, number, string]
    assertNewChange(rows, change)
    return rows.set(address, { ...rows.get(address)!, released_ms, change })
  },
}

function assertNewChange(rows: ReadonlyMap<string, Row>, change: number): void {
  if ([...rows.values()].some((row) => row.change === change)) throw new Error('UNIQUE constraint failed: holds.change')
}

import type { PostgresClient } from 'ipam-kit/store/postgres'
import type { NamingClient } from '../../../src/store/postgres/named-statements.js'

/**
 * What the tests use of pg. That the store fits its types is for the compiler to say, in types/.
 */
export interface Pg {
  readonly default: {
    readonly Pool: new (options: PgOptions & { max: number }) => PgPool
    readonly Client: new (options: PgOptions) => PgClient
  }
}

interface PgOptions {
  readonly connectionString: string
  /** Of the session: `-c name=value`. */
  readonly options?: string
}

export type PgPool = PostgresClient &
  NamingClient & {
    on(event: 'error', listener: () => void): unknown
    end(): Promise<void>
  }

export type PgClient = PostgresClient &
  NamingClient & {
    connect(): Promise<void>
    on(event: 'error', listener: () => void): unknown
    on(event: 'notification', listener: () => void): unknown
    end(): Promise<void>
  }

/** Ways to a server. */
export interface Connections {
  pool(max: number, options?: string): PgPool
  client(options?: string): Promise<PgClient>
  /** The rows of one statement. */
  rows(sql: string): Promise<Record<string, unknown>[]>
}

/** Does something with connections, and closes them all. */
export type Connect = <T>(body: (connections: Connections) => Promise<T>) => Promise<T>

export function connectionsTo(url: string, { default: { Pool, Client } }: Pg): Connect {
  return async (body) => {
    const open: { end(): Promise<void> }[] = []
    const pool: Connections['pool'] = (max, options = '') => {
      const made = new Pool({ connectionString: url, max, options })
      // connections die here on purpose
      made.on('error', () => {})
      open.push(made)
      return made
    }
    const client: Connections['client'] = async (options = '') => {
      const made = new Client({ connectionString: url, options })
      made.on('error', () => {})
      await made.connect()
      open.push(made)
      return made
    }
    const admin = pool(2)
    try {
      return await body({
        pool,
        client,
        rows: async (sql) => (await admin.query(sql)).rows as Record<string, unknown>[],
      })
    } finally {
      await Promise.all(open.map((each) => each.end()))
    }
  }
}

/** A setting of a session, for `options`. */
export function setting(name: string, value: string): string {
  return `-c ${name}=${value.replaceAll(' ', '\\ ')}`
}

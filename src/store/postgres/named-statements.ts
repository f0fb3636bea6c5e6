import type { PostgresClient, PostgresRow, PostgresValue } from './client.js'

/**
 * `Pool` and `Client` of pg: they have a server prepare a statement that has a name once for each
 * connection.
 */
export interface NamingClient {
  query(statement: {
    name: string
    text: string
    values: PostgresValue[]
  }): Promise<{ readonly rows: readonly PostgresRow[] }>
}

/**
 * A client of pg that names each statement. A store has about a dozen statements, and planning a
 * write takes longer than the write itself: with names it takes a third of the time. Not for a
 * proxy that sends statements to different connections without support for names (PgBouncer before
 * 1.21).
 *
 * @example
 * import pg from 'pg'
 *
 * const store = postgresStore(namedStatements(new pg.Pool()), {
 *   now: Date.now,
 *   uid: () => crypto.randomUUID(),
 *   sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
 * })
 */
export function namedStatements(client: NamingClient): PostgresClient {
  const names = new Map<string, string>()
  return {
    query(text: string, values: PostgresValue[] = []) {
      let name = names.get(text)
      if (name === undefined) {
        name = `ipam_kit_${hash(text, 0x811c9dc5)}${hash(text, 0x9dc5811c)}`
        names.set(text, name)
      }
      return client.query({ name, text, values })
    },
  }
}

/**
 * FNV-1a in 32 bits, from any start, as 8 digits. If two texts had one name, the client would
 * refuse the second.
 */
function hash(text: string, start: number): string {
  let value = start
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return (value >>> 0).toString(16).padStart(8, '0')
}

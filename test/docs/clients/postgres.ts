import type { PGlite } from '@electric-sql/pglite'
import type { NamingClient } from '../../../src/store/postgres/named-statements.js'
import { emptyDatabase } from '../../setup/pglite.js'
import type { Clients } from './clients.js'

let db: Promise<PGlite> | undefined

function openDatabase(): Promise<PGlite> {
  db ??= emptyDatabase()
  return db
}

type Statement = string | Parameters<NamingClient['query']>[0]

/** What examples use of `Pool` and `Client` of pg. */
class Connection {
  readonly #unsubscribe = new Map<() => void, Promise<() => void>>()

  async connect(): Promise<void> {}

  async query(statement: Statement, values?: string[]) {
    const { text, values: given } = typeof statement === 'string' ? { text: statement, values } : statement
    return (await openDatabase()).query(text, given)
  }

  on(event: string, listener: () => void): void {
    if (event !== 'notification') return
    this.#unsubscribe.set(
      listener,
      openDatabase().then((open) => open.onNotification(listener)),
    )
  }

  off(_: string, listener: () => void): void {
    this.#unsubscribe.get(listener)?.then((unsubscribe) => unsubscribe())
  }
}

export const postgres: Clients = {
  pg: async () => ({ default: { Pool: Connection, Client: Connection } }),
  '@electric-sql/pglite': async () => ({ PGlite: { create: openDatabase } }),
}

import { FakeDatabase } from '../../store/sqlite-fake.js'
import { nodeSqlite } from '../../store/sqlite-fixture.js'
import type { Clients } from './clients.js'

/**
 * In memory, whatever file is asked for. Before Node 22.13 there is only one that says what it is
 * told to.
 */
function openDatabase() {
  return nodeSqlite === undefined
    ? new FakeDatabase({ select: [{ version: '0' }] })
    : new nodeSqlite.DatabaseSync(':memory:')
}

export const sqlite: Clients = {
  'node:sqlite': async () => ({ DatabaseSync: openDatabase }),
}

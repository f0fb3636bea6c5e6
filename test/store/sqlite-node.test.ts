import { migrateSqlite } from 'ipam-kit/store/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { historyOf } from '../../src/store/sql/history.js'
import { tablesOf } from '../../src/store/sql/tables.js'
import { connect } from '../../src/store/sqlite/connection.js'
import { sqliteEngine } from '../../src/store/sqlite/engine.js'
import { sqlEngineTests } from './sql-engine-tests.js'
import { type NodeDatabase, type NodeSqlite, nodeSqlite, overNodeSqlite, shouldHaveSqlite } from './sqlite-fixture.js'
import { sqliteTraps } from './sqlite-traps.js'

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

it('node:sqlite is there from Node 22.13 on', () => {
  expect(nodeSqlite !== undefined).toBe(shouldHaveSqlite())
  expect(['20.19.0', '22.12.9', '22.13.0', '23.1.0'].map(shouldHaveSqlite)).toEqual([false, false, true, true])
})

function testWith(nodeSqlite: NodeSqlite): void {
  const { DatabaseSync } = nodeSqlite

  describe('an engine on node:sqlite', () => {
    let database: NodeDatabase
    beforeEach(() => {
      database = new DatabaseSync(':memory:')
      migrateSqlite(database)
    })
    afterEach(() => database.close())

    sqlEngineTests(() => ({
      engine: (history) =>
        sqliteEngine(connect(database, {}), {
          tables: tablesOf({}),
          history: historyOf({ history }),
          polling: { sleep },
        }),
      rows: async (sql) => database.prepare(sql.replaceAll('$', 'ipam_kit_')).all() as Record<string, unknown>[],
    }))
  })

  describe('a trap of node:sqlite', () => {
    for (const { name, run } of sqliteTraps(overNodeSqlite(nodeSqlite))) it(name, run)
  })
}

// nothing more to run on Node 20: better-sqlite3, which it can have, is among the tests with real
// components
if (nodeSqlite !== undefined) testWith(nodeSqlite)

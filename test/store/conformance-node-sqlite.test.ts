import { randomUUID } from 'node:crypto'
import { migrateSqlite, sqliteStore } from 'ipam-kit/store/sqlite'
import { conformanceKinds, storeConformance } from 'ipam-kit/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { freshFile, type NodeDatabase, nodeSqlite, shouldHaveSqlite } from './sqlite-fixture.js'

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

test('node:sqlite is there from Node 22.13 on', () => {
  expect(nodeSqlite !== undefined).toBe(shouldHaveSqlite())
})

for (const [where, isFile] of [
  ['a file', true],
  ['memory', false],
] as const) {
  // nothing to run on Node 20: better-sqlite3, which it can have, is among the tests with real
  // components
  if (nodeSqlite === undefined) continue
  const { DatabaseSync } = nodeSqlite

  describe(`node:sqlite, ${where}`, () => {
    const { file, remove } = freshFile()
    const databases: NodeDatabase[] = []
    beforeAll(() => {
      databases.push(new DatabaseSync(isFile ? file : ':memory:'))
      migrateSqlite(databases[0]!)
    })
    afterAll(() => {
      for (const database of databases) database.close()
      remove()
    })

    // each store on a file has a connection of its own, as if it were in another process
    const open = () => {
      if (isFile) databases.push(new DatabaseSync(file))
      const options = { now: Date.now, uid: randomUUID, kinds: conformanceKinds, sleep, pollMs: 10 }
      return sqliteStore(databases.at(-1)!, options)
    }
    for (const { name, run } of storeConformance({ open, sleep })) it(name, run)
  })
}

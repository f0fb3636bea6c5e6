import { randomUUID } from 'node:crypto'
import type { PGlite } from '@electric-sql/pglite'
import { migratePostgres, postgresStore } from 'ipam-kit/store/postgres'
import { conformanceKinds, storeConformance } from 'ipam-kit/testing'
import { beforeAll, describe, it } from 'vitest'
import { emptyDatabase } from '../setup/pglite.js'

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

describe('PGlite', () => {
  let db: PGlite
  beforeAll(async () => {
    db = await emptyDatabase()
    await migratePostgres(db)
    await db.query('listen ipam_kit_changes')
  })

  // watches are woken by notifications alone
  const open = () =>
    postgresStore(db, {
      now: Date.now,
      uid: randomUUID,
      kinds: conformanceKinds,
      sleep,
      pollMs: 60_000,
      subscribe: (wake) => db.onNotification(wake),
    })
  for (const { name, run } of storeConformance({ open, sleep })) it(name, run)
})

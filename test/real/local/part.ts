import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { memoryStore } from 'ipam-kit/store/memory'
import { migratePostgres, postgresStore } from 'ipam-kit/store/postgres'
import { conformanceKinds } from 'ipam-kit/testing'
import { runConformance } from '../conformance.js'
import type { Part } from '../report.js'

const options = { now: Date.now, uid: randomUUID, kinds: conformanceKinds, sleep }

/**
 * The stores that need no server and no client beyond what the tests have anyway: for the table of
 * all.
 */
export const local: Part = {
  name: 'local',
  about: 'the store in memory and the one over PGlite keep the contract',
  place: 'first',
  async run(report) {
    const memory = memoryStore({ now: Date.now, kinds: conformanceKinds })
    const { capabilities } = memory
    await runConformance(report, {
      adapter: 'memory',
      versions: 'in this process',
      capabilities,
      open: () => memory,
      sleep,
    })

    const db = new PGlite()
    await migratePostgres(db)
    const store = postgresStore(db, { ...options, pollMs: 10 })
    const { rows } = await db.query<{ version: string }>("select split_part(version(), ' ', 2) as version")
    const versions = `PostgreSQL ${rows[0]!.version} in this process`
    await runConformance(report, {
      adapter: 'pglite',
      versions,
      capabilities: store.capabilities,
      open: () => store,
      sleep,
    })
    await db.close()
  },
}

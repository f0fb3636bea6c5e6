import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { migratePostgres, namedStatements, postgresStore } from 'ipam-kit/store/postgres'
import { conformanceKinds, storeConformance } from 'ipam-kit/testing'
import { runConformance } from '../conformance.js'
import type { Part, Report } from '../report.js'
import { clientVersion, importClient, installClients } from '../servers/install.js'
import { startPostgres } from '../servers/postgres.js'
import { compile } from '../types.js'
import { type Connect, connectionsTo, type Pg, setting } from './connections.js'
import { encodings } from './encodings.js'
import { failures } from './failures.js'
import { plans } from './plans.js'
import { races } from './races.js'

/** The store over pg and a real server. */
export const postgres: Part = {
  name: 'postgres',
  about: 'the store over pg and a real PostgreSQL keeps the contract, with many connections and when they die',
  async run(report, depth) {
    await installClients()
    await report.test('pg fits without a cast', () => compile(new URL('types', import.meta.url)))
    const server = await startPostgres()
    const pg = await importClient<Pg>('pg')
    const connect = connectionsTo(server.url, pg)
    const versions = `PostgreSQL ${server.version}, pg ${clientVersion('pg')}`
    try {
      await conformance(report, connect, versions)
      await races(report, connect, depth)
      await plans(report, connect)
      await encodings(report, connect, server.url, pg)
      await failures(report, connect, server)
    } finally {
      await server.stop()
    }
  },
}

/** Once as it is meant to be used, which is for the table; and once with as little as will do. */
async function conformance(report: Report, connect: Connect, versions: string): Promise<void> {
  const options = { now: Date.now, uid: randomUUID, kinds: conformanceKinds, sleep }
  await connect(async ({ pool, client, rows }) => {
    /** A pool whose connections can all be ended; it has heard of that when `cut` is done. */
    const cuttable = (name: string, max: number) => {
      const made = pool(max, setting('application_name', name))
      const cut = async () => {
        const others = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = '${name}'`
        assert((await rows(others)).length > 0, 'no connection to cut')
        const tryAll = () => Promise.allSettled(Array.from({ length: max }, () => made.query('select 1')))
        while ((await tryAll()).some(({ status }) => status === 'rejected')) await sleep(5)
      }
      return { pool: made, cut }
    }
    const listener = await client()
    await listener.query('listen here')
    const listeners = new Set<() => void>()
    listener.on('notification', () => {
      for (const wake of listeners) wake()
    })
    const subscribe = (wake: () => void) => {
      listeners.add(wake)
      return () => listeners.delete(wake)
    }
    const many = cuttable('many', 10)
    await migratePostgres(many.pool, { schema: 'many' })
    // watches that are not woken would take too long
    const woken = { ...options, schema: 'many', channel: 'here', subscribe, pollMs: 60_000 }
    const open = () => postgresStore(namedStatements(many.pool), woken)
    const { capabilities } = open()
    await runConformance(report, { adapter: 'pg', versions, capabilities, open, sleep, interruptWatches: many.cut })

    const one = cuttable('one', 1)
    await migratePostgres(one.pool, { schema: 'one' })
    const alone = () => postgresStore(one.pool, { ...options, schema: 'one', pollMs: 10 })
    for (const { name, run } of storeConformance({ open: alone, sleep, interruptWatches: one.cut })) {
      await report.test(`pg, one connection: ${name}`, async () => {
        await run()
        return undefined
      })
    }
  })
}

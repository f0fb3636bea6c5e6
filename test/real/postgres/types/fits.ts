// Compiled with the types of the client: it fits as it is.
import { migratePostgres, namedStatements, type PostgresClient, postgresStore } from 'ipam-kit/store/postgres'
import pg from 'pg'

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))
const [pool, client] = [new pg.Pool(), new pg.Client()]
export const fits: PostgresClient[] = [pool, client, namedStatements(pool), namedStatements(client)]
export const migrated = migratePostgres(pool)
export const store = postgresStore(pool, {
  now: Date.now,
  uid: () => '',
  sleep,
  subscribe: (wake) => {
    client.on('notification', wake)
    return () => client.off('notification', wake)
  },
})

// @ts-expect-error a client that is none does not fit
postgresStore({ query: () => [] }, { now: Date.now, uid: () => '', sleep })

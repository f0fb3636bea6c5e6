import { memoryStore } from 'ipam-kit'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { now, sleep, uid } from 'ipam-kit/node'
import { etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import { migratePostgres, type PostgresClient, postgresStore } from 'ipam-kit/store/postgres'
import { type RedisClient, redisStore } from 'ipam-kit/store/redis'
import { migrateSqlite, type SqliteDatabase, sqliteStore } from 'ipam-kit/store/sqlite'

// With `kinds`, the store refuses a claim without a namespace, as an API server does.
const kinds = [IPAddressClaim, IPAddress, InClusterIPPool]
export const inMemory = () => memoryStore({ now, uid, kinds })

// new DatabaseSync('ipam.db') of node:sqlite, or new Database('ipam.db') of better-sqlite3
export function onSqlite(database: SqliteDatabase) {
  migrateSqlite(database)
  return sqliteStore(database, { now, uid, sleep, kinds })
}

// new pg.Pool({ connectionString }), with a listener for 'error'; or await PGlite.create('./ipam')
export async function onPostgres(client: PostgresClient) {
  await migratePostgres(client)
  return postgresStore(client, { now, uid, sleep, kinds })
}

// new Redis({ maxRetriesPerRequest: 1, commandTimeout: 5000 }) of ioredis, with a listener for 'error'
export const onRedis = (client: RedisClient) => redisStore(client, { now, uid, sleep, kinds })

export const onEtcd = (url: string) => etcdStore(etcdGateway({ fetch, url }), { now, uid, sleep, kinds })

import { nodeSqlite } from '../../test/store/sqlite-fixture.js'
import type { Bench } from './calls.js'
import { overEtcd } from './engines/etcd.js'
import { overKubernetes } from './engines/kubernetes.js'
import { overMemory } from './engines/memory.js'
import { overPg, overPglite } from './engines/postgres.js'
import { overIoredis, overNodeRedis } from './engines/redis.js'
import { overBetterSqlite, overNodeSqlite } from './engines/sqlite.js'

/** Every store with every client that this Node has. */
export const stores: Readonly<Record<string, () => Promise<Bench>>> = {
  memory: overMemory,
  'SQLite, better-sqlite3': overBetterSqlite,
  ...(nodeSqlite === undefined ? {} : { 'SQLite, node:sqlite': overNodeSqlite }),
  PGlite: overPglite,
  'PostgreSQL, pg': overPg,
  'Redis, ioredis': overIoredis,
  'Redis, node-redis': overNodeRedis,
  'etcd, fetch': overEtcd,
  'Kubernetes, client-node': overKubernetes,
}

import { findChromium } from './browser/chromium.js'
import { installSqlite } from './servers/install.js'
import { KUBE_BINARIES, kubeBinary } from './servers/kube-binaries.js'
import { findPostgres } from './servers/postgres.js'
import { findRedis } from './servers/redis.js'

/** Whatever the parts find, install or build: once on a machine, most of it. */
export async function prepare(): Promise<void> {
  await installSqlite()
  console.log(`  ${findChromium()}, ${await findPostgres()}, ${await findRedis()}`)
  for (const name of KUBE_BINARIES) console.log(`  ${await kubeBinary(name)}`)
}

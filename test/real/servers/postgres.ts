import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aptInstall } from './apt.js'
import { dataFolder, type Owner, type RealServer, removeFolder, startServer } from './server.js'
import { findProgram, freePort, run } from './tools.js'

const DEBIAN = '/usr/lib/postgresql'
const NO_CLUSTER = '/etc/postgresql-common/createcluster.d/no-main.conf'

/**
 * A PostgreSQL with an empty cluster: user `ipam` without a password, database `postgres`, encoding
 * UTF8, collation C. Its settings are those of the package, with fsync and synchronous commits on.
 */
export async function startPostgres(): Promise<RealServer> {
  const bin = await findPostgres()
  const owner = await notRoot()
  const port = await freePort()
  const folder = dataFolder('postgres', owner)
  const data = join(folder, 'data')
  try {
    const args = ['-D', data, '-U', 'ipam', '-A', 'trust', '-E', 'UTF8', '--locale=C']
    await run(join(bin, 'initdb'), args, { cwd: folder, ...owner })
  } catch (error) {
    await removeFolder(folder)
    throw error
  }
  return startServer({
    name: 'PostgreSQL',
    url: `postgres://ipam@127.0.0.1:${port}/postgres`,
    folder,
    version: async () => / (\d+[\d.]*)/.exec(await run(join(bin, 'postgres'), ['--version']))![1]!,
    programs: [
      {
        name: 'postgres',
        command: join(bin, 'postgres'),
        args: ['-D', data, '-p', `${port}`, '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
        ...owner,
        // "fast": sessions are ended, not waited for
        stopSignal: 'SIGINT',
        readySeconds: 60,
        ready: async () => {
          await run(join(bin, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', `${port}`, '-U', 'ipam'])
          return true
        },
      },
    ],
  })
}

/** The folder of the server's programs. */
export async function findPostgres(): Promise<string> {
  const found = installed()
  if (found !== undefined) return found
  // the package makes a cluster of its own if it is not told otherwise before it is installed
  if (process.getuid?.() === 0 && !existsSync(NO_CLUSTER)) {
    mkdirSync(join(NO_CLUSTER, '..'), { recursive: true })
    writeFileSync(NO_CLUSTER, 'create_main_cluster = false\n')
  }
  await aptInstall('PostgreSQL', ['postgresql-15'])
  const bin = installed()
  if (bin === undefined) throw new Error(`apt-get has installed postgresql-15, and there is no initdb in ${DEBIAN}`)
  return bin
}

function installed(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : []
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN, version, 'bin'))
  for (const folder of [...folders, ...(process.env.PATH ?? '').split(':')]) {
    if (['initdb', 'postgres', 'pg_isready'].every((name) => existsSync(join(folder, name)))) return folder
  }
  return undefined
}

/** PostgreSQL refuses to run as root: it gets the user that comes with the package, or nobody. */
async function notRoot(): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const id = findProgram('id') ?? 'id'
  for (const user of ['postgres', 'nobody']) {
    try {
      return { uid: Number(await run(id, ['-u', user])), gid: Number(await run(id, ['-g', user])) }
    } catch {
      // the next one
    }
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody')
}

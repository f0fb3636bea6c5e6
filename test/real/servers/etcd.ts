import { join } from 'node:path'
import { kubeBinary } from './kube-binaries.js'
import type { Program } from './processes.js'
import { dataFolder, type RealServer, startServer } from './server.js'
import { freePort } from './tools.js'

export interface EtcdOptions {
  /**
   * Does not wait for the disk: about ten times as fast, and for everything but tests of
   * durability.
   */
  readonly fast?: boolean
}

/** An empty etcd of one member. It waits for the disk at each write, if it is not to be fast. */
export async function startEtcd(options: EtcdOptions = {}): Promise<RealServer> {
  const folder = dataFolder('etcd')
  const { url, program } = await etcdProgram(folder, options)
  return startServer({ name: 'etcd', url, folder, programs: [program], version: () => etcdVersion(url) })
}

/** etcd as a program of a server. */
export async function etcdProgram(
  folder: string,
  { fast = false }: EtcdOptions = {},
): Promise<{ url: string; program: Program }> {
  const command = await kubeBinary('etcd')
  const [url, peers] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  const clients = [`--listen-client-urls=${url}`, `--advertise-client-urls=${url}`]
  const itself = [`--listen-peer-urls=${peers}`, `--initial-advertise-peer-urls=${peers}`]
  // one member is its own majority: it need not wait a second for others before it leads
  const alone = [`--initial-cluster=default=${peers}`, '--heartbeat-interval=50', '--election-timeout=250']
  const program = {
    name: 'etcd',
    command,
    args: [
      ...[`--data-dir=${join(folder, 'etcd')}`, '--log-level=warn', ...clients, ...itself, ...alone],
      ...(fast ? ['--unsafe-no-fsync'] : []),
    ],
    readySeconds: 60,
    ready: async () => {
      const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2000) })
      const { health } = (await response.json()) as { health?: string }
      return health === 'true'
    },
  }
  return { url, program }
}

async function etcdVersion(url: string): Promise<string> {
  const { etcdserver } = (await (await fetch(`${url}/version`)).json()) as { etcdserver: string }
  return etcdserver
}

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from 'ipam-kit/store'
import { type Adapter, runConformance } from '../conformance.js'
import { pause } from '../pace.js'
import type { Part, Report } from '../report.js'
import { clientVersion, installClients } from '../servers/install.js'
import { redisSays, startRedis } from '../servers/redis.js'
import { compile } from '../types.js'
import { Clients, storeOver } from './clients.js'
import { cluster } from './cluster.js'
import { connections } from './connections.js'
import { history } from './history.js'
import { refusals } from './refusals.js'

/** The store over a real Redis, with both clients. */
export const redis: Part = {
  name: 'redis',
  about: 'the store over ioredis and node-redis on a real Redis keeps the contract',
  async run(report) {
    await installClients()
    await report.test('both clients fit without a cast', () => compile(new URL('types', import.meta.url)))
    const server = await startRedis()
    const port = Number(new URL(server.url).port)
    const clients = new Clients(port)
    const setup = { report, version: server.version, port, clients, folder: server.folder }
    try {
      const ioredis = async () => storeOver(await clients.ioredis({ maxRetriesPerRequest: 1 }))
      const nodeRedis = async () => storeOver(await clients.nodeRedis())
      await conformance(setup, { adapter: 'ioredis', client: 'ioredis', open: ioredis })
      await conformance(setup, { adapter: 'node-redis', client: 'redis', open: nodeRedis })
      await connections(setup)
      await refusals(setup)
      await history(setup)
      await cluster(setup)
    } finally {
      clients.close()
      await server.stop()
    }
  },
}

export interface Setup {
  readonly report: Report
  readonly version: string
  readonly port: number
  /** Where the server has its files. */
  readonly folder: string
  readonly clients: Clients
}

interface Opening {
  readonly adapter: Adapter
  /** The name of its package. */
  readonly client: string
  open(): Promise<Store>
}

async function conformance({ report, version, port, clients }: Setup, { adapter, client, open }: Opening) {
  const interruptWatches = async () => {
    const killed = await redisSays(port, 'CLIENT', 'KILL', 'TYPE', 'normal')
    assert.notEqual(killed, ':0', 'no connection to cut')
    // the clients connect again by themselves
    await pause(100)
  }
  const versions = `Redis ${version}, ${client} ${clientVersion(client)}`
  const { capabilities } = await open()
  const afterCase = () => clients.close()
  const run = { adapter, versions, capabilities, afterCase, open, sleep, interruptWatches, run: adapter }
  await runConformance(report, run)
}

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisClient, redisStore } from 'ipam-kit/store/redis'
import { conformanceKinds } from 'ipam-kit/testing'
import type { RedisCaller } from '../../../src/store/redis/client.js'
import { eventsOf, outline, pool, pools, ref, versionOf } from '../pools.js'
import { importClient } from '../servers/install.js'
import { redisSays } from '../servers/redis.js'
import { dataFolder, startServer } from '../servers/server.js'
import { findProgram, freePort, waitFor } from '../servers/tools.js'
import type { Setup } from './part.js'

interface IoCluster extends RedisCaller {
  on(event: string, listener: () => void): unknown
  disconnect(): void
}

interface NodeCluster {
  on(event: string, listener: () => void): unknown
  connect(): Promise<unknown>
  sendCommand(firstKey: string | undefined, isReadonly: boolean, args: string[]): Promise<unknown>
  destroy(): void
}

/** Two nodes with half of the keys each: a store is on one of them, with everything. */
export async function cluster({ report }: Setup): Promise<void> {
  const nodes = [await newNode(), await newNode()] as const
  const ports = nodes.map(({ port }) => port)
  const server = await startCluster(nodes)
  try {
    await connect(nodes)
    const { Cluster } = await importClient<{ Cluster: new (nodes: object[], settings: object) => IoCluster }>('ioredis')
    const { createCluster } = await importClient<{ createCluster(settings: object): NodeCluster }>('redis')
    await report.test('a cluster, with ioredis', async () => {
      const client = new Cluster([{ host: '127.0.0.1', port: ports[0] }], { scaleReads: 'slave' })
      client.on('error', () => {})
      await exercise(client, 'io')
      client.disconnect()
      return undefined
    })
    await report.test('a cluster, with node-redis', async () => {
      const client = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) })
      client.on('error', () => {})
      await client.connect()
      await exercise({ sendCommand: (args) => client.sendCommand(args[3], false, args) }, 'node')
      client.destroy()
      return undefined
    })
    await report.test('the keys of each store are on one node, and not all on the same', async () => {
      const counts: number[][] = []
      for (const port of ports) {
        const answers = await Promise.all(PREFIXES.map((prefix) => redisSays(port, 'EXISTS', `{io-${prefix}}:store`)))
        counts.push(answers.map((answer) => (answer === ':1' ? 1 : 0)))
      }
      const sums = counts[0]!.map((count, index) => count + counts[1]![index]!)
      assert.deepEqual([sums, new Set(counts[0]).size], [PREFIXES.map(() => 1), 2])
      return undefined
    })
  } finally {
    await server.stop()
  }
}

const PREFIXES = ['a', 'b', 'c', 'd', 'e', 'f']

async function exercise(client: RedisClient, name: string): Promise<void> {
  for (const prefix of PREFIXES) {
    const options = { now: Date.now, uid: randomUUID, sleep, kinds: conformanceKinds, pollMs: 20 }
    const store = redisStore(client, { ...options, prefix: `${name}-${prefix}` })
    const start = versionOf(await store.create(pool('a')))
    versionOf(await store.patch(ref('a'), { spec: { x: 1 } }, { resourceVersion: start }))
    versionOf(await store.delete(ref('a')))
    versionOf(await store.create(pool('b')))
    const listed = await store.list(pools)
    assert.equal(listed.ok && listed.value.items.length, 1)
    assert.deepEqual(outline(await eventsOf(store, start, 3)), ['MODIFIED a', 'DELETED a', 'ADDED b'])
  }
}

interface ClusterNode {
  readonly port: number
  /** Where it talks to the other. */
  readonly busPort: number
}

async function newNode(): Promise<ClusterNode> {
  return { port: await freePort(), busPort: await freePort() }
}

async function startCluster(nodes: readonly ClusterNode[]) {
  const command = findProgram('redis-server')!
  const folder = dataFolder('redis-cluster')
  const programs = nodes.map(({ port, busPort }) => {
    const own = join(folder, String(port))
    mkdirSync(own)
    const listen = ['--bind', '127.0.0.1', '--port', String(port), '--cluster-port', String(busPort)]
    const ready = async () => (await redisSays(port, 'PING')) === '+PONG'
    const args = [...listen, '--cluster-enabled', 'yes', '--dir', own, '--save', '']
    return { name: `redis-${port}`, command, args, readySeconds: 60, ready }
  })
  const url = `redis://127.0.0.1:${nodes[0]!.port}`
  return startServer({ name: 'Redis cluster', url, folder, programs, version: async () => '' })
}

async function connect([first, second]: readonly [ClusterNode, ClusterNode]): Promise<void> {
  const say = async ({ port }: ClusterNode, ...words: readonly string[]) => {
    assert.equal(await redisSays(port, 'CLUSTER', ...words), '+OK')
  }
  await say(first, 'ADDSLOTSRANGE', '0', '8191')
  await say(second, 'ADDSLOTSRANGE', '8192', '16383')
  await say(first, 'MEET', '127.0.0.1', String(second.port), String(second.busPort))
  for (const { port } of [first, second]) {
    const look = async () => ((await redisSays(port, 'SET', 'x', 'y')).match(/^(\+OK|-MOVED)/) ? true : undefined)
    await waitFor(look, { seconds: 20, else: `node ${port} has no cluster` })
  }
}

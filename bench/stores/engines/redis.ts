import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { type RedisClient, redisStore } from 'ipam-kit/store/redis'
import { Keys, kindOf } from '../../../src/store/redis/keys.js'
import type { RedisStoreOptions } from '../../../src/store/redis/redis-store.js'
import { changesScript, commitScript, scanScript } from '../../../src/store/redis/scripts.js'
import { Clients } from '../../../test/real/redis/clients.js'
import { clientVersion } from '../../../test/real/servers/install.js'
import { startRedis } from '../../../test/real/servers/redis.js'
import { type Bench, type Calls, GROUP, KIND, type Listed, NAMESPACES, storeCalls } from '../calls.js'
import { firstOf, nextOf, type RawDocument, read, serially, withVersion } from '../raw.js'

const HISTORY = { history: 10_000, historyBytes: 64 * 1024 * 1024 } as const
const OPTIONS = { now: Date.now, uid: randomUUID, kinds: [KIND], sleep, ...HISTORY }

type Send = (command: string, ...args: string[]) => Promise<unknown>
type Subscribe = NonNullable<RedisStoreOptions['subscribe']>

export function overIoredis(): Promise<Bench> {
  return over('ioredis', async (clients) => {
    const client = await clients.ioredis({ maxRetriesPerRequest: 1 })
    const send: Send = (command, ...args) => client.call(command, ...args)
    return { client, send, subscribe: await clients.ioredisSubscription(client) }
  })
}

export function overNodeRedis(): Promise<Bench> {
  return over('redis', async (clients) => {
    const client = await clients.nodeRedis()
    const send: Send = (...words) => client.sendCommand(words)
    return { client, send, subscribe: await clients.nodeRedisSubscription(client) }
  })
}

interface Connection {
  readonly client: RedisClient
  readonly send: Send
  readonly subscribe: Subscribe
}

/**
 * A connection for both sides to write and read, and another one and a subscription for both to
 * watch.
 */
async function over(name: string, connect: (clients: Clients) => Promise<Connection>): Promise<Bench> {
  const server = await startRedis()
  const clients = new Clients(Number(new URL(server.url).port))
  const [writing, watching] = [await connect(clients), await connect(clients)]
  for (const { text } of [commitScript, scanScript, changesScript]) await writing.send('SCRIPT', 'LOAD', text)
  const store = redisStore(writing.client, OPTIONS)
  const watcher = redisStore(watching.client, { ...OPTIONS, subscribe: watching.subscribe })
  return {
    versions: `Redis ${server.version} with ${name} ${clientVersion(name)}`,
    ours: storeCalls(store, watcher),
    raw: rawCalls(writing.send, watching),
    async close() {
      clients.close()
      await server.stop()
    },
  }
}

const PLACE = { group: GROUP, kind: KIND.kind } as const
const KEYS = new Keys('ipam-kit')
const LIMITS = [String(HISTORY.history), String(HISTORY.historyBytes), '600'] as const

/** By hand: the scripts of the store, but for the read of one document. */
function rawCalls(send: Send, watching: Connection): Calls {
  const namespace = NAMESPACES.raw
  const [documents] = KEYS.toRead(PLACE) as [string]
  const written = async (object: KubeObject, before?: RawDocument): Promise<KubeObject> => {
    const keys = KEYS.toWrite(PLACE, randomUUID())
    const field = `${namespace},${object.metadata.name}`
    const words = [field, before?.revision ?? '', JSON.stringify(object), kindOf(PLACE), ...LIMITS]
    const [outcome, revision] = (await send('EVALSHA', commitScript.sha, '6', ...keys, ...words)) as string[]
    if (outcome !== 'done') throw new Error(outcome)
    return withVersion(object, revision!)
  }
  return {
    namespace,
    create: (object) => written(firstOf(object)),
    async update(object) {
      const value = (await send('HGET', documents, `${namespace},${object.metadata.name}`)) as string | null
      const before = value === null ? undefined : documentOf(value)
      return written(nextOf(before, object), before)
    },
    async list(from): Promise<Listed> {
      const range = [`[${from},`, `(${from}-`, '-1', '-1']
      const reply = await send('EVALSHA', scanScript.sha, '3', ...KEYS.toScan(PLACE), ...range)
      // the names of some documents as one text, their values, and so on
      const [revision, , ...parts] = reply as [string, string, ...(string | string[])[]]
      const values = parts.filter((part) => Array.isArray(part)).flat()
      return { items: values.map((value) => read(documentOf(value))), resourceVersion: revision }
    },
    watch: (told) => watch(watching, namespace, told),
  }
}

async function watch({ send, subscribe }: Connection, namespace: string, told: (object: KubeObject) => void) {
  const changesAfter = async (after: string) => {
    const words = [after, kindOf(PLACE), `${namespace},`, '500', '4194304', '2000']
    return (await send('EVALSHA', changesScript.sha, '2', ...KEYS.toFollow(PLACE), ...words)) as string[]
  }
  let after = (await changesAfter(''))[1]!
  const look = serially(async () => {
    const [kind, revision, , ...words] = await changesAfter(after)
    if (kind !== 'page') throw new Error(kind)
    after = revision!
    for (let at = 0; at < words.length; at += 4) told(read({ revision: words[at]!, text: words[at + 3]! }))
  })
  const stop = subscribe(look)
  return async () => stop()
}

function documentOf(value: string): RawDocument {
  const end = value.indexOf('\n')
  return { revision: value.slice(0, end), text: value.slice(end + 1) }
}

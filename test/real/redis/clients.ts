import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisStore } from 'ipam-kit/store/redis'
import { conformanceKinds } from 'ipam-kit/testing'
import type { RedisCaller, RedisSender } from '../../../src/store/redis/client.js'
import type { RedisStoreOptions } from '../../../src/store/redis/redis-store.js'
import { importClient } from '../servers/install.js'

// what is used of the clients: that they fit is for the compiler to say, in types/

export interface IoRedis extends RedisCaller {
  on(event: string, listener: (...words: string[]) => void): unknown
  duplicate(): IoRedis
  subscribe(channel: string): Promise<unknown>
  disconnect(): void
}

interface NodeRedis extends RedisSender {
  on(event: string, listener: () => void): unknown
  connect(): Promise<unknown>
  duplicate(): NodeRedis
  subscribe(channel: string, listener: () => void): Promise<unknown>
  destroy(): void
}

type Options = Partial<RedisStoreOptions>

/** Opens stores on a port, each with a client of its own, and closes them all. */
export class Clients {
  readonly port: number
  readonly #closes: (() => void)[] = []

  constructor(port: number) {
    this.port = port
  }

  async ioredis(settings: object = {}): Promise<IoRedis> {
    const { Redis } = await importClient<{ Redis: new (settings: object) => IoRedis }>('ioredis')
    return this.#keep(new Redis({ port: this.port, ...settings }))
  }

  async nodeRedis(settings: object = {}): Promise<NodeRedis> {
    const { createClient } = await importClient<{ createClient(settings: object): NodeRedis }>('redis')
    const client = createClient({ url: `redis://127.0.0.1:${this.port}`, ...settings })
    client.on('error', () => {})
    this.#closes.push(() => client.destroy())
    await client.connect()
    return client
  }

  /** As said in the documentation of the store. */
  async ioredisSubscription(client: IoRedis): Promise<NonNullable<Options['subscribe']>> {
    const subscriber = this.#keep(client.duplicate())
    const listeners = new Set<() => void>()
    subscriber.on('message', () => {
      for (const wake of listeners) wake()
    })
    await subscriber.subscribe('{ipam-kit}:store:changes')
    return (wake) => {
      listeners.add(wake)
      return () => listeners.delete(wake)
    }
  }

  async nodeRedisSubscription(client: NodeRedis): Promise<NonNullable<Options['subscribe']>> {
    const subscriber = client.duplicate()
    subscriber.on('error', () => {})
    this.#closes.push(() => subscriber.destroy())
    await subscriber.connect()
    const listeners = new Set<() => void>()
    await subscriber.subscribe('{ipam-kit}:store:changes', () => {
      for (const wake of listeners) wake()
    })
    return (wake) => {
      listeners.add(wake)
      return () => listeners.delete(wake)
    }
  }

  close(): void {
    for (const close of this.#closes.splice(0)) close()
  }

  #keep(client: IoRedis): IoRedis {
    client.on('error', () => {})
    this.#closes.push(() => client.disconnect())
    return client
  }
}

export function storeOver(client: IoRedis | NodeRedis, options: Options = {}) {
  const all = { now: Date.now, uid: randomUUID, sleep, kinds: conformanceKinds, pollMs: 50, ...options }
  return redisStore(client, all)
}

import { describe, expect, test } from 'vitest'
import { type Load, openStore } from '../../docs/examples/open-store.js'

/** A client that notes what it was made with, and cannot be used. */
async function settingsOf(engine: 'postgres' | 'redis', name: string): Promise<object> {
  const made: object[] = []
  class Client {
    constructor(...settings: object[]) {
      made.push(settings.at(-1)!)
    }
    on() {}
    disconnect() {}
    async end() {}
    async connect() {
      throw new Error('no server')
    }
    async query() {
      throw new Error('no server')
    }
  }
  const load: Load = async <T>(wanted: string) => {
    if (wanted === name) return { Redis: Client, default: { Pool: Client } } as T
    throw Object.assign(new Error(wanted), { code: 'ERR_MODULE_NOT_FOUND' })
  }
  await expect(openStore({ engine, place: `${engine}://h` }, { kinds: [], load })).rejects.toThrow('no server')
  expect(made.length).toBe(1)
  return made[0]!
}

describe('a server that goes silent is not waited for', () => {
  test('by ioredis: it gives up each command', async () => {
    expect(await settingsOf('redis', 'ioredis')).toMatchObject({ commandTimeout: 10_000, connectTimeout: 10_000 })
  })

  test('by PostgreSQL itself: a client that gives up does not know what is written later', async () => {
    const settings = await settingsOf('postgres', 'pg')
    expect(settings).toMatchObject({ statement_timeout: 10_000, connectionTimeoutMillis: 10_000 })
    expect(settings).not.toHaveProperty('query_timeout')
  })
})

import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pause } from '../pace.js'
import { codeOf, eventsOf, outline, pool, problemOf, ref, versionOf } from '../pools.js'
import { redisSays } from '../servers/redis.js'
import { waitFor } from '../servers/tools.js'
import { type IoRedis, storeOver } from './clients.js'
import type { Setup } from './part.js'

/** When the server says no: the answer is that nothing was written, and nothing was. */
export async function refusals(setup: Setup): Promise<void> {
  const { report, port, clients } = setup
  const say = async (...words: readonly string[]) => {
    const answer = await redisSays(port, ...words)
    assert.ok(!answer.startsWith('-'), answer)
    return answer
  }
  const set = (name: string, value: string) => say('CONFIG', 'SET', name, value)

  const situations: readonly (readonly [
    name: string,
    problem: RegExp,
    begin: () => Promise<unknown>,
    end: () => Promise<unknown>,
  ])[] = [
    ['no memory left', /^OOM /, () => set('maxmemory', '1'), () => set('maxmemory', '0')],
    [
      'too few replicas',
      /^NOREPLICAS /,
      () => set('min-replicas-to-write', '1'),
      () => set('min-replicas-to-write', '0'),
    ],
    ['a replica', /^READONLY /, () => say('REPLICAOF', '127.0.0.1', '1'), () => say('REPLICAOF', 'NO', 'ONE')],
    ['a disk that fails', /MISCONF /, () => failToSave(setup), () => saveAgain(setup)],
  ]
  for (const [situation, problem, begin, end] of situations) {
    for (const name of ['ioredis', 'nodeRedis'] as const) {
      await report.test(`${situation}: ${name} is refused, and nothing was written`, async () => {
        const store = storeOver(await clients[name](), { prefix: `refused-${name}` })
        const start = versionOf(await store.create(pool('a')))
        await begin()
        try {
          for (const write of [
            store.create(pool('b')),
            store.patch(ref('a'), { spec: { x: 1 } }),
            store.delete(ref('a')),
          ]) {
            const answer = await write
            assert.equal(codeOf(answer), 'STORE_IO')
            assert.match(problemOf(answer), problem)
          }
          assert.equal(versionOf(await store.get(ref('a'))), start, 'reads go on')
        } finally {
          await end()
        }
        versionOf(await store.create(pool('c')))
        assert.deepEqual(outline(await eventsOf(store, start, 1)), ['ADDED c'])
        versionOf(await store.delete(ref('a')))
        versionOf(await store.delete(ref('c')))
        return undefined
      })
    }
  }

  await report.test('another script runs: node-redis is refused, ioredis does not know', async () => {
    const settings = { commandTimeout: 20_000 }
    const refused = storeOver(await clients.nodeRedis(), { prefix: 'busy' })
    const unknown = storeOver(await clients.ioredis(settings), { prefix: 'busy' })
    for (const store of [refused, unknown]) await store.get(ref('a'))
    await set('busy-reply-threshold', '20')
    const endless = redisSays(port, 'EVAL', 'while true do end', '0').catch(String)
    await pause(200)
    const answers = await Promise.all([refused.create(pool('a')), unknown.create(pool('b'))])
    assert.deepEqual(answers.map(codeOf), ['STORE_IO', 'STORE_OUTCOME_UNKNOWN'])
    assert.match(problemOf(answers[0]), /^BUSY /)
    await say('SCRIPT', 'KILL')
    await endless
    for (const name of ['a', 'b']) assert.equal(codeOf(await refused.get(ref(name))), 'STORE_NOT_FOUND')
    return undefined
  })

  await keysOfOthers(setup)
  await rights(setup)

  await report.test('an id that another write was given: refused, and nothing was written', async () => {
    const store = storeOver(await clients.ioredis(), { prefix: 'reused', uid: () => 'always the same' })
    versionOf(await store.create(pool('a')))
    for (const write of [store.create(pool('b')), store.patch(ref('a'), { spec: { x: 1 } })]) {
      assert.match(problemOf(await write), /options\.uid/)
    }
    assert.equal(codeOf(await store.get(ref('b'))), 'STORE_NOT_FOUND')
    assert.deepEqual(outline(await eventsOf(store, '0', 1)), ['ADDED a'])
    return undefined
  })

  await report.test('scripts that the server has forgotten are sent again', async () => {
    const store = storeOver(await clients.ioredis(), { prefix: 'forgotten' })
    for (let round = 0; round < 3; round++) {
      await say('SCRIPT', 'FLUSH')
      versionOf(await store.create(pool(`a${round}`)))
    }
    return undefined
  })
  clients.close()
}

/**
 * Redis refuses writes once a save in the background has failed: there is a folder where the file
 * is to be.
 */
async function failToSave({ folder, clients }: Setup): Promise<void> {
  rmSync(join(folder, 'dump.rdb'), { force: true })
  mkdirSync(join(folder, 'dump.rdb'))
  writeFileSync(join(folder, 'dump.rdb', 'file'), '')
  const client = await clients.ioredis()
  await client.call('CONFIG', 'SET', 'save', '3600 1000000')
  await client.call('BGSAVE')
  await saved(client, 'err')
}

async function saveAgain({ folder, clients }: Setup): Promise<void> {
  rmSync(join(folder, 'dump.rdb'), { recursive: true })
  const client = await clients.ioredis()
  await client.call('BGSAVE')
  await saved(client, 'ok')
  await client.call('CONFIG', 'SET', 'save', '')
}

async function saved(client: IoRedis, status: string): Promise<void> {
  const look = async () => {
    const info = String(await client.call('INFO', 'persistence'))
    return info.includes('rdb_bgsave_in_progress:0') && info.includes(`rdb_last_bgsave_status:${status}`)
      ? true
      : undefined
  }
  await waitFor(look, { seconds: 10, else: `rdb_last_bgsave_status is not ${status}` })
}

const KIND = 'x.dev/Pool'

/** Whatever is in the place of the store's keys: it is found before anything is written. */
async function keysOfOthers({ report, clients }: Setup): Promise<void> {
  const client = await clients.ioredis()
  const texts = ['store', `documents:${KIND}`, `order:${KIND}`, `changes:${KIND}`, `sizes:${KIND}`]
  const tests: [key: string, ...command: string[]][] = texts.map((key) => [key, 'SET', 'of somebody else'])
  tests.push(['store', 'HSET', 'revision', 'no number'], [`documents:${KIND}`, 'HSET', 'n,a', 'without a line end'])
  for (const [key, command, ...words] of tests) {
    await report.test(
      `a key of others in the place of ${key} (${command}): refused, and nothing was written`,
      async () => {
        const prefix = `others-${command}-${key}`
        const store = storeOver(client, { prefix })
        await client.call(command!, `{${prefix}}:${key}`, ...words)
        assert.equal(codeOf(await store.create(pool('a'))), 'STORE_IO')
        assert.deepEqual(await client.call('KEYS', `{${prefix}}:*`), [`{${prefix}}:${key}`])
        return undefined
      },
    )
  }
}

/**
 * A user that may not do all that a write needs: a script would stop where it may not go on, with
 * what it has written by then.
 */
async function rights({ report, clients }: Setup): Promise<void> {
  const admin = await clients.ioredis()
  for (const command of ['hset', 'hincrby', 'xadd', 'hdel', 'zadd', 'zrem', 'rpush', 'lpop', 'xtrim', 'set']) {
    await report.test(`a user without the right to ${command}: refused, and nothing was written`, async () => {
      const prefix = `without-${command}`
      await admin.call('ACL', 'SETUSER', 'limited', 'reset', 'on', 'nopass', '~*', '&*', '+@all', `-${command}`)
      const store = storeOver(await clients.ioredis({ username: 'limited', password: 'any' }), { prefix })
      const made = await store.create(pool('a'))
      assert.deepEqual([codeOf(made), problemOf(made).slice(0, 7)], ['STORE_IO', 'NOPERM '])
      assert.deepEqual(await admin.call('KEYS', `{${prefix}}:*`), [])
      return undefined
    })
  }
  await report.test('a user without the right to publish writes all the same', async () => {
    await admin.call('ACL', 'SETUSER', 'limited', 'reset', 'on', 'nopass', '~*', '+@all', '-publish')
    const user = { username: 'limited', password: 'any' }
    for (const client of [await clients.ioredis(user), await clients.nodeRedis(user)]) {
      const store = storeOver(client, { prefix: 'quiet' })
      const version = versionOf(await store.create(pool('a')))
      versionOf(await store.delete(ref('a'), { resourceVersion: version }))
    }
    await admin.call('ACL', 'DELUSER', 'limited')
    return undefined
  })
}

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { paced } from '../pace.js'
import { codeOf, eventsOf, outline, pool, pools, ref, versionOf } from '../pools.js'
import { startProxy } from '../proxy.js'
import { redisSays } from '../servers/redis.js'
import { Clients, storeOver } from './clients.js'
import type { Setup } from './part.js'

/** What happens when connections end, and how the clients differ in it. */
export async function connections({ report, port, clients }: Setup): Promise<void> {
  const proxy = await startProxy(port)
  const behind = new Clients(proxy.port)
  const direct = storeOver(await clients.nodeRedis())

  await report.test('ioredis sends a write again whose answer was lost: it is done once, and no conflict', async () => {
    const store = storeOver(await behind.ioredis())
    const start = versionOf(await store.create(pool('again')))
    const rounds = 10
    let version = start
    for (let round = 0; round < rounds; round++) {
      const lost = proxy.loseAnswer('"round":')
      version = versionOf(await store.patch(ref('again'), { spec: { round } }, { resourceVersion: version }))
      await lost
    }
    const lost = proxy.loseAnswer('ipam-kit}:request')
    const deleted = await store.delete(ref('again'), { resourceVersion: version })
    await lost
    assert.equal(codeOf(deleted), 'no failure')
    const events = await eventsOf(direct, start, rounds + 1)
    assert.deepEqual(outline(events), [...Array(rounds).fill('MODIFIED again'), 'DELETED again'])
    return `${rounds + 1} answers lost`
  })

  await report.test('ioredis creates again what another has deleted since? no', async () => {
    const store = storeOver(await behind.ioredis())
    const lost = proxy.loseAnswer('"twice":')
    const creating = store.create(pool('twice', { twice: 1 }))
    await lost
    // the client takes 50 ms and more to come back
    assert.equal(codeOf(await direct.delete(ref('twice'))), 'no failure')
    assert.equal(codeOf(await creating), 'no failure')
    assert.equal(codeOf(await direct.get(ref('twice'))), 'STORE_NOT_FOUND')
    return undefined
  })

  await report.test('ioredis that gives up, and node-redis, say that the outcome is unknown', async () => {
    const opened = [
      storeOver(await behind.ioredis({ maxRetriesPerRequest: 0 })),
      storeOver(await behind.nodeRedis()),
      storeOver(await behind.nodeRedis({ disableOfflineQueue: true })),
    ]
    for (const [index, store] of opened.entries()) {
      const name = `unknown-${index}`
      await store.get(ref(name))
      const lost = proxy.loseAnswer(`"${name}"`)
      assert.equal(codeOf(await store.create(pool(name))), 'STORE_OUTCOME_UNKNOWN')
      await lost
      assert.equal(codeOf(await direct.get(ref(name))), 'no failure', 'it was done')
    }
    return undefined
  })

  await report.test('a server that is silent: both clients give up, and continue when it answers again', async () => {
    // as said in the documentation of the client, only less patient
    const reconnectStrategy = (retries: number) => Math.min(50 * 2 ** retries, 500)
    const limitMs = paced(400)
    const patience = { pingInterval: limitMs / 4, socket: { socketTimeout: limitMs, reconnectStrategy } }
    const opened = [
      storeOver(await clients.ioredis({ maxRetriesPerRequest: 1, commandTimeout: limitMs })),
      storeOver(await clients.nodeRedis({ disableOfflineQueue: true, ...patience })),
    ]
    for (const store of opened) await store.get(ref('silent'))
    // longer than a socket may be silent: the pings keep it
    await sleep(limitMs * 1.5)
    for (const [index, store] of opened.entries()) {
      assert.equal(codeOf(await store.create(pool(`idle-${index}`))), 'no failure')
    }
    await redisSays(port, 'CLIENT', 'PAUSE', `${limitMs * 5}`, 'ALL')
    const start = performance.now()
    const answers = await Promise.all(opened.map((store, index) => store.create(pool(`silent-${index}`))))
    const ms = performance.now() - start
    assert.deepEqual(answers.map(codeOf), ['STORE_OUTCOME_UNKNOWN', 'STORE_OUTCOME_UNKNOWN'])
    assert.ok(ms < limitMs * 5, `${ms} ms`)
    await sleep(limitMs * 5 + paced(500))
    for (const [index, store] of opened.entries()) {
      assert.equal(codeOf(await store.get(ref(`idle-${index}`))), 'no failure')
    }
    return `${ms.toFixed(0)} ms`
  })

  await report.test('many writers, whose connections are cut again and again, lose no write and no race', async () => {
    const start = versionOf(await direct.create(pool('busy', { count: 0 })))
    let isOver = false
    const cutting = (async () => {
      for (let cuts = 0; ; cuts++) {
        if (isOver) return cuts
        await sleep(40)
        await redisSays(port, 'CLIENT', 'KILL', 'TYPE', 'normal')
      }
    })()
    const each = 50
    const written = await Promise.all(
      Array.from({ length: 3 }, async () => {
        // as it comes: it waits until the server is back, and sends again what was in flight
        const store = storeOver(await clients.ioredis())
        const versions: string[] = []
        while (versions.length < each) {
          const read = await store.get(ref('busy'))
          if (!read.ok) throw new Error(read.failure.code)
          const { count } = read.value.spec as { count: number }
          const update = await store.update({ ...read.value, spec: { count: count + 1 } })
          if (update.ok) versions.push(versionOf(update))
          else assert.equal(update.failure.code, 'STORE_CONFLICT')
        }
        return versions
      }),
    )
    isOver = true
    const cuts = await cutting
    const reader = storeOver(await clients.nodeRedis())
    const events = await eventsOf(reader, start, 3 * each)
    const told = events.map((event) => ('object' in event ? event.object.metadata.resourceVersion : event.type))
    assert.deepEqual(
      told,
      written.flat().sort((a, b) => Number(BigInt(a) - BigInt(b))),
    )
    const read = await reader.get(ref('busy'))
    assert.deepEqual(read.ok && read.value.spec, { count: 3 * each })
    return `${cuts} cuts`
  })

  await report.test('watches are woken by what is published, with both clients', async () => {
    const waits = { pollMs: 60_000 }
    const io = await clients.ioredis()
    const node = await clients.nodeRedis()
    const writer = storeOver(await clients.nodeRedis())
    const watching = [
      storeOver(io, { ...waits, subscribe: await clients.ioredisSubscription(io) }),
      storeOver(node, { ...waits, subscribe: await clients.nodeRedisSubscription(node) }),
      writer,
    ].map((store) => store.watch(pools)[Symbol.asyncIterator]())
    for (const events of watching) await events.next()
    const start = performance.now()
    const first = watching.map((events) => events.next())
    await writer.create(pool('published'))
    for (const event of await Promise.all(first)) {
      assert.deepEqual(outline([event.value!]), ['ADDED published'])
    }
    const ms = performance.now() - start
    for (const events of watching) await events.return?.()
    assert.ok(ms < waits.pollMs / 2, `${ms} ms`)
    return `${ms.toFixed(0)} ms`
  })

  await report.test('a prefix of ioredis before all keys, and its own of the store', async () => {
    const client = await clients.ioredis({ keyPrefix: 'mine:' })
    const store = storeOver(client, { prefix: 'pools' })
    const made = await store.create(pool('a'))
    assert.deepEqual(await store.get(ref('a')), made)
    assert.equal(codeOf(await direct.get(ref('a'))), 'STORE_NOT_FOUND')
    assert.equal(await redisSays(port, 'EXISTS', 'mine:{pools}:store'), ':1')
    return undefined
  })

  behind.close()
  clients.close()
  await proxy.close()
}

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { pause } from '../pace.js'
import { codeOf, outline, pool, pools, problemOf, ref, versionOf } from '../pools.js'
import { freePort } from '../servers/tools.js'
import { type Setup, storeAt } from './part.js'

/** What happens when connections end, and etcd with them. */
export async function connections({ report, server, proxy, behindUrl }: Setup): Promise<void> {
  const direct = storeAt(server.url, { prefix: 'cut' })
  const behind = storeAt(behindUrl, { prefix: 'cut' })

  await report.test('a write whose answer is lost is unknown, and was done once', async () => {
    const start = versionOf(await direct.create(pool('start')))
    for (let round = 0; round < 5; round++) {
      const lost = proxy.loseAnswer('/v3/kv/txn')
      assert.equal(codeOf(await behind.create(pool(`lost-${round}`))), 'STORE_OUTCOME_UNKNOWN')
      await lost
      assert.equal(codeOf(await direct.get(ref(`lost-${round}`))), 'no failure')
    }
    const listed = await direct.list(pools)
    assert.equal(listed.ok && BigInt(listed.value.resourceVersion) - BigInt(start), 5n, 'five writes')
    return undefined
  })

  await report.test('a server that is not there has not written anything, and the next one is asked', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`
    const alone = await storeAt(dead).create(pool('a'))
    assert.equal(codeOf(alone), 'STORE_IO', problemOf(alone))
    const store = storeAt(dead, { url: [dead, server.url], prefix: 'cut' })
    assert.equal(codeOf(await store.get(ref('start'))), 'STORE_IO')
    assert.equal(codeOf(await store.get(ref('start'))), 'no failure')
    return undefined
  })

  await report.test('a watch continues through cuts and kill -9, and loses and repeats nothing', async () => {
    const listed = await direct.list(pools)
    const resourceVersion = listed.ok ? listed.value.resourceVersion : ''
    const rounds = 6
    const names = Array.from({ length: rounds * 3 }, (_, i) => `w${i}`)
    const writing = (async () => {
      for (const [index, name] of names.entries()) {
        // nothing is written while the server is away
        versionOf(await direct.create(pool(name)))
        if (index % 3 === 1) proxy.cut()
        if (index % 6 === 5) {
          await server.kill()
          await server.restart()
        }
        await sleep(20)
      }
    })()
    const seen: string[] = []
    for await (const event of behind.watch(pools, { resourceVersion })) {
      if (event.type === 'BOOKMARK') continue
      seen.push(...outline([event]))
      if (seen.length === names.length || event.type === 'ERROR') break
    }
    await writing
    assert.deepEqual(
      seen,
      names.map((name) => `ADDED ${name}`),
    )
    return `${rounds} cuts, ${rounds / 2} kills`
  })

  await report.test('a watch of a server that stays away fails', async () => {
    const events = behind.watch(pools)[Symbol.asyncIterator]()
    await events.next()
    const next = events.next()
    await pause(50)
    await server.kill()
    assert.deepEqual(outline([(await next).value!]), ['STORE_IO'])
    await server.restart()
    return undefined
  })

  await report.test('a watch without a reader leaves no connection', async () => {
    const start = proxy.connections
    const watches = Array.from({ length: 5 }, () => behind.watch(pools)[Symbol.asyncIterator]())
    for (const events of watches) await events.next()
    const waiting = watches.map((events) => events.next())
    await pause(100)
    assert.ok(proxy.connections >= start + 4, `${proxy.connections} connections`)
    for (const events of watches) await events.return?.()
    await Promise.all(waiting)
    // fetch of Node opens an idle connection for each that ends early, and leaves it alone for four
    // seconds
    for (let tries = 0; proxy.connections > start + 1 && tries < 100; tries++) await pause(100)
    assert.ok(proxy.connections <= start + 1, `${proxy.connections} connections, and ${start} before`)
    return undefined
  })
}

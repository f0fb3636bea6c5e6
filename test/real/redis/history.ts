import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { RedisEngine } from '../../../src/store/redis/engine.js'
import { codeOf, eventsOf, outline, pool, pools, ref, versionOf } from '../pools.js'
import { storeOver } from './clients.js'
import type { Setup } from './part.js'

/** What is kept of the past, and what a watch is told when it is not; long lists. */
export async function history({ report, clients }: Setup): Promise<void> {
  const client = await clients.ioredis()

  await report.test('changes that are no longer kept: a watch is told so, and not given the rest', async () => {
    const prefix = 'trimmed'
    const store = storeOver(client, { prefix, history: 4 })
    const versions: string[] = []
    for (let i = 0; i < 10; i++) versions.push(versionOf(await store.create(pool(`a${i}`))))
    assert.deepEqual(outline(await eventsOf(store, versions[4]!, 1)), ['STORE_VERSION_GONE'])
    assert.deepEqual(outline(await eventsOf(store, '0', 1)), ['STORE_VERSION_GONE'])
    assert.deepEqual(
      outline(await eventsOf(store, versions[5]!, 4)),
      ['a6', 'a7', 'a8', 'a9'].map((a) => `ADDED ${a}`),
    )
    assert.equal(await client.call('XLEN', `{${prefix}}:changes:x.dev/Pool`), 4)
    assert.equal(await client.call('LLEN', `{${prefix}}:sizes:x.dev/Pool`), 4)
    // another program, another setting
    const shorter = storeOver(client, { prefix, history: 1 })
    versionOf(await shorter.create(pool('b')))
    assert.equal(await client.call('XLEN', `{${prefix}}:changes:x.dev/Pool`), 1)
    assert.deepEqual(outline(await eventsOf(store, versions[8]!, 1)), ['STORE_VERSION_GONE'])
    assert.deepEqual(outline(await eventsOf(store, versions[9]!, 1)), ['ADDED b'])
    return undefined
  })

  await report.test('a much shorter history is reached in several writes, and each says what is gone', async () => {
    const prefix = 'shortened'
    const [longer, shorter] = [{ history: 10_000 }, { history: 10 }].map((more) =>
      storeOver(client, { prefix, ...more }),
    )
    const versions: string[] = []
    for (let i = 0; i < 2_500; i += 50) {
      const made = await Promise.all(Array.from({ length: 50 }, (_, k) => longer!.create(pool(`a${i + k}`))))
      versions.push(...made.map(versionOf))
    }
    versions.sort((left, right) => Number(BigInt(left) - BigInt(right)))
    const lengths: unknown[] = []
    for (let i = 0; i < 4; i++) {
      versions.push(versionOf(await shorter!.create(pool(`b${i}`))))
      const [changes, sizes] = [`{${prefix}}:changes:x.dev/Pool`, `{${prefix}}:sizes:x.dev/Pool`]
      const kept = Number(await client.call('XLEN', changes))
      assert.equal(await client.call('LLEN', sizes), kept)
      lengths.push(kept)
      const newestGone = versions.length - kept - 1
      assert.deepEqual(outline(await eventsOf(shorter!, versions[newestGone - 1]!, 1)), ['STORE_VERSION_GONE'])
      assert.equal((await eventsOf(shorter!, versions[newestGone]!, kept)).length, kept)
    }
    assert.deepEqual(lengths, [1_501, 502, 10, 10])
    return lengths.join(', ')
  })

  await report.test('changes are bounded in bytes too, and one is kept', async () => {
    const prefix = 'bounded'
    const store = storeOver(client, { prefix, historyBytes: 10_000 })
    const lengths: unknown[] = []
    for (let i = 0; i < 12; i++) {
      versionOf(await store.create(pool(`a${i}`, { text: 'x'.repeat(i < 11 ? 1000 : 50_000) })))
      lengths.push(await client.call('XLEN', `{${prefix}}:changes:x.dev/Pool`))
    }
    const bytes = await client.call('HGET', `{${prefix}}:store`, 'bytes x.dev/Pool')
    assert.deepEqual(lengths, [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 1])
    assert.ok(Number(bytes) > 50_000 && Number(bytes) < 51_000, String(bytes))
    return undefined
  })

  await report.test(
    'a store that was emptied: watches from before are told so, whatever was written since',
    async () => {
      const prefix = 'emptied'
      const store = storeOver(client, { prefix })
      const old = versionOf(await store.create(pool('a')))
      const live = store.watch(pools, { resourceVersion: old })[Symbol.asyncIterator]()
      await live.next()
      await client.call('DEL', ...((await client.call('KEYS', `{${prefix}}:*`)) as string[]))
      const told = await live.next()
      assert.deepEqual(outline([told.value!]), ['STORE_VERSION_GONE'])
      assert.deepEqual(outline(await eventsOf(store, old, 1)), ['STORE_VERSION_GONE'])
      for (let i = 0; i < 5; i++) assert.ok(BigInt(versionOf(await store.create(pool(`b${i}`)))) > BigInt(old))
      assert.deepEqual(outline(await eventsOf(store, old, 1)), ['STORE_VERSION_GONE'])
      return undefined
    },
  )

  await report.test('a store whose counter alone is lost continues with higher versions', async () => {
    const prefix = 'headless'
    const store = storeOver(client, { prefix })
    const old = versionOf(await store.create(pool('a')))
    await client.call('DEL', `{${prefix}}:store`)
    assert.ok(
      BigInt(versionOf(await store.patch(ref('a'), { spec: { x: 1 } }, { resourceVersion: old }))) > BigInt(old),
    )
    assert.deepEqual(outline(await eventsOf(store, old, 1)), ['STORE_VERSION_GONE'])
    return undefined
  })

  await report.test('versions beyond 2^53, and with one digit more than those before, are exact', async () => {
    const prefix = 'digits'
    const store = storeOver(client, { prefix, history: 3 })
    await client.call('HSET', `{${prefix}}:store`, 'revision', '9999999999999997', 'start', '9999999999999990')
    const versions: string[] = []
    for (let i = 0; i < 6; i++) versions.push(versionOf(await store.create(pool(`a${i}`))))
    const expected = Array.from({ length: 6 }, (_, i) => String(9_999_999_999_999_998n + BigInt(i)))
    assert.deepEqual(versions, expected)
    assert.deepEqual(outline(await eventsOf(store, versions[1]!, 1)), ['STORE_VERSION_GONE'])
    assert.deepEqual(outline(await eventsOf(store, versions[2]!, 3)), ['ADDED a3', 'ADDED a4', 'ADDED a5'])
    assert.deepEqual(outline(await eventsOf(store, '10000000000000004', 1)), ['STORE_VERSION_GONE'])
    const again = versionOf(await store.patch(ref('a5'), { spec: { x: 1 } }, { resourceVersion: versions[5] }))
    assert.equal(again, '10000000000000004')
    return undefined
  })

  await report.test('requests are remembered for ten minutes, and no longer', async () => {
    const prefix = 'remembered'
    versionOf(await storeOver(client, { prefix, uid: () => 'id' }).create(pool('a')))
    const seconds = Number(await client.call('TTL', `{${prefix}}:request:id`))
    assert.ok(seconds > 590 && seconds <= 600, `${seconds} s`)
    return undefined
  })

  await report.test('a list in many parts is of one moment, while others write', async () => {
    const parts = {
      ...{ prefix: 'parts', history: 10_000, historyBytes: 1e9, requestId: randomUUID, polling: { sleep } },
      answerBytes: 400,
    }
    const engine = new RedisEngine({ send: (...words) => client.call(...words), repeats: true }, parts)
    const scope = { group: 'x.dev', kind: 'Pool' }
    const key = (name: string) => ({ ...scope, namespace: 'n', name })
    const write = async (name: string, text: string | undefined) => {
      const commit = await engine.commit({ key: key(name), before: await engine.read(key(name)), after: text })
      assert.equal(commit.kind, 'done')
    }
    for (let i = 0; i < 100; i++) await write(`m${i}`, '"between"')
    const part = await engine.scan(scope, { limit: 90 })
    assert.ok(part.hasMore && part.documents.length < 90, 'the scripts give all at once')
    let isOver = false
    // the first is written before the last, and both count: at no moment is the last ahead, or the
    // first ahead by more than one
    const writing = (async () => {
      for (let count = 0; !isOver; count++) {
        await write('a', `${count}`)
        await write(`m${count % 100}`, count % 2 === 0 ? undefined : '"again"')
        await write('z', `${count}`)
        if (count % 2 === 0) await write(`m${count % 100}`, '"once more"')
      }
    })()
    let changed = 0
    let last = ''
    for (let round = 0; round < 40; round++) {
      const { documents, revision } = await engine.scan(scope, {})
      const [first, ...rest] = documents.map(({ text }) => JSON.parse(text) as unknown)
      if (typeof first !== 'number') continue
      const end = rest.at(-1)
      const lag = first - (typeof end === 'number' ? end : -1)
      assert.ok(lag === 0 || lag === 1, `${first} before ${end}`)
      assert.ok(rest.length === 100 || rest.length === 101 || rest.length === 99, `${rest.length} documents`)
      assert.ok(documents.every((document) => BigInt(document.revision) <= BigInt(revision)))
      if (revision !== last) changed++
      last = revision
    }
    isOver = true
    await writing
    assert.ok(changed > 20, `only ${changed} lists differ`)
    return `${changed} different lists`
  })

  await report.test('a list of 10,000, and a watch through all of them', async () => {
    const store = storeOver(client, { prefix: 'many', history: 20_000 })
    const total = 10_000
    for (let i = 0; i < total; i += 200) {
      const spec = { text: 'x'.repeat(600) }
      const made = await Promise.all(Array.from({ length: 200 }, (_, k) => store.create(pool(`a${i + k}`, spec))))
      for (const each of made) assert.equal(codeOf(each), 'no failure')
    }
    const start = performance.now()
    const listed = await store.list(pools)
    const listMs = performance.now() - start
    assert.equal(listed.ok && listed.value.items.length, total)
    const events = await eventsOf(store, '0', total)
    assert.equal(new Set(outline(events)).size, total)
    return `listed in ${listMs.toFixed(0)} ms`
  })
  clients.close()
}

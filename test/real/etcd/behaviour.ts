import assert from 'node:assert/strict'
import { codeOf, eventsOf, outline, pool, pools, problemOf, ref, versionOf } from '../pools.js'
import { type Setup, storeAt } from './part.js'

/** What etcd itself does: sizes, compaction, alarms, users. */
export async function behaviour({ report, server: { url } }: Setup): Promise<void> {
  const call = async (path: string, body: object = {}, token = '') => {
    const headers: Record<string, string> = token === '' ? {} : { authorization: token }
    const response = await fetch(`${url}/v3/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text) as Record<string, unknown>
  }

  await report.test('the largest document that the store takes fits, and the next larger is refused', async () => {
    const store = storeAt(url, { prefix: 'sizes' })
    const maxBytes = store.capabilities.maxObjectBytes!
    const empty = await store.create(pool('measure', { text: '' }))
    assert.ok(empty.ok)
    // names as long as they may be, in the key twice
    const name = 'n'.repeat(253)
    const base = Buffer.byteLength(JSON.stringify(empty.value)) - 'measure'.length + name.length
    const made = await store.create(pool(name, { text: 'x'.repeat(maxBytes - base - 20) }))
    assert.equal(codeOf(made), 'no failure', problemOf(made))
    assert.deepEqual(await store.get(ref(name)), made)
    assert.equal(codeOf(await store.create(pool('b', { text: 'x'.repeat(maxBytes) }))), 'STORE_OBJECT_TOO_LARGE')
    return undefined
  })

  await report.test('what is too large for the server, and not for the store, is refused as too large', async () => {
    const store = storeAt(url, { prefix: 'sizes', maxObjectBytes: 8 * 1024 * 1024 })
    for (const mebibytes of [1.5, 1.9, 2.1, 4]) {
      const answer = await store.create(pool('c', { text: 'x'.repeat(mebibytes * 1024 * 1024) }))
      assert.equal(codeOf(answer), 'STORE_OBJECT_TOO_LARGE', `${mebibytes} MiB: ${problemOf(answer)}`)
    }
    assert.equal(codeOf(await store.get(ref('c'))), 'STORE_NOT_FOUND')
    return undefined
  })

  await report.test('a watch from before a compaction is told so, at its beginning or when it continues', async () => {
    const store = storeAt(url, { prefix: 'compacted' })
    const versions: string[] = []
    for (let i = 0; i < 6; i++) versions.push(versionOf(await store.create(pool(`a${i}`))))
    await call('kv/compaction', { revision: versions[3], physical: true })
    assert.deepEqual(outline(await eventsOf(store, versions[0]!, 1)), ['STORE_VERSION_GONE'])
    const [gone] = await eventsOf(store, versions[1]!, 1)
    const told = gone?.type === 'ERROR' && gone.failure.code === 'STORE_VERSION_GONE' ? gone.failure.context : undefined
    assert.deepEqual(told, { resourceVersion: versions[1], oldest: versions[5] })
    assert.deepEqual(outline(await eventsOf(store, versions[2]!, 1)), ['STORE_VERSION_GONE'])
    assert.deepEqual(outline(await eventsOf(store, versions[3]!, 2)), ['ADDED a4', 'ADDED a5'])
    return undefined
  })

  await report.test('a change whose state before was compacted is not taken for a creation', async () => {
    const store = storeAt(url, { prefix: 'halved' })
    const first = versionOf(await store.create(pool('a')))
    const second = versionOf(await store.patch(ref('a'), { spec: { x: 1 } }))
    assert.equal(BigInt(second), BigInt(first) + 1n)
    await call('kv/compaction', { revision: second, physical: true })
    assert.deepEqual(outline(await eventsOf(store, first, 1)), ['STORE_VERSION_GONE'])
    return undefined
  })

  await report.test('no space left: writes are refused, and nothing was written', async () => {
    const store = storeAt(url, { prefix: 'full' })
    const start = versionOf(await store.create(pool('a')))
    const { header } = (await call('maintenance/status')) as { header: { member_id: string } }
    const alarm = { memberID: header.member_id, alarm: 'NOSPACE' }
    await call('maintenance/alarm', { action: 'ACTIVATE', ...alarm })
    for (const write of [store.create(pool('b')), store.patch(ref('a'), { spec: { x: 1 } })]) {
      const answer = await write
      assert.deepEqual([codeOf(answer), problemOf(answer)], ['STORE_IO', 'etcdserver: mvcc: database space exceeded'])
    }
    await call('maintenance/alarm', { action: 'DEACTIVATE', ...alarm })
    versionOf(await store.create(pool('c')))
    assert.deepEqual(outline(await eventsOf(store, start, 1)), ['ADDED c'])
    return undefined
  })

  await report.test('with users: refused without a token, done with one from a fetch around fetch', async () => {
    const root = { name: 'root', password: 'secret' }
    await call('auth/user/add', root)
    await call('auth/role/add', { name: 'root' })
    await call('auth/user/grant', { user: 'root', role: 'root' })
    await call('auth/enable')
    const { token } = (await call('auth/authenticate', root)) as { token: string }
    try {
      const anonymous = storeAt(url, { prefix: 'users' })
      const refused = await anonymous.create(pool('a'))
      assert.deepEqual([codeOf(refused), problemOf(refused)], ['STORE_IO', 'etcdserver: user name is empty'])
      const stale = storeAt(url, {
        prefix: 'users',
        fetch: (path, request) => fetch(path, { ...request, headers: { ...request.headers, authorization: 'no.1' } }),
      })
      const unknown = await stale.create(pool('a'))
      assert.deepEqual([codeOf(unknown), problemOf(unknown)], ['STORE_IO', 'etcdserver: invalid auth token'])
      const store = storeAt(url, {
        prefix: 'users',
        fetch: (path, request) => fetch(path, { ...request, headers: { ...request.headers, authorization: token } }),
      })
      versionOf(await store.create(pool('a')))
      assert.deepEqual(outline(await eventsOf(store, '1', 1)), ['STORE_VERSION_GONE'], 'it was compacted above')
    } finally {
      await call('auth/disable', {}, token)
    }
    return undefined
  })

  await report.test(
    'a list of 10,000 is of one revision while others write, and a watch continues from there',
    async () => {
      const store = storeAt(url, { prefix: 'many' })
      const total = 10_000
      for (let i = 0; i < total; i += 100) {
        const spec = { text: 'x'.repeat(600), count: 0 }
        const made = await Promise.all(Array.from({ length: 100 }, (_, k) => store.create(pool(`m${i + k}`, spec))))
        for (const each of made) assert.equal(codeOf(each), 'no failure')
      }
      versionOf(await store.create(pool('a', { count: 0 })))
      versionOf(await store.create(pool('z', { count: 0 })))
      let isOver = false
      const writing = (async () => {
        for (let count = 1; !isOver; count++) {
          for (const name of ['a', 'z']) versionOf(await store.patch(ref(name), { spec: { count } }))
        }
      })()
      const times: number[] = []
      let version = ''
      for (let round = 0; round < 5; round++) {
        const start = performance.now()
        const listed = await store.list(pools)
        times.push(performance.now() - start)
        if (!listed.ok) throw new Error(problemOf(listed))
        const counts = listed.value.items.map(({ spec }) => (spec as { count: number }).count)
        assert.equal(counts.length, total + 2)
        const lag = counts[0]! - counts.at(-1)!
        assert.ok(lag === 0 || lag === 1, `${counts[0]} before ${counts.at(-1)}`)
        version = listed.value.resourceVersion
      }
      isOver = true
      await writing
      assert.equal((await eventsOf(store, version, 1))[0]?.type, 'MODIFIED')
      return `${Math.min(...times).toFixed(0)} ms`
    },
  )
}

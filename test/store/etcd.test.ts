import { type EtcdClient, etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import { conformanceKinds, storeConformance } from 'ipam-kit/testing'
import { describe, expect, it, test } from 'vitest'
import type { EtcdStoreOptions } from '../../src/store/etcd/etcd-store.js'
import type { EtcdHttpResponse } from '../../src/store/etcd/gateway.js'
import { EtcdModel, refusal } from './etcd-model.js'
import { virtualSleep } from './virtual-sleep.js'

const sleep = virtualSleep()
let uids = 0

function options(more: Partial<EtcdStoreOptions> = {}): EtcdStoreOptions {
  return { now: Date.now, uid: () => `uid-${++uids}`, kinds: conformanceKinds, sleep, retryMs: 5, ...more }
}

function open(more: Partial<EtcdStoreOptions> = {}) {
  const model = new EtcdModel()
  const store = etcdStore(etcdGateway({ fetch: model.fetch, url: 'http://etcd' }), options(more))
  return { model, store }
}

describe('etcd through its gateway', () => {
  const model = new EtcdModel()
  const client = etcdGateway({ fetch: model.fetch, url: 'http://etcd/' })
  const interruptWatches = async () => model.cut(new TypeError('terminated'))
  for (const { name, run } of storeConformance({ open: () => etcdStore(client, options()), sleep, interruptWatches })) {
    it(name, run)
  }
})

describe('etcd through its gateway, with the Base64 of the platform', () => {
  const model = new EtcdModel()
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let calls = 0
  const fromBase64 = (text: string) => {
    calls++
    return utf8.decode(Buffer.from(text, 'base64'))
  }
  const client = etcdGateway({ fetch: model.fetch, url: 'http://etcd/', fromBase64 })
  for (const { name, run } of storeConformance({ open: () => etcdStore(client, options()), sleep })) it(name, run)

  it('which is asked', () => expect(calls).toBeGreaterThan(0))

  it('and has to give texts', async () => {
    const wrong = etcdGateway({ fetch: model.fetch, url: 'http://etcd/', fromBase64: (() => 7) as never })
    await expect(wrong.range({ key: 'ipam-kit', rangeEnd: 'z' })).rejects.toThrow('options.fromBase64 gives no text')
    const throwing = etcdGateway({
      fetch: model.fetch,
      url: 'http://etcd/',
      fromBase64: () => utf8.decode(Buffer.of(0xff)),
    })
    await expect(throwing.range({ key: 'ipam-kit', rangeEnd: 'z' })).rejects.toThrow(TypeError)
  })
})

const pool = (name: string, spec: object = {}, namespace = 'n') => ({
  apiVersion: 'x.dev/v1',
  kind: 'Pool',
  metadata: { namespace, name },
  spec,
})
const pools = { apiVersion: 'x.dev/v1', kind: 'Pool' }
const ref = (name: string) => ({ ...pools, namespace: 'n', name })

describe('keys', () => {
  test('sort by namespace, then name', async () => {
    const { store } = open()
    const places = [
      ['a', 'x'],
      ['a', 'x-1'],
      ['a', 'x.1'],
      ['a', 'x0'],
      ['a-b', 'a'],
      ['a0', 'a'],
      ['ab', 'a'],
    ] as const
    for (const [namespace, name] of places.toReversed()) await store.create(pool(name, {}, namespace))
    const listed = await store.list(pools)
    const shown = listed.ok && listed.value.items.map(({ metadata }) => [metadata.namespace, metadata.name])
    expect(shown).toEqual(places)
    const one = await store.list({ ...pools, namespace: 'a' })
    expect(one.ok && one.value.items.length).toBe(4)
  })

  test('are below the prefix, and of the core group below nothing else', async () => {
    const { store, model } = open({ prefix: '/registry/ipam' })
    const keys: string[] = []
    model.intercept = (path, body) => {
      const [operation] = (body.success ?? []) as { request_put: { key: string } }[]
      if (path.endsWith('txn')) keys.push(Buffer.from(operation!.request_put.key, 'base64').toString())
      return undefined
    }
    await store.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } })
    await store.create(pool('a'))
    expect(keys).toEqual(['/registry/ipam//Node/,a', '/registry/ipam/x.dev/Pool/n,a'])
  })
})

describe('a long list', () => {
  test('is read in parts, as of the revision of the first', async () => {
    const { store, model } = open()
    for (let i = 0; i < 500; i++) await store.create(pool(`a${1000 + i}`, { text: 'é'.repeat(200) }))
    const before = model.revision
    let ranges = 0
    model.intercept = (path) => {
      if (path.endsWith('range') && ranges++ === 1) {
        model.put('ipam-kit/x.dev/Pool/n,a0', 'made meanwhile')
        model.put('ipam-kit/x.dev/Pool/n,a1499', undefined)
      }
      return undefined
    }
    const listed = await store.list(pools)
    expect(listed.ok && [listed.value.items.length, listed.value.resourceVersion]).toEqual([500, String(before)])
    expect(ranges).toBe(2)
  })

  test('begins anew when its revision has been compacted meanwhile', async () => {
    const { store, model } = open()
    for (let i = 0; i < 100; i++) await store.create(pool(`a${i}`))
    let ranges = 0
    model.intercept = (path) => {
      if (!path.endsWith('range')) return undefined
      ranges++
      if (ranges === 2 || ranges === 4) model.compact(model.put('other', 'x'))
      return undefined
    }
    const listed = await store.list(pools)
    expect(listed.ok && [listed.value.items.length, listed.value.resourceVersion]).toEqual([
      100,
      String(model.revision),
    ])
    expect(ranges).toBe(6)
  })

  test('that is compacted again and again fails', async () => {
    const { store, model } = open()
    for (let i = 0; i < 100; i++) await store.create(pool(`a${i}`))
    model.intercept = (_, { revision }) => {
      return revision === '0' ? undefined : refusal(400, 11, 'etcdserver: mvcc: required revision has been compacted')
    }
    expect(await store.list(pools)).toMatchObject({ ok: false, failure: { code: 'STORE_IO' } })
  })

  test('of large documents comes a few at a time, also with a limit', async () => {
    const { store, model } = open()
    for (let i = 0; i < 150; i++) await store.create(pool(`a${100 + i}`, { text: 'x'.repeat(70_000) }))
    const limits: unknown[] = []
    model.intercept = (path, { limit }) => {
      if (path.endsWith('range')) limits.push(limit)
      return undefined
    }
    const listed = await store.list(pools)
    expect(listed.ok && listed.value.items.length).toBe(150)
    expect(limits).toEqual(['64', '59', '59'])
    limits.length = 0
    const page = await store.list(pools, { limit: 100 })
    expect(page.ok && page.value.items.length).toBe(100)
    // after more than enough for one answer, the rest is asked for again
    expect(limits).toEqual(['64', '64'])
  })

  test('continues after a key of whatever namespace', async () => {
    const { store } = open()
    for (const namespace of ['a', 'b', 'c']) await store.create(pool('p', {}, namespace))
    const page = await store.list(pools, { limit: 2 })
    const token = page.ok ? page.value.continue : undefined
    for (const [namespace, count] of [
      ['a', 0],
      ['b', 0],
      ['c', 1],
      [undefined, 1],
    ] as const) {
      const rest = await store.list({ ...pools, namespace }, { continue: token })
      expect(rest.ok && rest.value.items.length).toBe(count)
      expect(rest.ok && rest.value.resourceVersion).toBe(page.ok && page.value.resourceVersion)
    }
  })
})

describe('the gateway', () => {
  test('gives texts back as they were', async () => {
    const { store } = open()
    const spec = { text: 'ß €😀 \u0000\u0007\ufeff"\\/', ключ: '值', half: '\ud800' }
    const made = await store.create(pool('a', spec))
    expect(await store.get(ref('a'))).toEqual(made)
    expect(made.ok && made.value.spec).toEqual(spec)
  })

  test('asks the next member after one has failed to answer, and never twice for one call', async () => {
    const model = new EtcdModel()
    const asked: string[] = []
    const down = new Set(['http://a', 'http://b'])
    const client = etcdGateway({
      url: ['http://a', 'http://b', 'http://c/'],
      fetch: async (url, request) => {
        const [host = ''] = /^https?:\/\/[^/]+/.exec(url) ?? []
        asked.push(host)
        if (host === 'http://a') throw new TypeError('fetch failed')
        return down.has(host) ? refusal(503, 14, 'etcdserver: no leader') : model.fetch(url, request)
      },
    })
    for (const _ of [1, 2]) await expect(client.range({ key: 'k' })).rejects.toThrow()
    await client.range({ key: 'k' })
    await client.range({ key: 'k' })
    expect(asked).toEqual(['http://a', 'http://b', 'http://c', 'http://c'])
  })

  test.each<[string, () => Promise<EtcdHttpResponse>]>([
    ['fetch', () => Promise.reject(new TypeError('fetch failed'))],
    ['status', async () => refusal(503, 14, 'etcdserver: no leader')],
    ['text', async () => ({ status: 200, text: () => Promise.reject(new TypeError('terminated')), body: null })],
  ])('calls that fail at once at one member leave that one, not the next: %s', async (_, fail) => {
    const model = new EtcdModel()
    const asked: string[] = []
    const client = etcdGateway({
      url: ['http://a', 'http://b', 'http://c'],
      fetch: async (url, request) => {
        asked.push(url.slice(7, 8))
        return url.startsWith('http://b') ? model.fetch(url, request) : fail()
      },
    })
    const all = await Promise.allSettled([1, 2, 3].map(() => client.range({ key: 'k' })))
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    await Promise.all([1, 2].map(() => client.range({ key: 'k' })))
    expect(asked).toEqual(['a', 'a', 'a', 'b', 'b'])
  })

  test('a watch that fails late does not leave the member that others have moved to', async () => {
    const model = new EtcdModel()
    let fail = (_: Error) => {}
    const late = new Promise<never>((_, reject) => {
      fail = reject
    })
    const client = etcdGateway({
      url: ['http://a', 'http://b'],
      fetch: async (url, request) => {
        if (url.startsWith('http://b')) return model.fetch(url, request)
        return url.endsWith('/watch') ? late : refusal(503, 14, 'etcdserver: no leader')
      },
    })
    const watch = client.watch({ key: 'k', rangeEnd: 'l', startRevision: '2' })[Symbol.asyncIterator]().next()
    await expect(client.range({ key: 'k' })).rejects.toThrow('no leader')
    fail(new TypeError('fetch failed'))
    await expect(watch).rejects.toThrow('fetch failed')
    await client.range({ key: 'k' })
  })

  test('a member that refuses is not to blame', async () => {
    const asked: string[] = []
    const client = etcdGateway({
      url: ['http://a', 'http://b'],
      fetch: async (url) => {
        asked.push(url)
        return refusal(403, 7, 'etcdserver: permission denied')
      },
    })
    for (const _ of [1, 2]) await expect(client.range({ key: 'k' })).rejects.toMatchObject({ code: 7 })
    expect(asked).toEqual(['http://a/v3/kv/range', 'http://a/v3/kv/range'])
  })

  test('what answers, and is no etcd, is an error and no empty range', async () => {
    for (const body of ['{}', '[]', 'null', '{"header":{}}', '{"header":{"revision":"x"}}', '<html>', '']) {
      const client = etcdGateway({
        url: 'http://a',
        fetch: async () => ({ status: 200, text: async () => body, body: null }),
      })
      await expect(client.range({ key: 'k' })).rejects.toThrow()
      const made = await etcdStore(client, options()).create(pool('a'))
      expect(made).toMatchObject({ ok: false, failure: { code: 'STORE_OUTCOME_UNKNOWN' } })
    }
  })

  test('a value that something else has written is an error', async () => {
    const { store, model } = open()
    model.put('ipam-kit/x.dev/Pool/n,a', 'no object')
    expect(await store.get(ref('a'))).toMatchObject({ ok: false, failure: { code: 'STORE_IO' } })
  })

  test('fetch is called as a function, not as a method', async () => {
    const model = new EtcdModel()
    const fetch = function (this: unknown, ...words: Parameters<EtcdModel['fetch']>) {
      expect(this).toBeUndefined()
      return model.fetch(...words)
    }
    await etcdGateway({ fetch, url: 'http://a' }).range({ key: 'k' })
  })
})

describe('options', () => {
  const gateway = { fetch: async () => refusal(500, 2, 'x'), url: 'http://a' }
  test.each<[string, () => unknown]>([
    ['url', () => etcdGateway({ ...gateway, url: [] })],
    ['url', () => etcdGateway({ ...gateway, url: 'etcd:2379' })],
    ['url', () => etcdGateway({ ...gateway, url: 7 as never })],
    ['fetch', () => etcdGateway({ ...gateway, fetch: undefined as never })],
    ['fromBase64', () => etcdGateway({ ...gateway, fromBase64: 'no' as never })],
    ['client', () => etcdStore(undefined as never, options())],
    [
      'client.watch',
      () => etcdStore({ ...etcdGateway(gateway), watch: undefined } as unknown as EtcdClient, options()),
    ],
    ['prefix', () => etcdStore(etcdGateway(gateway), options({ prefix: '' }))],
    ['prefix', () => etcdStore(etcdGateway(gateway), options({ prefix: 'a/' }))],
    ['prefix', () => etcdStore(etcdGateway(gateway), options({ prefix: 'ä' }))],
    ['sleep', () => etcdStore(etcdGateway(gateway), options({ sleep: undefined as never }))],
    ['retryMs', () => etcdStore(etcdGateway(gateway), options({ retryMs: 0 }))],
    ['now', () => etcdStore(etcdGateway(gateway), options({ now: undefined as never }))],
  ])('%s', (argument, make) => {
    const message = expect.stringContaining(argument)
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message }))
  })

  test('an object may be almost as large as a request to etcd', () => {
    expect(open().store.capabilities.maxObjectBytes).toBe(1.5 * 1024 * 1024 - 4096)
    expect(open({ maxObjectBytes: 1000 }).store.capabilities.maxObjectBytes).toBe(1000)
  })
})

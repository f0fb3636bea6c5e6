import type { WatchEvent } from 'ipam-kit/store'
import { etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import { describe, expect, test } from 'vitest'
import type { EtcdStoreOptions } from '../../src/store/etcd/etcd-store.js'
import { EtcdModel, refusal } from './etcd-model.js'
import { settle } from './settle.js'

const pools = { apiVersion: 'x.dev/v1', kind: 'Pool', namespace: 'n' }
const pool = (name: string, spec: object = {}) => ({
  apiVersion: 'x.dev/v1',
  kind: 'Pool',
  metadata: { namespace: 'n', name },
  spec,
})
let uids = 0

/** A store whose watches do not wait before they go on, and say how often they would have. */
function open(more: Partial<EtcdStoreOptions> = {}) {
  const model = new EtcdModel()
  const sleeps: number[] = []
  const sleep = async (ms: number) => {
    // what it looks at after a while of silence: etcd-silence.test.ts
    if (ms === 1_000) await new Promise(() => {})
    sleeps.push(ms)
    await new Promise((done) => setImmediate(done))
  }
  const client = etcdGateway({ fetch: model.fetch, url: 'http://etcd' })
  const store = etcdStore(client, { now: Date.now, uid: () => `u${++uids}`, sleep, ...more })
  const watch = (resourceVersion?: string) => store.watch(pools, { resourceVersion })[Symbol.asyncIterator]()
  return { model, store, watch, sleeps }
}

function outline(event: WatchEvent | undefined): string {
  if (event === undefined) return 'end'
  if (event.type === 'ERROR') return `ERROR ${event.failure.code}`
  return event.type === 'BOOKMARK' ? `AT ${event.resourceVersion}` : `${event.type} ${event.object.metadata.name}`
}

async function take(events: AsyncIterator<WatchEvent>, count: number): Promise<string[]> {
  const seen: string[] = []
  while (seen.length < count) seen.push(outline((await events.next()).value))
  return seen
}

/** What etcd says of a new object. */
function added(name: string, revision: number) {
  const value = btoa(JSON.stringify(pool(name)))
  const revisions = { create_revision: String(revision), mod_revision: String(revision) }
  return { kv: { key: btoa(`ipam-kit/x.dev/Pool/n,${name}`), value, ...revisions } }
}

describe('a stream', () => {
  test.each([1, 2, 3, 16, 100_000])('in pieces of %i bytes, also within a character', async (pieceBytes) => {
    const { model, store, watch } = open()
    model.pieceBytes = pieceBytes
    const events = watch('1')
    await store.create(pool('a', { text: 'é€😀' }))
    await store.create(pool('b'))
    expect(await take(events, 3)).toEqual(['AT 1', 'ADDED a', 'ADDED b'])
    // the gateway writes other texts than values as they are
    model.say({ canceled: true, cancel_reason: 'mémoire €😀' })
    await events.return?.()
  })

  test('of which a piece has many lines, and empty ones', async () => {
    const { model, watch } = open()
    const events = watch('1')
    const first = events.next()
    await settle()
    const lines = ['a', 'b', 'c'].map((name) => {
      const value = JSON.stringify(pool(name))
      const kv = {
        key: btoa(`ipam-kit/x.dev/Pool/n,${name}`),
        value: btoa(value),
        create_revision: '5',
        mod_revision: '5',
      }
      return JSON.stringify({ result: { header: { revision: '5' }, events: [{ type: 'PUT', kv }] } })
    })
    model.pieceBytes = 100_000
    expect(outline((await first).value)).toBe('AT 1')
    const next = events.next()
    await settle()
    model.sayText(`\n${lines[0]}\n\r\n${lines[1]}\n${lines[2]}\n`)
    expect(outline((await next).value)).toBe('ADDED a')
    expect(await take(events, 2)).toEqual(['ADDED b', 'ADDED c'])
    await events.return?.()
  })

  test('that ends within a line: the line is told by the next one', async () => {
    const { model, store, watch, sleeps } = open()
    await store.create(pool('a'))
    const events = watch('1')
    expect(await take(events, 2)).toEqual(['AT 1', 'ADDED a'])
    const next = events.next()
    await settle()
    model.sayText('{"result":{"header":{"revision":"3"},"events":[{"kv":{"key":"aXBh')
    model.cut()
    await store.create(pool('b'))
    expect(outline((await next).value)).toBe('ADDED b')
    expect(sleeps).toEqual([500])
    await events.return?.()
  })

  test('with an error in the midst of it', async () => {
    const { model, store, watch } = open()
    const events = watch()
    await events.next()
    for (const error of [
      { grpc_code: 14, http_code: 503, message: 'transport is closing', http_status: 'Service Unavailable' },
      { code: 14, message: 'error reading from server: EOF', details: [] },
    ]) {
      const next = events.next()
      await settle()
      model.sayText(`${JSON.stringify({ error })}\n`)
      await settle()
      await store.create(pool(`a${error.message.length}`))
      expect(outline((await next).value)).toBe(`ADDED a${error.message.length}`)
    }
    await events.return?.()
  })

  test('of answers in fragments: each is told as it comes, but for a revision that may continue in the next', async () => {
    const { model, watch, sleeps } = open()
    const asked: unknown[] = []
    model.intercept = (path, { create_request }) => {
      if (path === '/v3/watch') asked.push((create_request as { fragment: unknown }).fragment)
      return undefined
    }
    model.revision = 9
    const events = watch('1')
    await events.next()
    const say = (of: readonly [name: string, revision: number][], fragment?: true) => {
      model.say({ header: { revision: '9' }, events: of.map(([name, revision]) => added(name, revision)), fragment })
    }
    const next = events.next()
    await settle()
    expect(asked).toEqual([true])
    say(
      [
        ['a', 2],
        ['b', 3],
      ],
      true,
    )
    expect(outline((await next).value)).toBe('ADDED a')
    const second = events.next()
    await settle()
    // all of one revision: what is told behind it is no progress up to the revision of the header
    say([['c', 3]], true)
    await settle()
    model.cut()
    await settle()
    say(
      [
        ['b', 3],
        ['c', 3],
      ],
      true,
    )
    say(
      [
        ['d', 3],
        ['e', 4],
      ],
      true,
    )
    say([['f', 5]])
    expect([outline((await second).value), ...(await take(events, 4))]).toEqual(
      ['b', 'c', 'd', 'e', 'f'].map((x) => `ADDED ${x}`),
    )
    expect(sleeps).toEqual([500])
    await events.return?.()
  })

  test('that is none: fetch without streams', async () => {
    const { model, watch } = open()
    model.intercept = (path) => (path === '/v3/watch' ? { status: 200, text: async () => '', body: null } : undefined)
    const events = watch()
    await events.next()
    const { value } = await events.next()
    expect(value).toMatchObject({ failure: { context: { problem: expect.stringContaining('options.fetch') } } })
  })
})

describe('a watch', () => {
  test('continues after any cut with what came meanwhile', async () => {
    const { model, store, watch, sleeps } = open({ retryMs: 7 })
    const events = watch()
    await events.next()
    let round = 0
    for (const error of [new TypeError('terminated'), undefined, new Error('read ECONNRESET')]) {
      round++
      const next = events.next()
      await settle()
      model.cut(error)
      await store.create(pool(`a${round}`))
      await store.create(pool(`b${round}`))
      expect([outline((await next).value), ...(await take(events, 1))]).toEqual([`ADDED a${round}`, `ADDED b${round}`])
    }
    expect(sleeps).toEqual([7, 7, 7])
    await events.return?.()
  })

  test('that is cut after a time of silence, again and again, does not give up', async () => {
    const { model, store, watch, sleeps } = open()
    const events = watch()
    await events.next()
    const next = events.next()
    for (let i = 0; i < 25; i++) {
      await settle()
      model.cut(new TypeError('terminated'))
    }
    await settle()
    await store.create(pool('a'))
    expect(outline((await next).value)).toBe('ADDED a')
    expect(sleeps.length).toBe(25)
    await events.return?.()
  })

  test('that comes to nothing ten times in a row gives up, with the last error', async () => {
    for (const instead of [
      () => Promise.reject(new TypeError('fetch failed')),
      () => refusal(503, 14, 'etcdserver: no leader'),
      () => ({ status: 502, text: async () => '<html>', body: null }),
    ]) {
      const { model, watch, sleeps } = open()
      model.intercept = (path) => (path === '/v3/watch' ? instead() : undefined)
      const events = watch()
      expect(await take(events, 3)).toEqual(['AT 1', 'ERROR STORE_IO', 'end'])
      expect([model.calls.filter((path) => path === '/v3/watch').length, sleeps.length]).toEqual([10, 9])
    }
    const { model, watch } = open()
    model.intercept = () => refusal(503, 14, 'etcdserver: no leader')
    const { value } = await watch().next()
    expect(value).toMatchObject({ failure: { code: 'STORE_IO', context: { problem: 'etcdserver: no leader' } } })
  })

  test('that etcd cancels is begun again, and given up with its reason', async () => {
    const { model, watch } = open()
    const events = watch()
    await events.next()
    const next = events.next()
    for (let i = 0; i < 10; i++) {
      await settle()
      model.say({ canceled: true, cancel_reason: 'etcdserver: permission denied' })
    }
    expect((await next).value).toMatchObject({
      failure: { code: 'STORE_IO', context: { problem: expect.stringContaining('permission denied') } },
    })
  })

  test('from before what was compacted is gone, and told where it can begin', async () => {
    const { model, store, watch } = open()
    for (let i = 0; i < 5; i++) await store.create(pool(`a${i}`))
    model.compact(4)
    const events = watch('2')
    const context = { resourceVersion: '2', oldest: '6' }
    expect((await events.next()).value).toMatchObject({ failure: { code: 'STORE_VERSION_GONE', context } })
    expect(await take(events, 1)).toEqual(['end'])
    expect(await take(watch('4'), 2)).toEqual(['AT 4', 'ADDED a3'])
  })

  test('that begins with the very revision of the compaction is gone: its deletion may be forgotten', async () => {
    const { model, store, watch } = open()
    await store.create(pool('a'))
    await store.delete({ ...pools, name: 'a' })
    await store.create(pool('b'))
    model.forgetsTombstones = true
    model.compact(3)
    expect(await take(watch('2'), 1)).toEqual(['ERROR STORE_VERSION_GONE'])
    expect(await take(watch('3'), 2)).toEqual(['AT 3', 'ADDED b'])
  })

  test('that is too late by the time it begins is gone, too', async () => {
    const { model, store, watch } = open()
    for (let i = 0; i < 5; i++) await store.create(pool(`a${i}`))
    model.intercept = (path) => {
      if (path === '/v3/watch') model.compact(4)
      return undefined
    }
    const events = watch('2')
    expect(await take(events, 1)).toEqual(['AT 2'])
    const context = { resourceVersion: '2', oldest: '4' }
    expect((await events.next()).value).toMatchObject({ failure: { code: 'STORE_VERSION_GONE', context } })
  })

  test('that falls behind while it is cut is gone', async () => {
    const { model, store, watch } = open()
    const events = watch()
    await events.next()
    const next = events.next()
    await settle()
    model.cut()
    for (let i = 0; i < 5; i++) await store.create(pool(`a${i}`))
    model.compact(6)
    expect(outline((await next).value)).toBe('ERROR STORE_VERSION_GONE')
  })

  test('that cannot know what was there before is gone, and does not take a change for a creation', async () => {
    for (const event of [
      { kv: { key: btoa('ipam-kit/x.dev/Pool/n,a'), value: btoa('{}'), create_revision: '2', mod_revision: '9' } },
      { type: 'DELETE', kv: { key: btoa('ipam-kit/x.dev/Pool/n,a'), mod_revision: '9' } },
    ]) {
      const { model, watch } = open()
      const events = watch()
      await events.next()
      const next = events.next()
      await settle()
      model.say({ header: { revision: '9' }, events: [event] })
      expect((await next).value).toMatchObject({ failure: { code: 'STORE_VERSION_GONE', context: { oldest: '9' } } })
    }
  })

  test('of a store that was restored from an older copy is gone, also if it was under way', async () => {
    const { model, store, watch } = open()
    for (let i = 0; i < 5; i++) await store.create(pool(`a${i}`))
    expect(await take(watch('7'), 2)).toEqual(['ERROR STORE_VERSION_GONE', 'end'])
    const events = watch('6')
    await events.next()
    const next = events.next()
    await settle()
    model.revision = 3
    model.cut()
    expect((await next).value).toMatchObject({ failure: { code: 'STORE_VERSION_GONE', context: { oldest: '3' } } })
  })

  test('tells how far it is when nothing happens, and continues from there', async () => {
    const { model, store, watch } = open()
    const events = watch()
    expect(await take(events, 1)).toEqual(['AT 1'])
    const next = events.next()
    await settle()
    model.progress()
    for (let i = 0; i < 6; i++) model.put('of others', `${i}`)
    model.progress()
    model.progress()
    expect(outline((await next).value)).toBe('AT 7')
    const created = events.next()
    await settle()
    model.cut()
    model.compact(7)
    await store.create(pool('a'))
    expect(outline((await created).value)).toBe('ADDED a')
    await events.return?.()
  })

  test('sees the other namespaces only if it is to', async () => {
    const { model, store } = open()
    const all = store.watch({ ...pools, namespace: undefined }, { resourceVersion: '1' })[Symbol.asyncIterator]()
    const one = store.watch({ ...pools, namespace: 'n' }, { resourceVersion: '1' })[Symbol.asyncIterator]()
    for (const namespace of ['n-1', 'm', 'n0', 'n']) {
      await store.create({ ...pool('a'), metadata: { namespace, name: `in-${namespace}` } })
    }
    model.put('ipam-kit/x.dev/Pooling/n,a', 'another kind')
    expect(await take(all, 5)).toEqual(['AT 1', 'ADDED in-n-1', 'ADDED in-m', 'ADDED in-n0', 'ADDED in-n'])
    expect(await take(one, 2)).toEqual(['AT 1', 'ADDED in-n'])
    for (const events of [all, one]) await events.return?.()
  })

  test.each(['while it waits', 'while it connects', 'between two events'])('ends its connection: %s', async (when) => {
    const { model, store, watch } = open()
    let connect = () => {}
    let canceled = 0
    if (when === 'while it connects') {
      // silent, until it is told that nobody listens
      const reader = { read: () => new Promise<never>(() => {}), cancel: async () => canceled++ }
      const response = { status: 200, text: async () => '', body: { getReader: () => reader } }
      const slow = new Promise<typeof response>((resolve) => {
        connect = () => resolve(response)
      })
      model.intercept = (path) => (path === '/v3/watch' ? slow : undefined)
    }
    const events = watch()
    await events.next()
    await store.create(pool('a'))
    await store.create(pool('b'))
    const next = events.next()
    await settle()
    if (when === 'while it waits') await next.then(() => events.next())
    const last = when === 'between two events' ? undefined : events.next()
    await settle()
    expect((await events.return?.())?.done).toBe(true)
    connect()
    await settle()
    if (last !== undefined) expect((await last).done).toBe(true)
    if (when === 'while it connects') expect(canceled).toBeGreaterThan(0)
    else expect(model.watches.filter((stream) => !stream.isEnded)).toEqual([])
  })
})

import { unwrap } from 'ipam-kit/errors'
import type { Store, WatchEvent } from 'ipam-kit/store'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createIn,
  drain,
  GROUP,
  newStore,
  outline,
  type Parts,
  query,
  ref,
  watchNow,
  withMeta,
} from './memory-fixture.js'

let store: Store

beforeEach(() => {
  store = newStore()
})

const create = (name: string, parts: Parts = {}) => createIn(store, name, parts)

describe('watch', () => {
  it('shows what happens from now on, and first where that is', async () => {
    await create('a')
    const iterator = store.watch(query)[Symbol.asyncIterator]()
    const first = iterator.next()
    await create('b')
    await store.patch(ref('b'), { spec: 1 })
    await store.delete(ref('a'))
    expect(await first).toEqual({ done: false, value: { type: 'BOOKMARK', resourceVersion: '2' } })
    const events = { [Symbol.asyncIterator]: () => iterator }
    expect(outline(await drain(events))).toEqual(['ADDED b@3', 'MODIFIED b@4', 'DELETED a@5'])
  })

  it('begins with the first next if it is from now on', async () => {
    const events = store.watch(query)
    await create('a')
    expect(outline(await drain(events))).toEqual(['BOOKMARK @2'])
  })

  it('from a version loses nothing between the call and the first next, however short the history', async () => {
    const small = newStore({ history: 1 })
    const events = small.watch(query, { resourceVersion: '1' })
    for (const name of ['a', 'b', 'c']) await createIn(small, name)
    expect(outline(await drain(events))).toEqual(['BOOKMARK @1', 'ADDED a@2', 'ADDED b@3', 'ADDED c@4'])
  })

  it('loses nothing after its first next', async () => {
    const events = watchNow(store)
    const made = await create('a')
    expect(await drain(events)).toEqual([{ type: 'ADDED', object: made }])
  })

  it('wakes a waiting reader', async () => {
    const iterator = watchNow(store)[Symbol.asyncIterator]()
    const waiting = iterator.next()
    const made = await create('a')
    expect(await waiting).toEqual({ done: false, value: { type: 'ADDED', object: made } })
  })

  it('replays from a version, announces its end, continues live', async () => {
    await create('a')
    const { resourceVersion } = unwrap(await store.list(query))
    await create('b')
    await store.delete(ref('a'))
    const events = store.watch(query, { resourceVersion })
    await create('c')
    expect(outline(await drain(events))).toEqual(['ADDED b@3', 'DELETED a@4', 'BOOKMARK @4', 'ADDED c@5'])
  })

  it('announces the version of the store when there is nothing to replay', async () => {
    await create('a')
    await create('x', { kind: 'Other' })
    const events = store.watch(query, { resourceVersion: '2' })
    await create('y', { kind: 'Other' })
    expect(outline(await drain(events))).toEqual(['BOOKMARK @3'])
  })

  it('continues from a bookmark without a gap', async () => {
    const first = store.watch(query, { resourceVersion: '1' })
    const [bookmark] = await drain(first)
    await create('a')
    const resourceVersion = bookmark?.type === 'BOOKMARK' ? bookmark.resourceVersion : ''
    expect(outline(await drain(store.watch(query, { resourceVersion })))).toEqual(['ADDED a@2', 'BOOKMARK @2'])
  })

  it('shows one kind of one namespace, under all versions of the group', async () => {
    const events = watchNow(store, { ...query, apiVersion: `${GROUP}/v9`, namespace: 'ns' })
    await create('a')
    await create('a', { kind: 'Other' })
    await create('a', { apiVersion: 'other.example.com/v1' })
    await create('a', { metadata: { namespace: 'other' } })
    expect(outline(await drain(events))).toEqual(['ADDED a@2'])
  })

  it('shows objects come and go as they match the labels', async () => {
    const events = watchNow(store, { ...query, labels: { l: '1' } })
    const made = await create('a', { metadata: { labels: { l: '1' } } })
    unwrap(await store.patch(ref('a'), { metadata: { labels: { l: '2' } }, spec: 2 }))
    unwrap(await store.patch(ref('a'), { spec: 3 }))
    const back = unwrap(await store.patch(ref('a'), { metadata: { labels: { l: '1', m: '1' } } }))
    const more = unwrap(await store.patch(ref('a'), { spec: 4 }))
    const gone = unwrap(await store.delete(ref('a')))
    await create('b', { metadata: { labels: { l: '2' } } })
    await store.delete(ref('b'))
    expect(await drain(events)).toEqual([
      { type: 'ADDED', object: made },
      { type: 'DELETED', object: withMeta(made, { resourceVersion: '3' }) },
      { type: 'ADDED', object: back },
      { type: 'MODIFIED', object: more },
      { type: 'DELETED', object: gone },
    ])
  })

  it('does not keep the query that it was given', async () => {
    const labels = { l: '1' }
    const events = watchNow(store, { ...query, labels })
    labels.l = '2'
    await create('a', { metadata: { labels: { l: '1' } } })
    expect(outline(await drain(events))).toEqual(['ADDED a@2'])
  })

  it.each(['', 'abc', '-1', '1.0', '01', ' 1', '3', '9'.repeat(30)])(
    'ends with an error for the version %j',
    async (resourceVersion) => {
      await create('a')
      const iterator = store.watch(query, { resourceVersion })[Symbol.asyncIterator]()
      const context = { resourceVersion, oldest: '0' }
      expect(await iterator.next()).toEqual({
        done: false,
        value: { type: 'ERROR', failure: { code: 'STORE_VERSION_GONE', context } },
      })
      expect(await iterator.next()).toEqual({ done: true, value: undefined })
    },
  )

  it('begins as far back as the history goes, counted over all kinds', async () => {
    store = newStore({ history: 3 })
    for (const name of ['a', 'b', 'c', 'd', 'e']) await create(name, { kind: name === 'c' ? 'Other' : 'Pool' })
    expect(await drain(store.watch(query, { resourceVersion: '2' }))).toEqual([
      {
        type: 'ERROR',
        failure: { code: 'STORE_VERSION_GONE', context: { resourceVersion: '2', oldest: '3' } },
      },
    ])
    expect(outline(await drain(store.watch(query, { resourceVersion: '3' })))).toEqual([
      'ADDED d@5',
      'ADDED e@6',
      'BOOKMARK @6',
    ])
  })

  it('keeps no history if told so, and still shows what comes', async () => {
    store = newStore({ history: 0 })
    await create('a')
    const events = store.watch(query, { resourceVersion: '2' })
    await create('b')
    expect(outline(await drain(events))).toEqual(['BOOKMARK @2', 'ADDED b@3'])
    expect(outline(await drain(store.watch(query, { resourceVersion: '2' })))).toEqual(['ERROR STORE_VERSION_GONE'])
  })

  it('loses nothing of a slow consumer, however short the history', async () => {
    store = newStore({ history: 1 })
    const events = watchNow(store)
    for (let n = 0; n < 50; n++) await create(`a${n}`)
    expect(outline(await drain(events))).toEqual(Array.from({ length: 50 }, (_, n) => `ADDED a${n}@${n + 2}`))
  })

  it('serves several calls of next in their order', async () => {
    const iterator = watchNow(store)[Symbol.asyncIterator]()
    const calls = [iterator.next(), iterator.next(), iterator.next()]
    await create('a')
    await create('b')
    await iterator.return?.()
    const steps = await Promise.all(calls)
    expect(steps.map(({ done, value }) => (done ? 'end' : outline([value])[0]))).toEqual([
      'ADDED a@2',
      'ADDED b@3',
      'end',
    ])
  })

  it('ends with the loop', async () => {
    const events = watchNow(store)
    await create('a')
    await create('b')
    const seen: WatchEvent[] = []
    for await (const event of events) {
      seen.push(event)
      break
    }
    expect(outline(seen)).toEqual(['ADDED a@2'])
    expect(await drain(events)).toEqual([])
  })

  it('releases a waiting reader when it is ended, and shows nothing more', async () => {
    const iterator = watchNow(store)[Symbol.asyncIterator]()
    const waiting = iterator.next()
    await iterator.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await create('a')
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  })

  it('shows every watcher the same object', async () => {
    const watchers = [watchNow(store), watchNow(store), watchNow(store, { ...query, namespace: 'ns' })]
    const made = await create('a')
    for (const events of watchers) {
      const [event] = await drain(events)
      expect(event?.type === 'ADDED' && event.object).toBe(made)
    }
  })
})

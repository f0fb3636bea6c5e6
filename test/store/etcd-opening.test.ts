import { etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import { describe, expect, test } from 'vitest'
import type { EtcdGatewayOptions, EtcdHttpRequest, EtcdHttpResponse } from '../../src/store/etcd/gateway.js'
import { EtcdModel } from './etcd-model.js'
import { settle } from './settle.js'

const abortController = () => new AbortController()
const range = { key: 'k', rangeEnd: 'l', startRevision: '2' }

/** A server that lets watches wait for their answers. */
function open(more: Partial<EtcdGatewayOptions> = {}) {
  const model = new EtcdModel()
  const requests: EtcdHttpRequest[] = []
  const waiting = new Set<EtcdHttpRequest>()
  const state = { isHeld: true }
  const fetch = async (url: string, request: EtcdHttpRequest): Promise<EtcdHttpResponse> => {
    requests.push(request)
    if (!url.endsWith('/watch') || !state.isHeld) return model.fetch(url, request)
    waiting.add(request)
    return new Promise((_, reject) => {
      request.signal?.addEventListener('abort', () => {
        waiting.delete(request)
        reject(request.signal?.reason)
      })
    })
  }
  const client = etcdGateway({ fetch, url: 'http://etcd', abortController, ...more })
  return { model, client, requests, waiting, state }
}

describe('a watch whose answer has not begun', () => {
  test('leaves no request behind', async () => {
    const { client, waiting } = open()
    const watch = client.watch(range)
    const steps = watch[Symbol.asyncIterator]()
    const next = steps.next()
    await settle()
    expect(waiting.size).toBe(1)
    watch.cancel()
    watch.cancel()
    expect((await next).done).toBe(true)
    expect(waiting.size).toBe(0)
  })

  test('leaves none that has looked for a silent one, however long that takes', async () => {
    const { model, client, waiting } = open()
    let now = () => {}
    const sleep = () => new Promise<void>((done) => setImmediate(done)).then(now)
    const store = etcdStore(client, { now: Date.now, uid: () => 'u', sleep })
    const told: (string | undefined)[] = []
    let end = () => {}
    // as whoever has to know everything does: it watches again
    const watching = async () => {
      for (let isEnded = false; !isEnded; ) {
        const events = store.watch({ apiVersion: 'x.dev/v1', kind: 'Pool' })[Symbol.asyncIterator]()
        end = () => {
          isEnded = true
          void events.return?.()
        }
        for (let step = await events.next(); step.done !== true; step = await events.next()) told.push(step.value.type)
      }
    }
    const watched = watching()
    let most = 0
    let steps = 0
    await new Promise<void>((done) => {
      now = () => {
        most = Math.max(most, waiting.size)
        model.put('of others', `${steps}`)
        if (++steps === 500) done()
      }
    })
    expect(most).toBe(2)
    end()
    await watched
    await settle()
    expect(waiting.size).toBe(0)
    expect(told).toEqual(['BOOKMARK', 'ERROR', 'BOOKMARK'])
  })

  test('is not asked for if it was ended before', async () => {
    const { client, requests } = open()
    const watch = client.watch(range)
    watch.cancel()
    expect((await watch[Symbol.asyncIterator]().next()).done).toBe(true)
    expect(requests).toEqual([])
  })

  test('and is ended does not blame the member', async () => {
    const { model } = open()
    const asked: string[] = []
    const fetch: EtcdGatewayOptions['fetch'] = async (url, request) => {
      asked.push(url)
      if (!url.endsWith('/watch')) return model.fetch(url, request)
      return new Promise((_, reject) => request.signal?.addEventListener('abort', () => reject(request.signal?.reason)))
    }
    const client = etcdGateway({ fetch, url: ['http://a', 'http://b'], abortController })
    const watch = client.watch(range)
    const next = watch[Symbol.asyncIterator]().next()
    await settle()
    watch.cancel()
    await next
    await settle()
    await client.range({ key: 'k' })
    expect(asked).toEqual(['http://a/v3/watch', 'http://a/v3/kv/range'])
  })

  test('does not blame it either while its refusal is read', async () => {
    const { model } = open()
    const asked: string[] = []
    const fetch: EtcdGatewayOptions['fetch'] = async (url, request) => {
      asked.push(url)
      if (!url.endsWith('/watch')) return model.fetch(url, request)
      const text = () => {
        return new Promise<never>((_, reject) => {
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason))
        })
      }
      return { status: 503, text, body: null }
    }
    const client = etcdGateway({ fetch, url: ['http://a', 'http://b'], abortController })
    const watch = client.watch(range)
    const next = watch[Symbol.asyncIterator]().next()
    await settle()
    watch.cancel()
    await next
    await settle()
    await client.range({ key: 'k' })
    expect(asked).toEqual(['http://a/v3/watch', 'http://a/v3/kv/range'])
  })

  test('ends for its reader also without a way to end its request', async () => {
    const { client, waiting } = open({ abortController: undefined })
    const watch = client.watch(range)
    const next = watch[Symbol.asyncIterator]().next()
    await settle()
    watch.cancel()
    expect((await next).done).toBe(true)
    expect([...waiting].map((request) => 'signal' in request)).toEqual([false])
  })
})

test('a watch whose answer has begun ends with its stream, and no other call can be ended', async () => {
  const { model, client, requests, state } = open()
  state.isHeld = false
  const watch = client.watch(range)
  const steps = watch[Symbol.asyncIterator]()
  expect((await steps.next()).value).toMatchObject({ created: true })
  const next = steps.next()
  watch.cancel()
  expect((await next).done).toBe(true)
  expect(model.watches.map(({ isEnded }) => isEnded)).toEqual([true])
  await client.range({ key: 'k' })
  await client.txn({ compare: [], success: [] })
  expect(requests.map(({ signal }) => signal?.aborted)).toEqual([false, undefined, undefined])
})

test('options.abortController has to be a function', () => {
  const make = () => open({ abortController: new AbortController() as never })
  const message = expect.stringContaining('options.abortController')
  expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message }))
})

import { type EtcdClient, etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import { describe, expect, test } from 'vitest'
import type { EtcdHttpResponse } from '../../src/store/etcd/gateway.js'
import { EtcdModel, refusal } from './etcd-model.js'
import { failureOf } from './failure-of.js'

const object = { apiVersion: 'x.dev/v1', kind: 'Pool', metadata: { namespace: 'n', name: 'a' }, spec: { x: 1 } }
const ref = { apiVersion: 'x.dev/v1', kind: 'Pool', namespace: 'n', name: 'a' }

/** A store whose transactions end otherwise, before or after they are done. */
function open(instead: () => EtcdHttpResponse, when: 'before' | 'after' = 'before') {
  const model = new EtcdModel()
  let isBroken = false
  const client = etcdGateway({
    url: 'http://etcd',
    fetch: async (url, request) => {
      const isMeant = isBroken && url.endsWith('/txn')
      if (isMeant && when === 'before') return instead()
      const response = await model.fetch(url, request)
      return isMeant ? instead() : response
    },
  })
  let uids = 0
  const store = etcdStore(client, { now: Date.now, uid: () => `u${++uids}`, sleep: async () => {} })
  return {
    store,
    fail: () => {
      isBroken = true
    },
    heal: () => {
      isBroken = false
    },
  }
}

const page = (status: number) => ({ status, text: async () => '<html>', body: null })
const failed = (code: string) => {
  throw Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(`connect ${code}`), { code }) })
}

/** etcd, or somebody on the way to it, has said no: nothing was written. */
const REFUSALS: readonly [name: string, instead: () => EtcdHttpResponse][] = [
  ['3 invalid argument', () => refusal(400, 3, 'etcdserver: duplicate key given in txn request')],
  ['5 not found', () => refusal(404, 5, 'etcdserver: requested lease not found')],
  ['7 permission denied', () => refusal(403, 7, 'etcdserver: permission denied')],
  ['8 no space left', () => refusal(429, 8, 'etcdserver: mvcc: database space exceeded')],
  ['8 too many requests', () => refusal(429, 8, 'etcdserver: too many requests')],
  ['9 failed precondition', () => refusal(400, 9, 'etcdserver: authentication is not enabled')],
  ['11 out of range', () => refusal(400, 11, 'etcdserver: mvcc: required revision is a future revision')],
  ['11 compacted', () => refusal(400, 11, 'etcdserver: mvcc: required revision has been compacted')],
  ['12 unimplemented', () => refusal(501, 12, 'Method Not Allowed')],
  ['16 not logged in', () => refusal(401, 16, 'etcdserver: invalid auth token')],
  ['a proxy: 401', () => page(401)],
  ['a proxy: 403', () => page(403)],
  ['a proxy: 404', () => page(404)],
  ['a proxy: 405', () => page(405)],
  ['a proxy: 429', () => page(429)],
  ['no connection', () => failed('ECONNREFUSED')],
  ['no such host', () => failed('ENOTFOUND')],
  ['no name service', () => failed('EAI_AGAIN')],
  ['no connection within the time of fetch', () => failed('UND_ERR_CONNECT_TIMEOUT')],
]

/** Nobody knows whether it was done. */
const UNKNOWNS: readonly [name: string, instead: () => EtcdHttpResponse][] = [
  ['1 cancelled', () => refusal(499, 1, 'context canceled')],
  ['2 unknown', () => refusal(500, 2, 'raft: stopped')],
  ['4 deadline exceeded', () => refusal(504, 4, 'context deadline exceeded')],
  ['10 aborted', () => refusal(409, 10, 'aborted')],
  ['13 internal', () => refusal(500, 13, 'stream terminated by RST_STREAM')],
  ['14 time-out', () => refusal(503, 14, 'etcdserver: request timed out')],
  ['14 leader changed', () => refusal(503, 14, 'etcdserver: leader changed')],
  ['14 no leader', () => refusal(503, 14, 'etcdserver: no leader')],
  ['15 data loss', () => refusal(500, 15, 'etcdserver: corrupt cluster')],
  ['17, which there is not yet', () => refusal(418, 17, 'new')],
  ['a proxy: 408', () => page(408)],
  ['a proxy: 500', () => page(500)],
  ['a proxy: 502', () => page(502)],
  ['a proxy: 504', () => page(504)],
  ['a page where JSON should be', () => page(200)],
  ['the connection was cut', () => failed('ECONNRESET')],
  ['the other side closed', () => failed('UND_ERR_SOCKET')],
  [
    'a time-out of fetch',
    () => {
      throw new DOMException('The operation was aborted due to timeout', 'TimeoutError')
    },
  ],
  ['an answer that was cut', () => ({ ...page(200), text: () => Promise.reject(new TypeError('terminated')) })],
  ['an error that was cut', () => ({ ...page(400), text: () => Promise.reject(new TypeError('terminated')) })],
]

describe('an error that says that nothing was written', () => {
  test.each(REFUSALS)('%s', async (_, instead) => {
    const { store, fail, heal } = open(instead)
    fail()
    const failure = failureOf(await store.create(object))
    expect(failure.code).toBe('STORE_IO')
    expect(failure.cause).toBeInstanceOf(Error)
    heal()
    const made = await store.create(object)
    expect(made.ok).toBe(true)
    fail()
    expect(failureOf(await store.patch(ref, { spec: { x: 2 } }))).toMatchObject({ code: 'STORE_IO' })
    expect(failureOf(await store.delete(ref))).toMatchObject({ code: 'STORE_IO' })
    expect(await store.get(ref)).toEqual(made)
  })
})

describe('an error that says nothing of it', () => {
  test.each(UNKNOWNS)('%s', async (_, instead) => {
    for (const when of ['before', 'after'] as const) {
      const { store, fail } = open(instead, when)
      fail()
      expect(failureOf(await store.create(object))).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' })
      expect((await store.get(ref)).ok).toBe(when === 'after')
    }
  })
})

describe('a document that is too large for the server', () => {
  const large = { ...object, spec: { text: 'é'.repeat(50_000) } }

  test.each([
    () => refusal(400, 3, 'etcdserver: request is too large'),
    () => refusal(429, 8, 'grpc: received message larger than max (2400000 vs. 2097152)'),
    () => page(413),
  ])('%s', async (instead) => {
    const { store, fail } = open(instead)
    fail()
    const { code, context } = failureOf(await store.create(large))
    expect(code).toBe('STORE_OBJECT_TOO_LARGE')
    // as large as it is, and less than that
    expect(context).toMatchObject({ sizeBytes: expect.any(Number), maxBytes: expect.any(Number) })
    const { sizeBytes, maxBytes } = context as { sizeBytes: number; maxBytes: number }
    expect(sizeBytes).toBeGreaterThan(100_000)
    expect(maxBytes).toBe(sizeBytes - 1)
  })

  test('is refused before it is sent, if it is too large for etcd as it comes', async () => {
    const { store, fail } = open(() => page(500))
    fail()
    const huge = { ...object, spec: { text: 'x'.repeat(1.5 * 1024 * 1024) } }
    const context = { maxBytes: 1.5 * 1024 * 1024 - 4096 }
    expect(failureOf(await store.create(huge))).toMatchObject({ code: 'STORE_OBJECT_TOO_LARGE', context })
  })
})

describe('errors of other clients', () => {
  function over(error: unknown) {
    const client: EtcdClient = {
      range: () => Promise.reject(error),
      txn: () => Promise.reject(error),
      watch: () => {
        throw error
      },
    }
    return etcdStore(client, { now: Date.now, uid: () => 'u', sleep: async () => {} })
  }

  test.each<[unknown, string]>([
    [Object.assign(new Error('7 PERMISSION_DENIED: etcdserver: permission denied'), { code: 7 }), 'STORE_IO'],
    [Object.assign(new Error('14 UNAVAILABLE: Connection dropped'), { code: 14 }), 'STORE_OUTCOME_UNKNOWN'],
    [Object.assign(new Error('4 DEADLINE_EXCEEDED'), { code: 4 }), 'STORE_OUTCOME_UNKNOWN'],
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'STORE_IO'],
    [Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), 'STORE_OUTCOME_UNKNOWN'],
    [new Error('who knows'), 'STORE_OUTCOME_UNKNOWN'],
    ['a text', 'STORE_OUTCOME_UNKNOWN'],
    [undefined, 'STORE_OUTCOME_UNKNOWN'],
  ])('%s: %s', async (error, code) => {
    const store = over(error)
    expect(failureOf(await store.create(object)).code).toBe(code)
    expect(failureOf(await store.get(ref)).code).toBe('STORE_IO')
    expect(failureOf(await store.list(ref)).code).toBe('STORE_IO')
  })
})

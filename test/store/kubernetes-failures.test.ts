import type { Store } from 'ipam-kit/store'
import { type KubernetesClient, kubernetesStore } from 'ipam-kit/store/kubernetes'
import { describe, expect, it } from 'vitest'
import type { KubernetesAnswer } from '../../src/store/kubernetes/client.js'
import { failureOf } from './failure-of.js'
import { refusal, statusOf } from './kubernetes-model.js'
import { failure, PLAIN, POOL, pool, REGION, ref } from './memory-fixture.js'

const sleep = async () => {}
const kinds = [POOL, REGION, PLAIN]
const versioned = pool('a', { metadata: { uid: 'u', resourceVersion: '5' } })

/** A store whose every request is answered with this. */
function answering(answer: KubernetesAnswer | Error): Store {
  const client: KubernetesClient = {
    async request() {
      if (answer instanceof Error) throw answer
      return answer
    },
    async watch() {
      throw new Error('not watched')
    },
  }
  return kubernetesStore(client, { sleep, kinds })
}

const write = (answer: KubernetesAnswer | Error) => answering(answer).update(versioned)
const read = (answer: KubernetesAnswer | Error) => answering(answer).get(ref('a'))
const list = (answer: KubernetesAnswer | Error) => answering(answer).list({ ...POOL }, { continue: 'token' })

const named = (code: number, reason: string, message = reason, details: object = {}) => ({
  status: code,
  body: JSON.stringify(statusOf(code, reason, message, { name: 'a', kind: 'pools', ...details })),
})
const PAGE = '<html>\n<head><title>502 Bad Gateway</title></head>\n</html>'
const RBAC = 'pools.ipam.example.com "a" is forbidden: User "nobody" cannot update resource "pools"'
const DENIED = 'admission webhook "never.example.com" denied the request: not today'
const CALLED = 'Internal error occurred: failed calling webhook "never.example.com": connection refused'

describe('answers to a write, and to a read', () => {
  it.each<[string, KubernetesAnswer, string, string]>([
    ['not found', named(404, 'NotFound'), 'STORE_NOT_FOUND', 'STORE_NOT_FOUND'],
    ['no such resource', { status: 404, body: '404 page not found\n' }, 'STORE_IO', 'STORE_IO'],
    [
      'no such resource, as a Status',
      refusal(404, 'NotFound', 'the server could not find the resource'),
      'STORE_IO',
      'STORE_IO',
    ],
    ['not found by somebody else', { status: 404, body: PAGE }, 'STORE_IO', 'STORE_IO'],
    ['already there', named(409, 'AlreadyExists'), 'STORE_ALREADY_EXISTS', 'STORE_ALREADY_EXISTS'],
    ['a conflict', named(409, 'Conflict'), 'STORE_CONFLICT', 'STORE_CONFLICT'],
    ['a conflict of somebody else', { status: 409, body: PAGE }, 'STORE_IO', 'STORE_IO'],
    ['invalid', named(422, 'Invalid'), 'STORE_INVALID', 'STORE_INVALID'],
    ['a bad request', refusal(400, 'BadRequest', 'unable to parse'), 'STORE_INVALID', 'STORE_INVALID'],
    ['a bad request, to somebody else', { status: 400, body: '400 Bad Request' }, 'STORE_IO', 'STORE_IO'],
    ['unauthorized', refusal(401, 'Unauthorized', 'Unauthorized'), 'STORE_IO', 'STORE_IO'],
    ['forbidden', named(403, 'Forbidden', RBAC), 'STORE_IO', 'STORE_IO'],
    ['denied', refusal(403, 'Forbidden', DENIED), 'STORE_INVALID', 'STORE_INVALID'],
    ['denied in other words', refusal(422, 'Invalid', DENIED), 'STORE_INVALID', 'STORE_INVALID'],
    ['denied with an odd code', refusal(500, '', DENIED), 'STORE_INVALID', 'STORE_INVALID'],
    ['not allowed', refusal(405, 'MethodNotAllowed', 'no'), 'STORE_IO', 'STORE_IO'],
    ['gone', named(410, 'Gone'), 'STORE_IO', 'STORE_IO'],
    [
      'too large',
      refusal(413, 'RequestEntityTooLarge', 'limit is 3145728'),
      'STORE_OBJECT_TOO_LARGE',
      'STORE_OBJECT_TOO_LARGE',
    ],
    ['too large for somebody else', { status: 413, body: PAGE }, 'STORE_OBJECT_TOO_LARGE', 'STORE_OBJECT_TOO_LARGE'],
    [
      'too large for etcd',
      refusal(500, '', 'etcdserver: request is too large'),
      'STORE_OBJECT_TOO_LARGE',
      'STORE_OBJECT_TOO_LARGE',
    ],
    [
      'too large on the way to etcd',
      refusal(500, '', 'rpc error: trying to send message larger than max (2200388 vs. 2097152)'),
      'STORE_OBJECT_TOO_LARGE',
      'STORE_OBJECT_TOO_LARGE',
    ],
    ['too many', refusal(429, 'TooManyRequests', 'later'), 'STORE_IO', 'STORE_IO'],
    ['a redirection', { status: 302, body: '' }, 'STORE_IO', 'STORE_IO'],
    [
      'a version that is none',
      refusal(500, '', 'strconv.ParseUint: parsing "yesterday": invalid syntax'),
      'STORE_CONFLICT',
      'STORE_CONFLICT',
    ],
    [
      'a patch that has left no kind',
      refusal(
        500,
        'InternalError',
        "Internal error occurred: Object 'Kind' is missing in 'unstructured object has no kind'",
      ),
      'STORE_INVALID',
      'STORE_INVALID',
    ],
    ['a webhook that is not there', refusal(500, 'InternalError', CALLED), 'STORE_IO', 'STORE_IO'],
    [
      'an error of the server',
      refusal(500, 'InternalError', 'etcdserver: request timed out'),
      'STORE_OUTCOME_UNKNOWN',
      'STORE_IO',
    ],
    ['what was asked too slowly', { status: 408, body: '' }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    ['a time-out', refusal(504, 'Timeout', 'request did not complete'), 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    [
      'a server that is not there',
      { status: 503, body: 'error trying to reach service' },
      'STORE_OUTCOME_UNKNOWN',
      'STORE_IO',
    ],
    ['a page', { status: 502, body: PAGE }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    ['a login page', { status: 200, body: PAGE }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    ['nothing', { status: 200, body: '' }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    ['a list', { status: 200, body: '[]' }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    ['null', { status: 200, body: 'null' }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    ['something else', { status: 200, body: '{"kind":"Pool"}' }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    [
      'a success without an object',
      { status: 200, body: '{"kind":"Status","metadata":{}}' },
      'STORE_OUTCOME_UNKNOWN',
      'STORE_IO',
    ],
    ['a status that is none', { status: Number.NaN, body: '' }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    ['no answer', undefined as never, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
    ['no text', { status: 200, body: {} as never }, 'STORE_OUTCOME_UNKNOWN', 'STORE_IO'],
  ])('%s', async (_, answer, toWrite, toRead) => {
    expect(failure(await write(answer))).toMatchObject({ code: toWrite })
    expect(failure(await read(answer))).toMatchObject({ code: toRead })
  })

  it('tell what is wrong with which field', async () => {
    const causes = [
      { field: 'spec.first', message: 'Required value' },
      { field: 'spec.second', message: 'Invalid value: "x"' },
      { field: 'spec.first', message: 'Required value' },
      { field: '<nil>', message: '' },
      'nonsense',
      null,
    ]
    const { context } = failureOf(await write(named(422, 'Invalid', 'a long text', { causes })))
    const problem = 'Required value; spec.second: Invalid value: "x"'
    expect(context).toEqual({ object: 'Pool ns/a', path: 'spec.first', problem })
  })

  it('tell what is wrong if no field is named', async () => {
    const { context } = failureOf(await write(named(422, 'Invalid', 'all of it', { causes: 'none' })))
    expect(context).toEqual({ object: 'Pool ns/a', path: 'object', problem: 'all of it' })
    const mute = { status: 422, body: JSON.stringify({ kind: 'Status', details: 5, message: 7, code: 'x' }) }
    expect(failureOf(await write(mute)).context).toEqual({ object: 'Pool ns/a', path: 'object', problem: 'is refused' })
  })

  it('tell that it is the namespace that is not there', async () => {
    const missing = {
      status: 404,
      body: JSON.stringify(statusOf(404, 'NotFound', '', { name: 'ns', kind: 'namespaces' })),
    }
    expect(failureOf(await answering(missing).create(pool('a'))).context).toEqual({ object: 'Namespace ns' })
    const namespace = { ...REGION, apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' }
    const client = { request: async () => missing, watch: async () => ({ abort() {} }) }
    const store = kubernetesStore(client, { sleep, kinds: [namespace] })
    const place = { apiVersion: 'v1', kind: 'Namespace', name: 'other' }
    expect(failureOf(await store.get(place)).context).toEqual({ object: 'Namespace other' })
  })

  it('tell what a write was made for', async () => {
    const conflict = named(409, 'Conflict', 'the object has been modified')
    const actual = 'the object has been modified'
    const object = 'Pool ns/a'
    expect(failureOf(await write(conflict)).context).toEqual({ object, expected: 'resourceVersion "5"', actual })
    const conditions = { uid: 'u', resourceVersion: '5' }
    const patched = await answering(conflict).patch(ref('a'), {}, conditions)
    expect(failureOf(patched).context).toEqual({ object, expected: 'uid "u", resourceVersion "5"', actual })
    const free = await answering(conflict).patch(ref('a'), {})
    expect(failureOf(free).context).toEqual({ object, expected: 'an object at rest', actual })
    const mute = { status: 409, body: JSON.stringify({ kind: 'Status', reason: 'Conflict' }) }
    expect(failureOf(await write(mute)).context).toMatchObject({ actual: 'another one' })
  })

  it('tell a size that is larger than what may be', async () => {
    const answer = refusal(500, '', 'etcdserver: request is too large')
    const { context } = failureOf(await answering(answer).patch(ref('a'), { spec: {} }))
    expect(context).toEqual({ object: 'Pool ns/a', sizeBytes: 1_572_865, maxBytes: 1_572_864 })
  })

  it('however long they are, do not make long failures', async () => {
    const page = `<html>${'<p>\u0007oops</p>\n'.repeat(100_000)}</html>`
    const causes = [{ field: 'f'.repeat(10_000), message: 'm'.repeat(1_000_000) }]
    for (const answer of [
      { status: 502, body: page },
      { status: 403, body: page },
      named(422, 'Invalid', 'x'.repeat(1_000_000), { causes }),
      named(409, 'Conflict', 'x'.repeat(1_000_000)),
      named(404, 'x'.repeat(1_000_000)),
      refusal(500, '', CALLED + 'x'.repeat(1_000_000)),
    ]) {
      const failed = failureOf(await write(answer))
      expect(JSON.stringify(failed.context).length).toBeLessThan(2_100)
      expect(failed.message).not.toMatch(/\p{Cc}/u)
    }
  })
})

describe('answers to a list', () => {
  const metadata = { resourceVersion: '7' }
  const item = { metadata: { name: 'a', namespace: 'ns', resourceVersion: '3' } }

  it('give the items their kind', async () => {
    const listed = await list({ status: 200, body: JSON.stringify({ metadata, items: [item] }) })
    const { apiVersion, kind } = POOL
    expect(listed).toEqual({ ok: true, value: { resourceVersion: '7', items: [{ apiVersion, kind, ...item }] } })
  })

  it('may have no items, and an empty token', async () => {
    const body = JSON.stringify({ metadata: { ...metadata, continue: '' }, items: null })
    expect(await list({ status: 200, body })).toEqual({ ok: true, value: { resourceVersion: '7', items: [] } })
  })

  it.each([
    [{}],
    [{ items: [] }],
    [{ metadata: {}, items: [] }],
    [{ metadata: { resourceVersion: 7 }, items: [] }],
    [{ metadata, items: {} }],
    [{ metadata, items: [item, {}] }],
    [{ metadata, items: [{ metadata: { name: 'a' } }] }],
    [{ metadata, items: [{ metadata: { ...item.metadata, name: 5 } }] }],
    [{ metadata, items: [{ ...item, kind: 5 }] }],
  ])('of %j are none', async (json) => {
    expect(failure(await list({ status: 200, body: JSON.stringify(json) }))).toMatchObject({ code: 'STORE_IO' })
  })

  it('tell that a token is too old', async () => {
    const answer = refusal(410, 'Expired', 'The provided continue parameter is too old')
    const context = { resourceVersion: 'token', oldest: '0' }
    expect(failure(await list(answer))).toEqual({ code: 'STORE_VERSION_GONE', context })
    const told = refusal(410, 'Expired', 'too old resource version: 1 (206)')
    expect(failure(await list(told))).toMatchObject({ context: { oldest: '206' } })
  })
})

describe('no answer', () => {
  const withCode = (code: string, more: object = {}) => Object.assign(new Error(`failed: ${code}`), { code, ...more })
  const wrapped = (error: Error) => new TypeError('fetch failed', { cause: error })

  it.each([
    'NOT_SENT',
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'UND_ERR_CONNECT_TIMEOUT',
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ])('%s: nothing was written', async (code) => {
    for (const error of [withCode(code), wrapped(withCode(code)), wrapped(wrapped(withCode(code)))]) {
      expect(failure(await write(error))).toMatchObject({ code: 'STORE_IO' })
      expect(failureOf(await write(error)).cause).toBe(error)
    }
  })

  it.each([
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    'ABORT_ERR',
  ])('%s: it may have been written', async (code) => {
    for (const error of [withCode(code), wrapped(withCode(code))]) {
      expect(failure(await write(error))).toMatchObject({
        code: 'STORE_OUTCOME_UNKNOWN',
        context: { operation: 'update (kubernetes)', object: 'Pool ns/a', problem: expect.stringContaining(code) },
      })
      expect(failure(await read(error))).toMatchObject({ code: 'STORE_IO', context: { operation: 'get (kubernetes)' } })
    }
  })

  it.each([
    ['by the call that failed', (code: string) => withCode(code, { syscall: 'connect' })],
    ['by the words of Node', (code: string) => withCode(code, { message: `connect ${code} 192.0.2.1:6443` })],
    [
      'by the words of another fetch',
      (code: string) =>
        withCode(code, { message: `request to https://x failed, reason: connect ${code} 192.0.2.1:6443` }),
    ],
  ])('to a connection that is not made, known %s: nothing was written', async (_, make) => {
    for (const code of ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET']) {
      expect(failure(await write(make(code)))).toMatchObject({ code: 'STORE_IO' })
      expect(failure(await write(wrapped(make(code))))).toMatchObject({ code: 'STORE_IO' })
    }
  })

  it('in the words of another program is none', async () => {
    for (const [message, more] of [
      ['connect ECONNRESET 192.0.2.1:6443', {}],
      ['read ECONNRESET after connect ETIMEDOUT', { code: 'ECONNRESET' }],
      ['socket hang up', { code: 'ECONNRESET', syscall: 'read' }],
    ] as const) {
      const error = Object.assign(new Error(message), more)
      expect(failure(await write(error))).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' })
    }
  })

  it('is no promise that something was sent', async () => {
    for (const error of ['text', null, undefined, 5, { code: 'ECONNRESET' }, { cause: { cause: null } }]) {
      const client = { request: () => Promise.reject(error), watch: async () => ({ abort() {} }) }
      const store = kubernetesStore(client, { sleep, kinds })
      expect(failure(await store.create(pool('a')))).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' })
    }
    const circle: { cause?: unknown } = {}
    circle.cause = circle
    expect(failure(await write(circle as Error))).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' })
  })

  it('to the reading before a deletion: nothing was written', async () => {
    const error = withCode('ECONNRESET')
    expect(failure(await answering(error).delete(ref('a')))).toMatchObject({ code: 'STORE_IO' })
  })
})

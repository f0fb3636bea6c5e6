import { describe, expect, test } from 'vitest'
import { base, marker, neutronError, seenOf, unwrap, worldWith } from './world.js'

const FIPS = /\/v2\.0\/floatingips/u

describe('what an answer to the call that creates means', () => {
  const rows: readonly [what: string, status: number, text: string, failure: object][] = [
    [
      'quota',
      409,
      neutronError('OverQuota', "Quota exceeded for resources: ['floatingip']"),
      { reason: 'BackendExhausted', retryable: true, nothingDone: true },
    ],
    [
      'quota, as other clouds tell it',
      403,
      neutronError('Forbidden', 'Quota exceeded'),
      { reason: 'BackendExhausted', retryable: true, nothingDone: true },
    ],
    [
      'no free address in the network',
      400,
      neutronError('ExternalIpAddressExhausted', 'Unable to find any IP address'),
      { reason: 'BackendExhausted', retryable: true, nothingDone: true },
    ],
    [
      'no free address for the port',
      409,
      neutronError('IpAddressGenerationFailure', 'No more IP addresses'),
      { reason: 'BackendExhausted', retryable: true, nothingDone: true },
    ],
    [
      'no permission',
      403,
      neutronError('PolicyNotAuthorized', 'disallowed by policy'),
      { reason: 'BackendDenied', retryable: true, nothingDone: true },
    ],
    ['401', 401, '{"error":{"message":"no"}}', { reason: 'BackendDenied', retryable: true, nothingDone: true }],
    [
      'the network is gone',
      404,
      neutronError('NetworkNotFound', 'Network could not be found'),
      { reason: 'PoolNotReady', retryable: true, nothingDone: true },
    ],
    ['another conflict', 409, neutronError('FloatingIPInUse', 'in use'), { retryable: true, nothingDone: true }],
    ['a bad request', 400, neutronError('BadRequest', 'not external'), { retryable: false, nothingDone: true }],
    ['a time-out of the server', 408, '', { retryable: true }],
    ['an error of the server', 500, neutronError('HTTPInternalServerError', 'oops'), { retryable: true }],
    ['a proxy', 502, '<html>Bad Gateway</html>', { retryable: true }],
    ['a redirect', 302, '', { retryable: true }],
  ]
  test.each(rows)('%s', async (_, status, text, failure) => {
    const { create, answerWith, fake } = worldWith()
    answerWith('POST', FIPS, { status, text })
    const message = expect.stringMatching(
      new RegExp(`^cannot create a floating IP in network [0-9a-f-]+: ${status}`, 'u'),
    )
    expect(await create()).toEqual({ ok: false, failure: { message, ...failure } })
    expect(fake.floatingIPs).toEqual([])
  })
})

describe('when to ask again', () => {
  const rows: readonly [header: string, status: number, seconds: number | undefined][] = [
    ['7', 429, 7],
    ['7', 503, 7],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 429, 30],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 429, 0],
    ['999999', 429, 3600],
    ['soon', 429, undefined],
    ['7', 500, undefined],
  ]
  test.each(rows)('Retry-After: %s with %i', async (header, status, seconds) => {
    const { create, answerWith } = worldWith()
    answerWith('POST', FIPS, { status, headers: { 'Retry-After': header } })
    const answer = await create()
    expect(answer).toMatchObject({ ok: false, failure: { retryable: true } })
    if (answer.ok) return
    const { retryAfterSeconds, nothingDone } = answer.failure
    expect([retryAfterSeconds, nothingDone]).toEqual([seconds, status === 429 ? true : undefined])
  })
})

describe('no answer', () => {
  test('to the call that creates: it may have been carried out', async () => {
    const { create, state } = worldWith()
    state.intercept = ({ method, url }) => {
      if (method === 'POST' && FIPS.test(url)) throw new Error('socket hang up')
      return undefined
    }
    const answer = await create()
    expect(answer).toMatchObject({
      ok: false,
      failure: { retryable: true, message: expect.stringContaining('hang up') },
    })
    expect(answer).not.toHaveProperty('failure.nothingDone')
  })

  test('to what comes before it: nothing was done', async () => {
    const { create, state } = worldWith()
    state.intercept = ({ url }) => {
      if (url.includes('/auth/tokens')) throw new Error('connection refused')
      return undefined
    }
    expect(await create()).toMatchObject({ failure: { retryable: true, nothingDone: true } })
  })

  test('in the time that a call has: a request that changes something is not sent any more', async () => {
    const { clock, create, state, count, fake } = worldWith()
    state.intercept = ({ url, timeoutMs }) => {
      expect(timeoutMs).toBeLessThanOrEqual(30_000)
      if (url.includes('/auth/tokens')) clock.nowMs += 30_001
      return undefined
    }
    expect(await create()).toMatchObject({ failure: { retryable: true, nothingDone: true } })
    expect([count('POST', FIPS), fake.floatingIPs.length]).toEqual([0, 0])
  })
})

describe('what is answered to a deletion', () => {
  test('404 in between: it is deleted', async () => {
    const { cloud, create, answerWith } = worldWith()
    const created = unwrap(await create())
    const { address } = created
    answerWith('DELETE', FIPS, { status: 404, text: neutronError('FloatingIPNotFound', 'gone') })
    expect(await cloud.deleteAddress({ ...base, seen: seenOf(created), address })).toEqual({ ok: true, value: {} })
  })

  test('attached between the read and the deletion: it stays', async () => {
    const { cloud, create, fake, network, state } = worldWith()
    const created = unwrap(await create())
    const { id, address } = created
    const port = fake.addPort({ device: 'server', network, fixedIPs: [] }).id
    state.intercept = ({ method }) => {
      if (method === 'DELETE') fake.byHand.attach(id, port)
      return undefined
    }
    const answer = await cloud.deleteAddress({ ...base, seen: seenOf(created), address })
    expect(answer).toMatchObject({
      failure: { retryable: true, nothingDone: true, message: expect.stringContaining('412') },
    })
    expect(fake.floatingIPs).toMatchObject([{ port }])
  })

  test('what forwards ports is in use', async () => {
    const { cloud, create, fake, answerWith } = worldWith()
    const created = unwrap(await create())
    const { id, address } = created
    const floatingip = {
      ...{ id, floating_ip_address: address, floating_network_id: 'n', port_forwardings: [{}] },
      description: `ipam-kit ${marker}`,
    }
    answerWith('GET', FIPS, { text: JSON.stringify({ floatingip }) })
    expect(await cloud.deleteAddress({ ...base, seen: seenOf(created), address })).toMatchObject({ ok: false })
    expect(fake.floatingIPs).toHaveLength(1)
  })

  test('an id that would be another path is refused', async () => {
    const { cloud, count } = worldWith()
    for (const id of ['', '..', '../networks/1', 'a?b']) {
      expect(await cloud.deleteAddress({ ...base, seen: seenOf({ id }), address: '' })).toMatchObject({
        ok: false,
        failure: { retryable: false, nothingDone: true },
      })
    }
    expect(count('DELETE', /./u)).toBe(0)
  })
})

describe('networks', () => {
  const notReady = { retryable: false, reason: 'PoolNotReady' }
  test('several: all are named', async () => {
    const { cloud, fake, network } = worldWith()
    const other = fake.addNetwork({ name: 'other', cidrs: [] }).id
    const message = `unable to find the network: there are 2 external networks: ${network}, ${other}`
    expect(await cloud.findNetwork({ ...base, network: null })).toEqual({
      ok: false,
      failure: { ...notReady, message },
    })
  })

  const bad = [
    {},
    { id: '' },
    { filter: {} },
    { id: 'a', filter: { name: 'b' } },
    { filter: { nam: 'public' } },
    'public',
    7,
  ]
  test.each(bad)('%j is not a way to name one', async (network) => {
    const { cloud, count } = worldWith()
    expect(await cloud.findNetwork({ ...base, network })).toMatchObject({ failure: notReady })
    expect(count('GET', /networks/u)).toBe(0)
  })

  test('by each member of a filter', async () => {
    const { cloud, fake } = worldWith()
    const id = fake.addNetwork({ name: 'b', description: 'd', project: 'p', tags: ['x', 'y'], cidrs: [] }).id
    const filters = [
      { name: 'b' },
      { description: 'd' },
      { projectID: 'p' },
      { tags: ['x', 'y'] },
      { tagsAny: ['y', 'z'] },
      { name: 'b', notTags: ['x', 'z'] },
      { name: 'b', notTagsAny: ['z'] },
    ]
    for (const filter of filters) {
      expect(unwrap(await cloud.findNetwork({ ...base, network: { filter } }))).toMatchObject({ id, tags: ['x', 'y'] })
    }
    expect(await cloud.findNetwork({ ...base, network: { filter: { name: 'b', notTagsAny: ['x'] } } })).toMatchObject({
      failure: notReady,
    })
  })

  test('one that is not external is not found', async () => {
    const { cloud, fake } = worldWith()
    const { id } = fake.addNetwork({ name: 'inner', cidrs: [], isExternal: false })
    expect(await cloud.findNetwork({ ...base, network: { id } })).toMatchObject({ failure: notReady })
  })
})

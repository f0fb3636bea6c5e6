import { describe, expect, test } from 'vitest'
import { base, marker, neutronError, PASSWORD, seenOf, unwrap, worldWith } from './world.js'

const FIPS = /\/v2\.0\/floatingips/u
const floatingip = (members: object) =>
  JSON.stringify({ floatingip: { id: 'x', floating_ip_address: '203.0.113.9', floating_network_id: 'n', ...members } })

describe('an answer that is not what Neutron answers', () => {
  const bodies: readonly [what: string, text: string, message: string][] = [
    ['HTML', '<!DOCTYPE html><html>Sign in</html>', 'Sign in'],
    ['nothing', '', 'an empty answer'],
    ['null', 'null', 'null'],
    ['an array', '[]', '[]'],
    ['half of an object', '{"floatingip": {"id"', 'floatingip'],
    ['no id', floatingip({ id: undefined }), 'floatingip.id'],
    ['a number for an address', floatingip({ floating_ip_address: 7 }), 'floatingip.floating_ip_address'],
    ['text for tags', floatingip({ tags: 'a' }), 'floatingip.tags'],
  ]
  test.each(bodies)('to the call that creates: %s', async (_, text, part) => {
    const { create, answerWith } = worldWith()
    answerWith('POST', FIPS, { status: 201, text })
    const answer = await create()
    expect(answer).toMatchObject({ failure: { retryable: true, message: expect.stringContaining(part) } })
    // it may have been created
    expect(answer).not.toHaveProperty('failure.nothingDone')
  })

  test.each(['<html>', '', '{}', '{"floatingips": {}}', '{"floatingips": [{"id": ""}]}', '{"floatingips": [null]}'])(
    'to a list: %s',
    async (text) => {
      const { list, answerWith } = worldWith()
      answerWith('GET', FIPS, { text })
      expect(await list()).toMatchObject({ ok: false, failure: { retryable: true } })
    },
  )

  test.each(['<html>', '', '{}', '{"token": {"expires_at": "never"}}'])(
    'to the request for a token: %s',
    async (text) => {
      const { list, answerWith } = worldWith()
      answerWith('POST', /tokens/u, { status: 201, text, headers: { 'x-subject-token': 't' } })
      expect(await list()).toMatchObject({ ok: false, failure: { retryable: true } })
    },
  )

  test('1 MB of text is cut, and has no control characters', async () => {
    const { create, answerWith } = worldWith()
    answerWith('POST', FIPS, { status: 500, text: '\u001b[31mred\n'.repeat(100_000) })
    const answer = await create()
    if (answer.ok) throw new Error('it is a failure')
    expect(answer.failure.message.length).toBeLessThan(1000)
    expect(answer.failure.message).not.toMatch(/\p{C}/u)
  })
})

describe('an address that cannot be used', () => {
  test('in no subnet of the network: it is deleted again, and named', async () => {
    const { create, fake } = worldWith()
    fake.inject('createAddress', 'otherNetwork')
    const message = expect.stringContaining('192.0.2.255')
    expect(await create()).toMatchObject({ failure: { retryable: true, nothingDone: true, message } })
    expect([fake.floatingIPs, fake.foreignDeletions]).toEqual([[], []])
  })

  test('and that cannot be deleted: the call may have done something, and the list names it', async () => {
    const { create, fake, list } = worldWith()
    fake.inject('createAddress', 'otherNetwork')
    fake.inject('deleteAddress', 'down')
    const answer = await create()
    expect(answer).toMatchObject({ ok: false })
    expect(answer).not.toHaveProperty('failure.nothingDone')
    const { id } = fake.floatingIPs[0]!
    expect(unwrap(await list())).toEqual({
      addresses: [],
      problems: [`192.0.2.255 of floating IP ${id} is in no subnet of network ${fake.networks[0]?.id}`],
    })
  })

  test('one that is no address stops no other one of the list', async () => {
    const { list, state } = worldWith()
    let text = ''
    for (const wrong of ['', 'one', '203.0.113.300', '203.0.113.2/32']) {
      state.intercept = ({ method, url }) =>
        method === 'GET' && FIPS.test(url) ? { status: 200, headers: {}, text } : undefined
      const good = { id: 'g', floating_ip_address: '203.0.113.9', floating_network_id: 'n' }
      text = JSON.stringify({
        floatingips: [{ ...good, id: 'w', floating_ip_address: wrong }, good],
        floatingips_links: [{ rel: 'previous' }],
      })
      const listed = unwrap(await list())
      expect(listed).toMatchObject({
        addresses: [{ id: 'g' }],
        problems: [`${wrong} of floating IP w is not an address`],
      })
    }
  })

  test('of a subnet that was added after the last look is right', async () => {
    const { create, fake, network, list, clock } = worldWith()
    unwrap(await create())
    fake.removeNetwork(network)
    fake.addNetwork({ id: network, name: 'public', cidrs: ['198.51.100.0/24'] })
    clock.nowMs += 1000
    expect(unwrap(await create()).address).toBe('198.51.100.3')
    expect(unwrap(await list())).toMatchObject({ addresses: [{ address: '198.51.100.3' }] })
  })

  test('is not looked for where the subnets are not shown', async () => {
    const { create, fake } = worldWith({ handler: { showsSubnets: false } })
    fake.inject('createAddress', 'otherNetwork')
    expect(unwrap(await create()).address).toBe('192.0.2.255')
  })

  test('of another network is a failure, and stays', async () => {
    const { create, count, answerWith } = worldWith()
    answerWith('POST', FIPS, { status: 201, text: floatingip({ description: `ipam-kit ${marker}` }) })
    expect(await create()).toMatchObject({ failure: { retryable: true, message: expect.stringContaining('network') } })
    expect(count('DELETE', /./u)).toBe(0)
  })

  test('without its description is deleted again, and the call is not made again', async () => {
    const { create, fake, list } = worldWith()
    fake.inject('createAddress', 'noMarker')
    const message = expect.stringContaining('description')
    expect(await create()).toEqual({ ok: false, failure: { message, retryable: false, nothingDone: true } })
    expect([fake.floatingIPs, fake.foreignDeletions]).toEqual([[], []])
    expect(unwrap(await list())).toEqual({ addresses: [] })
  })

  test('without its description, that cannot be deleted, is named, and the call is not made again', async () => {
    const { create, fake } = worldWith()
    fake.inject('createAddress', 'noMarker')
    fake.inject('deleteAddress', 'down')
    const answer = await create()
    const message = expect.stringMatching(new RegExp(`delete it by hand: .*${fake.floatingIPs[0]?.id}`, 'u'))
    expect(answer).toEqual({ ok: false, failure: { message, retryable: false } })
  })

  test('of a form that cannot be read is left out of a list alone, and named', async () => {
    const { list, answerWith } = worldWith()
    const good = { id: 'g', floating_ip_address: '203.0.113.9', floating_network_id: 'n' }
    const wrong = [{ ...good, id: 'w', floating_ip_address: null }, { ...good, id: 'x', tags: 'a' }, null]
    const text = JSON.stringify({ floatingips: [...wrong, good], floatingips_links: [{ rel: 'previous' }] })
    answerWith('GET', FIPS, { text })
    expect(unwrap(await list())).toMatchObject({
      addresses: [{ id: 'g' }],
      problems: [
        'floatingips w: floating_ip_address is missing or of another type',
        'floatingips x: tags is missing or of another type',
        expect.stringContaining('floatingips number 2'),
      ],
    })
  })
})

describe('secrets', () => {
  const echo = `password ${PASSWORD}, token token-1, ${encodeURIComponent(PASSWORD)}`
  test('in an answer of Neutron are in no message', async () => {
    const { create, list, cloud, answerWith, state } = worldWith()
    const messages: string[] = []
    const note = (answer: { readonly ok: boolean; readonly failure?: { readonly message: string } }) => {
      expect(answer.ok).toBe(false)
      messages.push(answer.failure?.message ?? '')
    }
    for (const [status, text] of [
      [400, neutronError('BadRequest', echo)],
      [500, echo],
      [200, echo],
      [200, JSON.stringify({ floatingip: echo })],
    ] as const) {
      answerWith('POST', FIPS, { status, text })
      note(await create())
      answerWith('GET', FIPS, { status, text })
      note(await list())
      note(await cloud.markAddress({ ...base, seen: seenOf({ id: 'a' }), marker }))
    }
    state.intercept = ({ headers }) => {
      if (headers['x-auth-token'] === undefined) return undefined
      throw new Error(`${headers['x-auth-token']} is an invalid header value`)
    }
    note(await create())
    expect(messages.join('\n')).toContain('[secret]')
    expect(messages.join('\n')).not.toMatch(/correct-horse|token-1/u)
  })

  test('in an answer of Keystone are in no message', async () => {
    const { create, answerWith, clock } = worldWith()
    for (const [status, text] of [
      [401, JSON.stringify({ error: { message: echo } })],
      [500, echo],
    ] as const) {
      answerWith('POST', /tokens/u, { status, text })
      const answer = await create()
      expect(answer).toMatchObject({ ok: false })
      expect(JSON.stringify(answer)).not.toContain(PASSWORD)
      clock.nowMs += 20_000
    }
  })

  test('in what the reader of credentials throws are in no message', async () => {
    const { create } = worldWith({
      credentials: async () => {
        throw new Error(`line 3: password: ${PASSWORD}`)
      },
    })
    const message = 'cannot read the credentials Secret clouds of namespace office'
    expect(await create()).toEqual({
      ok: false,
      failure: { message, retryable: true, reason: 'PoolNotReady', nothingDone: true },
    })
  })
})

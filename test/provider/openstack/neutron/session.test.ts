import { describe, expect, test } from 'vitest'
import { access, auth, base, PASSWORD, seenOf, unwrap, worldWith } from './world.js'

const TOKENS = /\/v3\/auth\/tokens$/u

describe('tokens', () => {
  test('one for all calls, also for those that are made at once', async () => {
    const { list, create, count } = worldWith()
    await Promise.all([list(), create('pool-uid/a'), create('pool-uid/b'), list()])
    await list()
    expect(count('POST', TOKENS)).toBe(1)
  })

  test('a token is renewed a minute before it ends, and not earlier', async () => {
    const { clock, list, count, requests } = worldWith()
    unwrap(await list())
    clock.nowMs += 3_539_999
    unwrap(await list())
    expect(count('POST', TOKENS)).toBe(1)
    clock.nowMs += 1
    unwrap(await list())
    expect(count('POST', TOKENS)).toBe(2)
    expect(requests.at(-1)?.headers['x-auth-token']).toBe('token-2')
  })

  test('by the clock of Keystone: ours may be wrong', async () => {
    const { clock, list, count, state } = worldWith()
    const times = { issued_at: '2030-01-01T00:00:00Z', expires_at: '2030-01-01T00:10:00Z' }
    const token = JSON.stringify({ token: { ...times, catalog: [network('public')] } })
    state.intercept = ({ url }) =>
      TOKENS.test(url)
        ? { status: 201, headers: { 'X-Subject-Token': 't' }, text: token }
        : { status: 200, headers: {}, text: '{"floatingips": []}' }
    unwrap(await list())
    clock.nowMs += 539_999
    unwrap(await list())
    expect(count('POST', TOKENS)).toBe(1)
    clock.nowMs += 1
    unwrap(await list())
    expect(count('POST', TOKENS)).toBe(2)
  })

  test('one that was revoked is renewed once, and the call is carried out', async () => {
    const { create, handler, fake, count } = worldWith()
    unwrap(await create())
    handler.revokeTokens()
    unwrap(await create('pool-uid/other'))
    expect([count('POST', TOKENS), fake.floatingIPs.length]).toEqual([2, 2])
  })

  test('one that is refused again is a denial', async () => {
    const { list, answerWith, count } = worldWith()
    answerWith('GET', /floatingips/u, { status: 401, text: '{"error":{"message":"no"}}' })
    expect(await list()).toMatchObject({ failure: { reason: 'BackendDenied', retryable: true } })
    expect(count('POST', TOKENS)).toBe(2)
  })

  test('of other credentials is another one', async () => {
    const secrets = { current: PASSWORD }
    const { list, count } = worldWith({
      credentials: async () => ({
        ok: true,
        value: { clouds: { one: { auth: { ...auth, password: secrets.current } } } },
      }),
    })
    unwrap(await list())
    secrets.current = 'changed'
    const failure = { reason: 'BackendDenied', retryable: true }
    expect(await list()).toMatchObject({ failure })
    // an account can be locked by attempts
    expect(await list()).toMatchObject({ failure })
    expect(count('POST', TOKENS)).toBe(2)
    secrets.current = PASSWORD
    unwrap(await list())
    expect(count('POST', TOKENS)).toBe(2)
  })

  test('refused credentials are tried again after a while', async () => {
    const { clock, list, answerWith } = worldWith()
    answerWith('POST', TOKENS, { status: 401, text: '' }, 1)
    expect(await list()).toMatchObject({ ok: false })
    clock.nowMs += 9_999
    expect(await list()).toMatchObject({ ok: false })
    clock.nowMs += 1
    unwrap(await list())
  })
})

function network(wanted: string, region = 'RegionOne', url = `http://${wanted}.test:9696/`) {
  return { type: 'network', endpoints: [{ interface: wanted, region, region_id: region, url }] }
}

describe('clouds.yaml', () => {
  const accepted: readonly [what: string, auth: object][] = [
    ['project by name', auth],
    ['project by id', { ...auth, project_name: undefined, project_id: 'project' }],
    ['tenant', { ...auth, project_name: undefined, tenant_name: 'project' }],
    ['user by id', { ...auth, username: undefined, user_id: 'capo' }],
    ['auth_url without version', { ...auth, auth_url: 'http://openstack.test/' }],
    ['auth_url of version 2', { ...auth, auth_url: 'http://openstack.test/v2.0' }],
    [
      'application credential',
      { auth_url: auth.auth_url, application_credential_id: 'cred', application_credential_secret: PASSWORD },
    ],
  ]
  test.each(accepted)('%s', async (_, given) => {
    unwrap(await worldWith({ auth: given }).list())
  })

  test('domains, and an application credential by name', async () => {
    const sent = async (given: object, auth_type?: string) => {
      const cloud = { auth: given, auth_type }
      const world = worldWith({ credentials: async () => ({ ok: true, value: { clouds: { one: cloud } } }) })
      await world.list()
      return JSON.parse(world.requests[0]?.body ?? '').auth
    }
    const domains = { user_domain_name: 'Users', project_domain_id: 'projects' }
    expect(await sent({ ...auth, ...domains })).toEqual({
      identity: {
        methods: ['password'],
        password: { user: { name: 'capo', password: PASSWORD, domain: { name: 'Users' } } },
      },
      scope: { project: { name: 'project', domain: { id: 'projects' } } },
    })
    const credential = { application_credential_name: 'c', application_credential_secret: 's' }
    expect(await sent({ ...auth, ...credential, domain_name: 'All' }, 'v3applicationcredential')).toEqual({
      identity: {
        methods: ['application_credential'],
        application_credential: { name: 'c', secret: 's', user: { name: 'capo', domain: { name: 'All' } } },
      },
    })
  })

  const refused: readonly [what: string, file: unknown, message: string][] = [
    ['nothing', null, 'clouds.yaml of "clouds"'],
    ['no clouds', {}, 'clouds'],
    ['another cloud', { clouds: { two: { auth } } }, 'has no cloud "one"'],
    ['a member of every object', { clouds: JSON.parse('{"__proto__": {"auth": {}}}') }, 'has no cloud "one"'],
    ['no auth', { clouds: { one: {} } }, 'auth is missing'],
    ['no auth_url', { clouds: { one: { auth: { ...auth, auth_url: undefined } } } }, 'auth.auth_url'],
    ['a number for a password', { clouds: { one: { auth: { ...auth, password: 7 } } } }, 'auth.password'],
    ['no password', { clouds: { one: { auth: { ...auth, password: undefined } } } }, 'password'],
    ['no user', { clouds: { one: { auth: { ...auth, username: undefined } } } }, 'username'],
    ['no project', { clouds: { one: { auth: { ...auth, project_name: undefined } } } }, 'project_name'],
    ['another way', { clouds: { one: { auth, auth_type: 'v3oidcpassword' } } }, 'auth_type "v3oidcpassword"'],
    ['another interface', { clouds: { one: { auth, interface: 'secret' } } }, 'interface'],
    [
      'half of a credential',
      { clouds: { one: { auth: { auth_url: 'u', application_credential_secret: 's' } } } },
      'application_credential_id',
    ],
  ]
  test.each(refused)('%s is refused', async (_, file, message) => {
    const { create, requests } = worldWith({ credentials: async () => ({ ok: true, value: file }) })
    expect(await create()).toMatchObject({
      ok: false,
      failure: {
        retryable: true,
        nothingDone: true,
        reason: 'PoolNotReady',
        message: expect.stringContaining(message),
      },
    })
    expect(requests).toEqual([])
  })

  test('the reader is told of the identity, and its failure is the answer', async () => {
    const seen: unknown[] = []
    const failure = { message: 'Secret office/clouds does not exist', retryable: true }
    const { cloud, network: id } = worldWith({
      credentials: async (identity) => {
        seen.push(identity)
        return { ok: false, failure }
      },
    })
    const identityRef = { type: 'ClusterIdentity', name: 'shared', cloudName: 'two', region: 'R' }
    const input = { ...base, access: { namespace: 'office', identityRef }, seen: seenOf({ id }), address: '' }
    expect(await cloud.deleteAddress(input)).toEqual({ ok: false, failure: { ...failure, nothingDone: true } })
    expect(seen).toEqual([{ type: 'ClusterIdentity', name: 'shared', cloudName: 'two', namespace: 'office' }])
  })

  test.each([
    null,
    {},
    'x',
    { namespace: 'a' },
    { ...access, identityRef: { name: 'a' } },
    { ...access, namespace: '' },
  ])('access %j is refused', async (bad) => {
    const { cloud } = worldWith()
    expect(await cloud.findNetwork({ ...base, access: bad, network: null })).toMatchObject({
      failure: { reason: 'PoolNotReady', message: expect.stringContaining('identityRef') },
    })
  })
})

describe('the endpoint', () => {
  const catalog = [
    network('public', 'A', 'http://a.test/'),
    network('public', 'B', 'http://b.test/v2.0/'),
    network('internal', 'B'),
  ]
  const urlWith = async (cloud: object, region?: string) => {
    const world = worldWith({ credentials: async () => ({ ok: true, value: { clouds: { one: { auth, ...cloud } } } }) })
    const text = JSON.stringify({ token: { expires_at: '2026-01-02T00:00:00Z', catalog } })
    world.answerWith('POST', TOKENS, { status: 201, headers: { 'x-subject-token': 't' }, text })
    const identityRef = { ...access.identityRef, region }
    const input = { ...base, access: { ...access, identityRef }, network: null }
    const answer = await world.cloud.findNetwork(input)
    return world.requests[1]?.url.split('/v2.0/')[0] ?? (answer.ok ? '' : answer.failure.message)
  }

  test('is that of the region and the interface', async () => {
    expect(await urlWith({})).toBe('http://a.test')
    expect(await urlWith({ region_name: 'B' })).toBe('http://b.test')
    expect(await urlWith({ region_name: 'A' }, 'B')).toBe('http://b.test')
    expect(await urlWith({ interface: 'internal' })).toBe('http://internal.test:9696')
    expect(await urlWith({ endpoint_type: 'internalURL' })).toBe('http://internal.test:9696')
    expect(await urlWith({ network_endpoint_override: 'http://over.test/' })).toBe('http://over.test')
  })

  test('that is missing is a failure that names it', async () => {
    const missing = 'the catalog of Keystone has no admin endpoint of the network service in region B'
    expect(await urlWith({ interface: 'admin', region_name: 'B' })).toBe(missing)
  })
})

describe('the time of a call', () => {
  test.each([
    [undefined, 30_000, 55_000],
    [6, 3000, 5500],
  ])('callSeconds %j', async (callSeconds, requestMs, callMs) => {
    const { list, requests, clock, state } = worldWith({ callSeconds })
    // the token comes late
    state.intercept = () => {
      clock.nowMs += callMs
      return undefined
    }
    const message = `no end after ${callMs / 1000} s`
    expect(await list()).toMatchObject({ failure: { message, retryable: true } })
    expect(requests.map(({ timeoutMs }) => timeoutMs)).toEqual([requestMs])
  })

  test.each([0, 61, Number.NaN])('callSeconds %j is refused', (callSeconds) => {
    expect(() => worldWith({ callSeconds })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})
